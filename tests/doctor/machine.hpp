#pragma once

#include "doctor/doctor.hpp"

#include "node/fake_root.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace breakeven::test {

/// A machine whose files the test writes and whose answers to probes it chooses; all is well at
/// first.
class Machine {
public:
  Machine() {
    root.machine(8, 64);
    directory.direct = true;
    directory.free_bytes = std::uint64_t{1} << 40;
    directory.file_system = "ext4";
    directory.drives = {"nvme0n1"};
    smart.log.emplace();
    gpus.reason = "none here";
  }

  [[nodiscard]] doctor::Context context() const {
    doctor::Context context;
    context.files = node::Files(root.path());
    context.node = node::inspect_below(root.path());
    context.device = device;
    context.tiers = {{"file:/kv", "file", {"/kv"}, std::uint64_t{4} << 30, requested}};
    context.probes.io_uring = [this] { return io_uring; };
    context.probes.directory = [this](const std::string&) { return directory; };
    context.probes.gpus = [this] { return gpus; };
    context.probes.smart = [this](const std::string&) { return smart; };
    context.probes.busy = [this] { return busy; };
    return context;
  }
  [[nodiscard]] std::vector<doctor::Finding> findings() const { return doctor::examine(context()); }
  /// The first finding whose name begins so; an empty one when there is none.
  [[nodiscard]] doctor::Finding find(const std::string& name) const {
    for (const doctor::Finding& finding : findings())
      if (finding.name.compare(0, name.size(), name) == 0) return finding;
    return {};
  }

  fake::FakeRoot root;
  std::string device, io_uring;
  bool requested = false;
  doctor::DirectoryFacts directory;
  doctor::GpuReport gpus;
  doctor::SmartResult smart;
  std::vector<doctor::BusyProcess> busy;
};

} // namespace breakeven::test
