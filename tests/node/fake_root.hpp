#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace breakeven::fake {

/// A folder with the /proc, /sys and /etc files of some machine; gone at the end of the test.
class FakeRoot {
public:
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "breakeven_node_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    m_path = name;
  }
  ~FakeRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = m_path + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text;
  }
  const std::string& path() const { return m_path; }

  /// A machine of `cpus` CPUs and `gib` GiB without any limit.
  void machine(int cpus, std::uint64_t gib) {
    write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some Xeon\n"
                           "flags\t\t: fpu sse2 fma avx2 avx512f avx512_bf16 amx_bf16\n");
    write("/sys/devices/system/cpu/online", "0-" + std::to_string(cpus - 1) + "\n");
    write("/proc/meminfo", "MemTotal:       " + std::to_string(gib * 1048576) +
                               " kB\nMemFree:        10 kB\nMemAvailable:   " +
                               std::to_string(gib * 1048576 * 9 / 10) + " kB\n");
    write("/proc/self/status",
          "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-" + std::to_string(cpus - 1) + "\n");
    write("/proc/self/limits", "Limit                     Soft Limit           Hard Limit\n"
                               "Max locked memory         8388608              8388608    bytes\n");
    write("/proc/sys/kernel/osrelease", "6.1.0-test\n");
    write("/etc/os-release", "NAME=\"Test\"\nPRETTY_NAME=\"Test Linux 1\"\n");
  }

private:
  std::string m_path;
};

} // namespace breakeven::fake
