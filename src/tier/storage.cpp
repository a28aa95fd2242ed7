#include "tier/storage.hpp"

#include "support/text.hpp"
#include "tier/system_calls.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace breakeven::tier {
namespace {

namespace fs = std::filesystem;

std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\n'))
    line.pop_back();
  return printable(line);
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

/// mountinfo writes a blank as \040 and so on.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      result += static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return printable(result);
}

struct Mount {
  std::string device; ///< "major:minor"
  std::string point, options, type, source, super_options;
};

/// A line of /proc/self/mountinfo; see proc(5).
Mount parse_mount(const std::string& line) {
  std::istringstream words(line);
  std::string id, parent, root, word;
  Mount mount;
  words >> id >> parent >> mount.device >> root >> mount.point >> mount.options;
  while (words >> word && word != "-") {
  }
  words >> mount.type >> mount.source >> mount.super_options;
  mount.point = unescaped(mount.point);
  mount.source = unescaped(mount.source);
  return mount;
}

/// Mount id of an open file, from its fdinfo; "" where the kernel does not tell.
std::string mount_id(int fd) {
  std::ifstream info(fmt::format("/proc/self/fdinfo/{}", fd));
  std::string word;
  while (info >> word)
    if (word == "mnt_id:" && info >> word) return word;
  return "";
}

Mount find_mount(int fd, const std::string& root) {
  const std::string id = mount_id(fd);
  struct stat facts {};
  fstat(fd, &facts);
  const std::string device = fmt::format("{}:{}", major(facts.st_dev), minor(facts.st_dev));
  std::ifstream table(root + "/proc/self/mountinfo");
  std::string line;
  Mount by_device;
  while (std::getline(table, line)) {
    Mount mount = parse_mount(line);
    if (!id.empty() && line.substr(0, line.find(' ')) == id) return mount;
    if (mount.device == device) by_device = std::move(mount);
  }
  return by_device;
}

void read_link(Drive& drive, fs::path device) {
  std::error_code failed;
  device = fs::canonical(device, failed);
  for (; !failed && device.has_relative_path(); device = device.parent_path()) {
    if (!fs::exists(device / "current_link_speed", failed)) continue;
    const double rate = std::atof(line_of(device / "current_link_speed").c_str());
    const int width = std::atoi(line_of(device / "current_link_width").c_str());
    if (!(rate > 0) || width <= 0) return;
    drive.link = fmt::format("{} x{}", pcie_generation(rate), width);
    drive.ceiling_Bps = pcie_Bps(rate, width);
    return;
  }
}

Drive read_drive(const fs::path& block) {
  Drive drive;
  drive.name = block.filename().string();
  const std::string vendor = line_of(block / "device/vendor");
  drive.model = line_of(block / "device/model");
  if (!vendor.empty() && !starts_with(vendor, "0x") && !drive.model.empty())
    drive.model = vendor + " " + drive.model;
  drive.firmware = line_of(block / "device/firmware_rev");
  if (drive.firmware.empty()) drive.firmware = line_of(block / "device/rev");
  const bool is_virtual = starts_with(drive.name, "vd") || starts_with(drive.name, "xvd");
  drive.rotational = !is_virtual && line_of(block / "queue/rotational") == "1";
  drive.in_memory = starts_with(drive.name, "ram") || starts_with(drive.name, "zram");
  // Only NVMe: the link above a SATA or SAS controller is shared by drives we know nothing of.
  if (starts_with(drive.name, "nvme")) read_link(drive, block / "device");
  return drive;
}

std::string stack_part(const fs::path& block) {
  const std::string name = block.filename().string();
  const std::string uuid = line_of(block / "dm/uuid");
  if (!uuid.empty()) return fmt::format("{} ({})", name, uuid.substr(0, uuid.find('-')));
  const std::string level = line_of(block / "md/level");
  if (!level.empty()) return fmt::format("{} ({})", name, level);
  return name;
}

/// Walks from a block device down to the drives. `depth` guards against loops in a broken tree.
void descend(Storage& storage, fs::path block, const std::string& root, int depth) {
  std::error_code failed;
  block = fs::canonical(block, failed);
  if (failed || depth > 16) return;
  if (fs::exists(block / "partition", failed)) block = block.parent_path();
  std::vector<fs::path> below;
  for (fs::directory_iterator entry(block / "slaves", failed), end; !failed && entry != end;
       entry.increment(failed))
    below.push_back(entry->path());
  std::sort(below.begin(), below.end());
  if (const std::string backing = line_of(block / "loop/backing_file"); !backing.empty()) {
    storage.loop_file = backing;
    storage.stack += stack_part(block) + " on " + backing;
    return;
  }
  if (below.empty()) {
    storage.drives.push_back(read_drive(block));
    return;
  }
  storage.stack += stack_part(block) + " on";
  for (const fs::path& part : below)
    storage.stack += fmt::format(" {}", part.filename().string());
  storage.stack += "; ";
  for (const fs::path& part : below)
    descend(storage, part, root, depth + 1);
}

