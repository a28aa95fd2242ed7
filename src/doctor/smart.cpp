#include "doctor/smart.hpp"

#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace breakeven::doctor {
namespace {

constexpr std::size_t page_bytes = 512;
constexpr std::uint8_t get_log_page = 0x02, smart_page = 0x02;
constexpr std::uint32_t all_namespaces = 0xffffffff;

double little_endian(std::span<const std::byte> bytes) {
  double value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value * 256 + std::to_integer<int>(bytes[i - 1]);
  return value;
}

} // namespace

std::optional<SmartLog> parse_smart_log(std::span<const std::byte> page) {
  if (page.size() < page_bytes) return std::nullopt;
  SmartLog log;
  const auto critical = std::to_integer<unsigned>(page[0]);
  log.spare_low = (critical & 1U) != 0;
  log.too_hot = (critical & 2U) != 0;
  log.unreliable = (critical & 4U) != 0;
  log.read_only = (critical & 8U) != 0;
  log.temperature_C = static_cast<int>(little_endian(page.subspan(1, 2))) - 273; // in kelvin
  log.spare_percent = std::to_integer<int>(page[3]);
  log.used_percent = std::to_integer<int>(page[5]);
  log.media_errors = little_endian(page.subspan(160, 16));
  log.throttled_minutes = little_endian(page.subspan(192, 4));
  return log;
}

SmartResult read_smart(const std::string& drive) {
  if (drive.compare(0, 2, "vd") == 0 || drive.compare(0, 3, "xvd") == 0)
    return {{}, "a virtual disk shows no health log"};
  if (drive.compare(0, 4, "nvme") != 0)
    return {{}, "only NVMe drives are asked; smartctl reads others"};
  const std::string controller = "/dev/" + drive.substr(0, drive.find('n', 4));
  const int fd = open(controller.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {{}, controller + ": " + std::strerror(errno)};
  std::array<std::byte, page_bytes> page{};
  nvme_admin_cmd command{};
  command.opcode = get_log_page;
  command.nsid = all_namespaces;
  command.addr = reinterpret_cast<std::uintptr_t>(page.data());
  command.data_len = page_bytes;
  command.cdw10 = smart_page | ((page_bytes / 4 - 1) << 16); // number of words, less one
  const int result = ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command);
  const int code = errno;
  close(fd);
  if (result < 0) return {{}, controller + ": " + std::strerror(code)};
  if (result > 0) return {{}, controller + ": the drive refused the health log"};
  return {parse_smart_log(page), ""};
}

} // namespace breakeven::doctor
