#include "support/catch.hpp"

#include "fake_root.hpp"

#include "node/node.hpp"

using namespace breakeven;
using fake::FakeRoot;
using node::inspect_below;

namespace {

constexpr std::uint64_t mib = 1 << 20, gib = 1 << 30;

void mount_v2(FakeRoot& root, const std::string& group) {
  root.write("/proc/self/cgroup", "0::" + group + "\n");
  root.write("/proc/self/mountinfo",
             "24 1 0:22 / /sys rw - sysfs sysfs rw\n"
             "31 24 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
}

void mount_v1(FakeRoot& root, const std::string& group, const std::string& mount_root) {
  root.write("/proc/self/cgroup", "9:memory:" + group + "\n8:cpu,cpuacct:" + group + "\n0::/\n");
  root.write("/proc/self/mountinfo",
             "35 31 0:32 " + mount_root +
                 " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                 "32 31 0:29 " +
                 mount_root + " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
}

} // namespace

TEST_CASE("an empty root leaves everything unknown") {
  const FakeRoot root;
  const node::NodeFacts facts = inspect_below(root.path());
  CHECK(facts.cpu_model.empty());
  CHECK(facts.usable_cpus == 1);
  CHECK(facts.logical_cpus == 0);
  CHECK(facts.memory_bytes == 0);
  CHECK(facts.memory_available_bytes == 0);
  CHECK(facts.memory_limit_bytes == 0);
  CHECK(facts.numa_nodes == 1);
  CHECK(facts.fingerprint.size() == 16);
  CHECK(inspect_below("/no/such/folder").usable_cpus == 1);
}

TEST_CASE("a plain machine is read") {
  FakeRoot root;
  root.machine(8, 32);
  root.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  root.write("/sys/devices/system/node/node0/cpulist", "0-3\n");
  root.write("/sys/devices/system/node/node1/cpulist", "\n");
  root.write("/sys/devices/system/node/possible", "0-1\n");
  for (const int cpu : {0, 1, 2}) { // 0 and 1 share an L3, 2 has another
    const std::string cache =
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index3/";
    root.write(cache + "level", "3\n");
    root.write(cache + "type", "Unified\n");
    root.write(cache + "size", "32768K\n");
    root.write(cache + "shared_cpu_list", cpu == 2 ? "2-7\n" : "0-1\n");
  }
  root.write("/sys/devices/system/cpu/cpu0/cache/index2/level", "2\n");
  root.write("/sys/devices/system/cpu/cpu0/cache/index2/size", "2048K\n");
  const node::NodeFacts facts = inspect_below(root.path());
  CHECK(facts.cpu_model == "Some Xeon");
  CHECK(facts.cpu_features ==
        std::vector<std::string>{"fma", "avx2", "avx512f", "avx512_bf16", "amx_bf16"});
  CHECK(facts.logical_cpus == 8);
  CHECK(facts.usable_cpus == 8);
  CHECK(facts.memory_bytes == 32 * gib);
  CHECK(facts.memory_limit_bytes == 0);
  CHECK(facts.memlock_limit_bytes == 8388608);
  CHECK(facts.numa_nodes == 2);
  CHECK(facts.last_level_cache_bytes == 64 * mib);
  CHECK(facts.governor == "performance");
  CHECK(facts.os == "Test Linux 1");
  CHECK(facts.kernel == "6.1.0-test");
  CHECK(facts.hypervisor.empty());
  CHECK_FALSE(facts.in_container);
}

TEST_CASE("the affinity mask counts") {
  FakeRoot root;
  root.machine(8, 32);
  root.write("/proc/self/status", "Cpus_allowed:\te1\nCpus_allowed_list:\t0,5-7\n");
  CHECK(inspect_below(root.path()).usable_cpus == 4);
}

TEST_CASE("cgroup v2: the tightest limit of the path holds, page cache counts as free") {
  FakeRoot root;
  root.machine(16, 64);
  mount_v2(root, "/kubepods/pod1/c1");
  const std::string top = "/sys/fs/cgroup/kubepods", pod = top + "/pod1", leaf = pod + "/c1";
  root.write(top + "/cpu.max", "max 100000\n");
  root.write(pod + "/cpu.max", "350000 100000\n");
  root.write(leaf + "/cpu.max", "800000 100000\n");
  root.write(pod + "/memory.max", std::to_string(8 * gib) + "\n");
  root.write(pod + "/memory.current", std::to_string(6 * gib) + "\n");
  root.write(pod + "/memory.stat", "anon 1073741824\nfile 5368709120\nshmem 1073741824\n"
                                   "inactive_file 3221225472\nactive_file 1073741824\n"
                                   "slab_reclaimable 0\n");
  root.write(leaf + "/memory.max", "max\n");
  root.write(leaf + "/memory.current", "4096\n");
  const node::NodeFacts facts = inspect_below(root.path());
  CHECK(facts.cpu_quota == Approx(3.5));
  CHECK(facts.usable_cpus == 3);
  CHECK(facts.memory_limit_bytes == 8 * gib);
  CHECK(facts.memory_available_bytes == 6 * gib); // 8 - (6 - 3 - 1)

  root.write(leaf + "/memory.high", std::to_string(4 * gib) + "\n");
  CHECK(inspect_below(root.path()).memory_limit_bytes == 4 * gib);
}

TEST_CASE("cgroup v2 in a namespace: the mount point itself is the group") {
  FakeRoot root;
  root.machine(4, 16);
  mount_v2(root, "/");
  root.write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  root.write("/sys/fs/cgroup/memory.max", std::to_string(gib) + "\n");
  root.write("/sys/fs/cgroup/memory.current", std::to_string(2 * gib) + "\n"); // over the limit
  const node::NodeFacts facts = inspect_below(root.path());
  CHECK(facts.cpu_quota == Approx(0.5));
  CHECK(facts.usable_cpus == 1); // at least one
  CHECK(facts.memory_limit_bytes == gib);
  CHECK(facts.memory_available_bytes == 0);

  root.write("/proc/self/cgroup", "0::/../../etc\n"); // as seen from a sibling namespace
  CHECK(inspect_below(root.path()).memory_limit_bytes == gib);
}

TEST_CASE("cgroup v1: own limit, page cache of the whole group") {
  FakeRoot root;
  root.machine(8, 32);
  mount_v1(root, "/docker/abc", "/");
  const std::string memory = "/sys/fs/cgroup/memory", cpu = "/sys/fs/cgroup/cpu,cpuacct";
  root.write(memory + "/memory.limit_in_bytes", "9223372036854771712\n");
  root.write(memory + "/memory.usage_in_bytes", "123\n");
  root.write(memory + "/docker/abc/memory.limit_in_bytes", std::to_string(4 * gib) + "\n");
  root.write(memory + "/docker/abc/memory.usage_in_bytes", std::to_string(3 * gib) + "\n");
  root.write(memory + "/docker/abc/memory.stat",
             "cache 0\ninactive_file 5\nhierarchical_memory_limit " + std::to_string(4 * gib) +
                 "\ntotal_inactive_file 1073741824\ntotal_active_file 536870912\n");
  root.write(cpu + "/cpu.cfs_quota_us", "-1\n");
  root.write(cpu + "/cpu.cfs_period_us", "100000\n");
  root.write(cpu + "/docker/abc/cpu.cfs_quota_us", "200000\n");
  root.write(cpu + "/docker/abc/cpu.cfs_period_us", "100000\n");
  const node::NodeFacts facts = inspect_below(root.path());
  CHECK(facts.cpu_quota == Approx(2));
  CHECK(facts.usable_cpus == 2);
  CHECK(facts.memory_limit_bytes == 4 * gib);
  CHECK(facts.memory_available_bytes == 5 * gib / 2);
}

TEST_CASE("cgroup v1 in a container: the mount shows the container's part only") {
  FakeRoot root;
  root.machine(8, 32);
  mount_v1(root, "/docker/abc", "/docker/abc");
  const std::string memory = "/sys/fs/cgroup/memory";
  root.write(memory + "/memory.limit_in_bytes", "9223372036854771712\n");
  root.write(memory + "/memory.usage_in_bytes", std::to_string(gib) + "\n");
  // An ancestor outside of the view has the limit.
  root.write(memory + "/memory.stat", "hierarchical_memory_limit " + std::to_string(2 * gib) +
                                          "\ntotal_inactive_file 0\ntotal_active_file 0\n");
  const node::NodeFacts facts = inspect_below(root.path());
  CHECK(facts.memory_limit_bytes == 2 * gib);
  CHECK(facts.memory_available_bytes == gib);
}

TEST_CASE("files with nonsense are as good as none") {
  FakeRoot root;
  root.machine(4, 16);
  mount_v2(root, "/x");
  root.write("/sys/fs/cgroup/x/cpu.max", "lots\n");
  root.write("/sys/fs/cgroup/x/memory.max", "-5\n");
  root.write("/sys/fs/cgroup/x/memory.current", "99999999999999999999999999\n");
  root.write("/sys/fs/cgroup/cpu.max", "100 0\n");
  root.write("/sys/devices/system/cpu/online", "7-2,a-b,,9999999999999\n");
  const node::NodeFacts facts = inspect_below(root.path());
  CHECK(facts.cpu_quota == 0);
  CHECK(facts.memory_limit_bytes == 0);
  CHECK(facts.logical_cpus == 1); // by /proc/cpuinfo
  CHECK(facts.usable_cpus == 1);
}

TEST_CASE("hypervisor, container and unlimited locked memory") {
  FakeRoot root;
  root.machine(4, 16);
  root.write("/proc/cpuinfo", "model name : X\nflags : fpu hypervisor\n");
  root.write("/proc/self/limits",
             "Max locked memory         unlimited            unlimited  bytes\n");
  root.write("/.dockerenv", "");
  CHECK(inspect_below(root.path()).hypervisor == "unnamed");
  root.write("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
  const node::NodeFacts facts = inspect_below(root.path());
  CHECK(facts.hypervisor == "Amazon EC2");
  CHECK(facts.in_container);
  CHECK(facts.memlock_limit_bytes == UINT64_MAX);
}

TEST_CASE("an Arm machine has a model and features too") {
  FakeRoot root;
  root.machine(4, 16);
  root.write("/proc/cpuinfo", "processor : 0\nFeatures : fp asimd sve bf16 i8mm\n"
                              "CPU implementer : 0x41\nCPU part : 0xd4f\n");
  const node::NodeFacts facts = inspect_below(root.path());
  CHECK(facts.cpu_model == "CPU implementer 0x41 part 0xd4f");
  CHECK(facts.cpu_features == std::vector<std::string>{"asimd", "bf16", "i8mm", "sve"});
}

TEST_CASE("the fingerprint follows the hardware and not the limits") {
  FakeRoot root;
  root.machine(8, 32);
  const std::string plain = inspect_below(root.path()).fingerprint;
  mount_v2(root, "/");
  root.write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  root.write("/sys/fs/cgroup/memory.max", std::to_string(gib) + "\n");
  root.write("/sys/fs/cgroup/memory.current", "0\n");
  root.write("/proc/sys/kernel/osrelease", "6.9.0\n");
  CHECK(inspect_below(root.path()).fingerprint == plain);

  const std::string gpu = "/sys/bus/pci/devices/0000:01:00.0/";
  root.write(gpu + "class", "0x030200\n");
  root.write(gpu + "vendor", "0x10de\n");
  root.write(gpu + "device", "0x2335\n");
  root.write("/sys/bus/pci/devices/0000:02:00.0/class", "0x020000\n");
  const node::NodeFacts with_gpu = inspect_below(root.path());
  CHECK(with_gpu.gpus == std::vector<std::string>{"0x10de:0x2335"});
  CHECK(with_gpu.fingerprint != plain);
  root.machine(16, 32);
  CHECK(inspect_below(root.path()).fingerprint != with_gpu.fingerprint);
}