void classify(Storage& storage, std::uint64_t magic, const std::string& options) {
  static const std::vector<std::string> memory = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"};
  static const std::vector<std::string> network = {
      "nfs",    "nfs4", "cifs",   "smb3",     "ceph",      "9p",     "afs",
      "lustre", "gpfs", "beegfs", "virtiofs", "glusterfs", "wekafs", "orangefs"};
  constexpr std::uint64_t tmpfs_magic = 0x01021994, ramfs_magic = 0x858458f6,
                          hugetlbfs_magic = 0x958458f6;
  const std::string& type = storage.file_system;
  storage.in_memory = contains(memory, type) || magic == tmpfs_magic || magic == ramfs_magic ||
                      magic == hugetlbfs_magic;
  storage.network = contains(network, type) || starts_with(type, "fuse.sshfs") ||
                    starts_with(type, "fuse.s3") || starts_with(type, "fuse.gcs") ||
                    starts_with(type, "fuse.gluster") || starts_with(type, "fuse.juicefs");
  const bool asked = options.find("compress") != std::string::npos;
  storage.compressing =
      type == "zfs" || (asked && (type == "btrfs" || type == "f2fs" || type == "bcachefs" ||
                                  type == "ntfs3" || type == "ubifs"));
}

} // namespace

double Storage::ceiling_Bps() const {
  double sum = 0;
  for (const Drive& drive : drives) {
    if (drive.ceiling_Bps <= 0) return 0;
    sum += drive.ceiling_Bps;
  }
  return sum;
}

double pcie_Bps(double gigatransfers_per_s, int width) {
  const double coding = gigatransfers_per_s <= 5    ? 8.0 / 10
                        : gigatransfers_per_s <= 32 ? 128.0 / 130
                                                    : 242.0 / 256;
  return gigatransfers_per_s * 1e9 * coding / 8 * width;
}

std::string pcie_generation(double gigatransfers_per_s) {
  constexpr std::pair<double, const char*> known[] = {{2.5, "1.0"}, {5, "2.0"},  {8, "3.0"},
                                                      {16, "4.0"},  {32, "5.0"}, {64, "6.0"}};
  for (const auto& [rate, name] : known)
    if (gigatransfers_per_s <= rate * 1.01) return std::string("PCIe ") + name;
  return fmt::format("PCIe {} GT/s", gigatransfers_per_s);
}

Storage inspect_device(unsigned major_number, unsigned minor_number, const std::string& root) {
  Storage storage;
  descend(storage, fmt::format("{}/sys/dev/block/{}:{}", root, major_number, minor_number), root,
          0);
  if (storage.stack.size() > 2 && storage.stack.substr(storage.stack.size() - 2) == "; ")
    storage.stack.resize(storage.stack.size() - 2);
  for (const Drive& drive : storage.drives) {
    storage.in_memory |= drive.in_memory;
    storage.virtual_disk |= starts_with(drive.name, "vd") || starts_with(drive.name, "xvd") ||
                            drive.model.find("QEMU") != std::string::npos ||
                            drive.model.find("Virtual") != std::string::npos;
  }
  return storage;
}

Storage inspect_storage(int fd, const std::string& root) {
  const Mount mount = find_mount(fd, root);
  unsigned major_number = 0, minor_number = 0;
  std::sscanf(mount.device.c_str(), "%u:%u", &major_number, &minor_number);
  struct stat source {};
  if (major_number == 0 && starts_with(mount.source, "/dev/") &&
      stat(mount.source.c_str(), &source) == 0 && S_ISBLK(source.st_mode)) {
    major_number = major(source.st_rdev); // btrfs: the mount has a number of its own
    minor_number = minor(source.st_rdev);
  }
  Storage storage = inspect_device(major_number, minor_number, root);
  storage.file_system = mount.type;
  storage.mount_point = mount.point;
  storage.source = mount.source;
  storage.mount_options = mount.options;
  if (!mount.super_options.empty()) storage.mount_options += "," + mount.super_options;
  struct statfs facts {};
  const bool known = system_calls().fstatfs(fd, &facts) == 0;
  const bool memory_drive = storage.in_memory;
  classify(storage, known ? static_cast<std::uint64_t>(facts.f_type) & 0xFFFFFFFFu : 0,
           storage.mount_options);
  storage.in_memory |= memory_drive; // a disk file system on a ram disk
  if (!storage.loop_file.empty()) {  // what counts is where the image lies
    const int image = ::open(storage.loop_file.c_str(), O_PATH | O_CLOEXEC);
    struct statfs below {};
    if (image >= 0 && ::fstatfs(image, &below) == 0) {
      Storage under;
      classify(under, static_cast<std::uint64_t>(below.f_type) & 0xFFFFFFFFu, "");
      storage.in_memory |= under.in_memory;
    }
    if (image >= 0) system_calls().close(image);
  }
  return storage;
}

} // namespace breakeven::tier
