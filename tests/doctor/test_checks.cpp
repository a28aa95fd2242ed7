#include "support/catch.hpp"

#include "machine.hpp"

using namespace breakeven;
using namespace breakeven::doctor;
using breakeven::test::Machine;
using Catch::Matchers::Contains;

TEST_CASE("findings are ordered from bad to good, and each bad one says why and what to do") {
  Machine machine;
  machine.io_uring = "not permitted";
  machine.device = "cuda:0";
  machine.busy = {{7, "cc1plus", 3.5}};
  const std::vector<Finding> findings = machine.findings();
  REQUIRE(findings.size() > 8);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    INFO(findings[i].name);
    if (i > 0) CHECK(findings[i - 1].state <= findings[i].state);
    CHECK_FALSE(findings[i].found.empty());
    if (findings[i].state == State::ok) continue;
    CHECK_FALSE(findings[i].why.empty());
    CHECK_FALSE(findings[i].fix.empty());
  }
  CHECK(findings.front().state == State::missing);
  CHECK(anything_missing(findings));
}

TEST_CASE("io_uring: the fix follows from what forbids it") {
  Machine machine;
  CHECK(machine.find("io_uring").state == State::ok);
  machine.io_uring = "Operation not permitted";
  machine.root.write("/proc/sys/kernel/io_uring_disabled", "2\n");
  CHECK_THAT(machine.find("io_uring").found, Contains("io_uring_disabled=2"));
  CHECK_THAT(machine.find("io_uring").fix, Contains("sysctl"));
  machine.root.write("/proc/sys/kernel/io_uring_disabled", "1\n");
  CHECK_THAT(machine.find("io_uring").fix, Contains("io_uring_group"));
  machine.root.write("/proc/sys/kernel/io_uring_disabled", "0\n");
  machine.root.write("/proc/self/status", "Name:\tx\nSeccomp:\t2\nCpus_allowed_list:\t0-7\n");
  CHECK_THAT(machine.find("io_uring").fix, Contains("seccomp"));
  CHECK(machine.find("io_uring").state == State::warning); // threads replace it
}

