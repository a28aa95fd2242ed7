#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace breakeven::doctor {

/// The parts of an NVMe health log that bear on speed and life.
struct SmartLog {
  bool spare_low = false, too_hot = false, unreliable = false, read_only = false;
  int temperature_C = 0;
  int spare_percent = 0, used_percent = 0; ///< used may exceed 100
  double media_errors = 0;
  double throttled_minutes = 0; ///< above its warning temperature, over its life
};

/// Log page 02h of the NVM Express base specification, 512 bytes. Nothing for fewer.
std::optional<SmartLog> parse_smart_log(std::span<const std::byte> page);

struct SmartResult {
  std::optional<SmartLog> log;
  std::string reason; ///< why there is none
};

/// Asks the drive behind a block device ("nvme0n1"). Needs the right to open its controller.
SmartResult read_smart(const std::string& drive);

} // namespace breakeven::doctor
