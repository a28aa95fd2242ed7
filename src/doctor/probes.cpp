#include "doctor/probes.hpp"

#include "support/error.hpp"
#include "tier/direct_io.hpp"
#include "tier/read_queue.hpp"
#include "tier/scratch.hpp"
#include "tier/storage.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

namespace breakeven::doctor {
namespace {

std::uint64_t free_bytes_of(const std::string& path) {
  struct statvfs facts {};
  if (statvfs(path.c_str(), &facts) != 0) return 0;
  return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

void try_direct(tier::ScratchDirectory& directory, DirectoryFacts& facts) {
  tier::ScratchFile file = directory.create();
  const char block[4096] = {1};
  if (write(file.file.get(), block, sizeof block) != static_cast<ssize_t>(sizeof block)) {
    facts.problem = std::string("cannot be written: ") + std::strerror(errno);
    return;
  }
  const tier::DirectSupport support = tier::probe_direct(file.path);
  facts.direct = support.works;
  facts.direct_reason = support.reason;
}

DirectoryFacts try_directory(const std::string& path) {
  DirectoryFacts facts;
  try {
    tier::ScratchDirectory directory(path);
    const tier::Storage storage = tier::inspect_storage(directory.fd());
    facts.file_system = storage.file_system;
    facts.mount_options = storage.mount_options;
    facts.source = storage.source;
    facts.in_memory = storage.in_memory;
    facts.network = storage.network;
    facts.compressing = storage.compressing;
    facts.virtual_disk = storage.virtual_disk;
    for (const tier::Drive& drive : storage.drives) {
      facts.drives.push_back(drive.name);
      facts.drive_text += (facts.drive_text.empty() ? "" : "; ") + drive.name +
                          (drive.model.empty() ? "" : " " + drive.model) +
                          (drive.link.empty() ? "" : ", " + drive.link) +
                          (drive.rotational ? ", rotational" : "");
    }
    facts.free_bytes = free_bytes_of(path);
    try_direct(directory, facts);
  } catch (const error& failure) {
    facts.problem = failure.what();
  }
  return facts;
}

struct CpuTime {
  std::string name;
  double ticks = 0;
};

/// proc_pid_stat(5): pid (name) state ... with user and system time as fields 14 and 15. The name
/// may hold anything, parentheses too.
std::map<int, CpuTime> cpu_times() {
  std::map<int, CpuTime> times;
  std::error_code ignored;
  for (std::filesystem::directory_iterator it("/proc", ignored), end; it != end;
       it.increment(ignored)) {
    if (ignored) break;
    const std::string pid = it->path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(it->path() / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) continue;
    unsigned long long user = 0, system = 0;
    if (std::sscanf(text.c_str() + close + 1,
                    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
      continue;
    times[std::atoi(pid.c_str())] = {text.substr(open + 1, close - open - 1),
                                     static_cast<double>(user + system)};
  }
  return times;
}

std::vector<BusyProcess> watch_processes() {
  using clock = std::chrono::steady_clock;
  constexpr double least_cpus = 0.1;
  const clock::time_point start = clock::now();
  const std::map<int, CpuTime> before = cpu_times();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const double seconds = std::chrono::duration<double>(clock::now() - start).count();
  const auto ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::vector<BusyProcess> busy;
  for (const auto& [pid, now] : cpu_times()) {
    const auto then = before.find(pid);
    if (then == before.end() || pid == getpid()) continue;
    const double cpus = (now.ticks - then->second.ticks) / ticks_per_s / seconds;
    if (cpus >= least_cpus) busy.push_back({pid, now.name, cpus});
  }
  std::sort(busy.begin(), busy.end(),
            [](const BusyProcess& a, const BusyProcess& b) { return a.cpus > b.cpus; });
  return busy;
}

} // namespace

Probes real_probes() {
  return {tier::io_uring_unavailable_reason, try_directory, ask_nvml, read_smart, watch_processes};
}

} // namespace breakeven::doctor
