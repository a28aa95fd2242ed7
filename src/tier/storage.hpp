#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::tier {

/// One drive, or what stands for one, at the bottom of a stack of block devices.
struct Drive {
  std::string name;  ///< "nvme0n1"
  std::string model; ///< with its vendor; "" = unknown
  std::string firmware;
  std::string link;       ///< "PCIe 4.0 x4"; "" = not on PCIe or unknown
  double ceiling_Bps = 0; ///< of the link; 0 = unknown
  bool rotational = false;
  bool in_memory = false; ///< ram disk, zram
};

/// What lies behind a directory. Unknown facts are empty or 0.
struct Storage {
  std::string file_system; ///< "ext4", "nfs4", ...
  std::string mount_point, mount_options;
  std::string source; ///< "/dev/nvme0n1p2", "server:/export"
  std::string stack;  ///< "dm-0 (crypt) on nvme0n1p2", "loop0 on /images/x.img"; "" = none
  std::vector<Drive> drives;
  bool in_memory = false; ///< its data lives in memory: never a disk
  bool network = false;
  bool compressing = false;  ///< compresses, or may
  bool virtual_disk = false; ///< a hypervisor's, whose caches cannot be seen
  std::string loop_file;     ///< file behind a loop device

  /// Sum over the drives, as they work side by side; 0 when one is unknown.
  [[nodiscard]] double ceiling_Bps() const;
};

/// Facts about the file system and the drives behind the open directory or file `fd`. Never
/// throws. /proc and /sys are read below `root` (tests).
Storage inspect_storage(int fd, const std::string& root = "");

/// The same for a mount entry known by its device number (tests of stacks that are not here).
Storage inspect_device(unsigned major, unsigned minor, const std::string& root);

/// Bytes per second of a PCIe link per direction by its transfer rate in GT/s and its width, after
/// line coding: 8b/10b up to 5 GT/s, 128b/130b up to 32, 242/256 flits beyond (PCI-SIG base
/// specifications). Packet headers take some more.
double pcie_Bps(double gigatransfers_per_s, int width);

/// "PCIe 4.0" for 16 GT/s, ...
std::string pcie_generation(double gigatransfers_per_s);

} // namespace breakeven::tier