TEST_CASE("locked memory: the limit, unless a capability lifts it") {
  Machine machine; // its limit is 8 MiB
  CHECK(machine.find("locked memory").state == State::warning);
  machine.root.write("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
  CHECK(machine.find("locked memory").state == State::ok);
  machine.root.write("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
  machine.root.write("/proc/self/limits",
                     "Max locked memory         unlimited            unlimited            bytes\n");
  CHECK(machine.find("locked memory").state == State::ok);
}

TEST_CASE("a directory: what is wrong with it, and whether that was asked for") {
  Machine machine;
  CHECK(machine.find("file system").state == State::ok);
  CHECK(machine.find("O_DIRECT").state == State::ok);
  machine.directory.direct = false;
  machine.directory.direct_reason = "its file system has no O_DIRECT";
  CHECK(machine.find("O_DIRECT").state == State::warning);
  machine.directory.in_memory = true;
  CHECK(machine.find("file system").state == State::warning);
  machine.requested = true;
  CHECK(machine.find("file system").state == State::missing);
  machine.directory.in_memory = false;
  machine.directory.compressing = true;
  CHECK(machine.find("file system").state == State::warning);
  machine.directory.compressing = false;
  machine.directory.file_system = "overlay";
  CHECK_THAT(machine.find("file system").fix, Contains("volume"));
  machine.directory.free_bytes = 1000;
  CHECK(machine.find("free space").state == State::missing);
  machine.directory.problem = "there is no such directory";
  CHECK(machine.find("directory /kv").state == State::missing);
  machine.requested = false;
  CHECK(machine.find("directory /kv").state == State::warning);
  CHECK_FALSE(anything_missing(machine.findings()));
}

TEST_CASE("an NVMe health log is read as its specification lays it out") {
  std::vector<std::byte> page(512);
  page[0] = std::byte{0b1010};                          // too hot, read-only
  page[1] = std::byte{0x52}, page[2] = std::byte{0x01}; // 338 K
  page[3] = std::byte{100}, page[5] = std::byte{120};
  page[160] = std::byte{3}, page[192] = std::byte{0x2c}, page[193] = std::byte{0x01};
  const auto log = parse_smart_log(page);
  REQUIRE(log);
  CHECK(log->temperature_C == 65);
  CHECK(log->spare_percent == 100);
  CHECK(log->used_percent == 120);
  CHECK(log->media_errors == 3);
  CHECK(log->throttled_minutes == 300);
  CHECK((log->too_hot && log->read_only && !log->spare_low && !log->unreliable));
  CHECK_FALSE(parse_smart_log(std::span(page).first(511)));

  Machine machine;
  CHECK(machine.find("health").state == State::ok);
  machine.smart.log = log;
  CHECK(machine.find("health").state == State::warning);
  CHECK_THAT(machine.find("health").found, Contains("300 minutes") && Contains("media errors"));
  machine.smart = {{}, "/dev/nvme0: Permission denied"};
  CHECK(machine.find("health").state == State::unknown);
  CHECK_THAT(machine.find("health").found, Contains("Permission denied"));
}

TEST_CASE("links: half the width is a warning, a slow idle link a note") {
  Machine machine;
  const std::string drive = "/sys/bus/pci/devices/0000:01:00.0";
  machine.root.write(drive + "/class", "0x010802\n");
  machine.root.write(drive + "/current_link_speed", "16.0 GT/s PCIe\n");
  machine.root.write(drive + "/max_link_speed", "16.0 GT/s PCIe\n");
  machine.root.write(drive + "/current_link_width", "2\n");
  machine.root.write(drive + "/max_link_width", "4\n");
  CHECK(machine.find("link of NVMe").state == State::warning);
  CHECK_THAT(machine.find("link of NVMe").found, Contains("x2, of x4"));
  machine.root.write(drive + "/current_link_width", "4\n");
  CHECK(machine.find("link of NVMe").state == State::ok);
  machine.root.write(drive + "/current_link_speed", "2.5 GT/s PCIe\n");
  CHECK(machine.find("link of NVMe").state == State::note);
  machine.root.write(drive + "/current_link_width", "0\n"); // a virtual device
  CHECK(machine.find("link of NVMe").name.empty());
  CHECK(machine.find("PCIe links").state == State::unknown);
}

TEST_CASE("NUMA: unbound runs and devices on another node") {
  Machine machine;
  CHECK(machine.find("NUMA").state == State::ok);
  for (const std::string node : {"0", "1"}) {
    const std::string folder = "/sys/devices/system/node/node" + node;
    machine.root.write(folder + "/cpulist", node == "0" ? "0-3\n" : "4-7\n");
    machine.root.write(folder + "/meminfo", "Node " + node + " MemTotal: 1 kB\n");
  }
  machine.root.write("/sys/devices/system/node/online", "0-1\n");
  machine.root.write("/proc/self/status",
                     "Name:\tx\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1\n");
  REQUIRE(machine.context().node.numa_nodes == 2);
  CHECK(machine.find("NUMA").state == State::warning);
  CHECK_THAT(machine.find("NUMA").fix, Contains("numactl"));
  machine.root.write("/proc/self/status",
                     "Name:\tx\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n");
  CHECK(machine.find("NUMA").state == State::ok);
  machine.root.write("/sys/bus/pci/devices/0000:81:00.0/class", "0x030200\n");
  machine.root.write("/sys/bus/pci/devices/0000:81:00.0/numa_node", "1\n");
  CHECK(machine.find("NUMA node of GPU").state == State::warning);
  machine.root.write("/sys/bus/pci/devices/0000:81:00.0/numa_node", "-1\n");
  CHECK(machine.find("NUMA node of GPU").name.empty());
  machine.root.write("/proc/sys/kernel/numa_balancing", "1\n");
  CHECK(machine.find("NUMA balancing").state == State::note);
}

TEST_CASE("clocks: governor, limit, boost and SMT") {
  Machine machine;
  CHECK(machine.find("CPU governor").state == State::unknown);
  const std::string cpu = "/sys/devices/system/cpu";
  for (const std::string policy : {"/cpufreq/policy0", "/cpufreq/policy1"}) {
    machine.root.write(cpu + policy + "/scaling_governor", "performance\n");
    machine.root.write(cpu + policy + "/scaling_driver", "acpi-cpufreq\n");
    machine.root.write(cpu + policy + "/scaling_max_freq", "3000000\n");
    machine.root.write(cpu + policy + "/cpuinfo_max_freq", "3000000\n");
  }
  CHECK(machine.find("CPU governor").state == State::ok);
  CHECK(machine.find("CPU frequency limit").name.empty());
  machine.root.write(cpu + "/cpufreq/policy1/scaling_governor", "powersave\n");
  CHECK(machine.find("CPU governor").state == State::warning);
  machine.root.write(cpu + "/cpufreq/policy1/scaling_driver", "intel_pstate\n");
  CHECK(machine.find("CPU governor").state == State::note);
  machine.root.write(cpu + "/cpufreq/policy1/scaling_max_freq", "1500000\n");
  CHECK_THAT(machine.find("CPU frequency limit").found, Contains("1.50 GHz of 3.00 GHz"));
  machine.root.write(cpu + "/cpufreq/boost", "1\n");
  CHECK(machine.find("CPU boost").found == "on");
  machine.root.write(cpu + "/smt/active", "1\n");
  CHECK(machine.find("SMT").state == State::note);
}

TEST_CASE("control groups: quota, throttling, memory with its page cache counted as free") {
  Machine machine;
  CHECK(machine.find("CPU limit").found == "none");
  machine.root.write("/proc/self/cgroup", "0::/box\n");
  machine.root.write("/proc/self/mountinfo",
                     "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  const std::string group = "/sys/fs/cgroup/box";
  machine.root.write(group + "/cpu.max", "250000 100000\n");
  machine.root.write(group + "/cpu.stat", "usage_usec 1\nnr_periods 10\nnr_throttled 4\n");
  machine.root.write(group + "/memory.max", std::to_string(std::uint64_t{6} << 30) + "\n");
  machine.root.write(group + "/memory.current", std::to_string(std::uint64_t{5} << 30) + "\n");
  machine.root.write(group + "/memory.stat", "inactive_file 0\nactive_file 0\n");
  CHECK(machine.find("CPU limit").state == State::note);
  CHECK_THAT(machine.find("CPU limit").found, Contains("2.5 of 8"));
  CHECK_THAT(machine.find("CPU throttling").found, Contains("4 times"));
  CHECK(machine.find("memory limit").state == State::warning);
  machine.root.write(group + "/memory.stat",
                     "inactive_file " + std::to_string(std::uint64_t{4} << 30) + "\n");
  CHECK(machine.find("memory limit").state == State::ok);
}

TEST_CASE("huge pages, IOMMU and ACS") {
  Machine machine;
  const std::string pages = "/sys/kernel/mm/transparent_hugepage/enabled";
  CHECK(machine.find("transparent").state == State::unknown);
  machine.root.write(pages, "always madvise [never]\n");
  CHECK(machine.find("transparent").state == State::warning);
  machine.root.write(pages, "always [madvise] never\n");
  CHECK(machine.find("transparent").state == State::ok);
  machine.root.write("/proc/sys/vm/nr_hugepages", "512\n");
  CHECK(machine.find("reserved huge").state == State::note);

  CHECK(machine.find("IOMMU").found == "not in use");
  machine.root.write("/sys/class/iommu/dmar0/name", "x");
  CHECK(machine.find("IOMMU").state == State::note);
  machine.root.write("/proc/cmdline", "quiet intel_iommu=on iommu=pt\n");
  CHECK(machine.find("IOMMU").state == State::ok);

  const std::string bridge = "/sys/bus/pci/devices/0000:00:01.0";
  machine.root.write(bridge + "/class", "0x060400\n");
  std::string config(4096, '\0');
  machine.root.write(bridge + "/config", config.substr(0, 64));
  CHECK(machine.find("ACS").state == State::unknown);
  config[0x100] = 0x01, config[0x103] = 0x14; // another capability, then ACS at 0x140
  config[0x140] = 0x0d, config[0x146] = 0x04;
  machine.root.write(bridge + "/config", config);
  CHECK(machine.find("ACS").state == State::note);
  config[0x146] = 0;
  machine.root.write(bridge + "/config", config);
  CHECK(machine.find("ACS").state == State::ok);
  config[0x143] = 0x14, config[0x140] = 0; // a capability that points at itself ends
  machine.root.write(bridge + "/config", config);
  CHECK(machine.find("ACS").state == State::ok);
}

TEST_CASE("neighbours are named, busiest first") {
  Machine machine;
  machine.root.write("/proc/loadavg", "7.5 1 1 1/2 3\n");
  CHECK(machine.find("other processes").state == State::ok);
  CHECK(machine.find("load average").state == State::note);
  machine.busy = {{7, "make) R 1", 1.5}, {8, "b", 0.2}};
  const Finding finding = machine.find("other processes");
  CHECK(finding.state == State::warning);
  CHECK_THAT(finding.found, Contains("1.7 of 8") && Contains("make) R 1 (7, 150 %)"));
  CHECK(machine.find("load average").name.empty()); // the same said twice
}

TEST_CASE("a check that fails is a finding, not the end") {
  const Machine machine;
  Context context = machine.context();
  context.probes.busy = []() -> std::vector<BusyProcess> { throw std::runtime_error("no /proc"); };
  const std::vector<Finding> findings = examine(context);
  const auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.found == "no /proc";
  });
  REQUIRE(found != findings.end());
  CHECK(found->state == State::unknown);
  CHECK(findings.size() > 8);
}
