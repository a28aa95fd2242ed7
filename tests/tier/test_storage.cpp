#include "support/catch.hpp"

#include "tier/storage.hpp"
#include "tier_fixture.hpp"

#include <fcntl.h>

#include <fstream>

using namespace breakeven::tier;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

/// A /sys tree with two NVMe drives on PCIe, as the kernel lays it out.
class FakeSys {
public:
  FakeSys() {
    drive("0000:01:00.0", "nvme0", "16.0 GT/s PCIe", "4");
    drive("0000:02:00.0", "nvme1", "8.0 GT/s PCIe", "4");
  }
  [[nodiscard]] std::string root() const { return m_directory.path(); }
  [[nodiscard]] fs::path devices() const { return fs::path(root()) / "sys/devices"; }
  [[nodiscard]] fs::path virtual_block(const std::string& name) const {
    return devices() / "virtual/block" / name;
  }
  [[nodiscard]] fs::path nvme(const std::string& name) const {
    return devices() / (name == "nvme0" ? "0000:01:00.0" : "0000:02:00.0") / "nvme" / name /
           (name + "n1");
  }
  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void number(const std::string& numbers, const fs::path& block) const {
    const fs::path link = fs::path(root()) / "sys/dev/block" / numbers;
    fs::create_directories(link.parent_path());
    fs::create_symlink(block, link);
  }
  static void stack(const fs::path& upper, const fs::path& lower) {
    fs::create_directories(upper / "slaves");
    fs::create_symlink(lower, upper / "slaves" / lower.filename());
  }

private:
  void drive(const std::string& address, const std::string& name, const std::string& speed,
             const std::string& width) {
    const fs::path pci = devices() / address, block = nvme(name);
    write(pci / "current_link_speed", speed);
    write(pci / "current_link_width", width);
    write(pci / "nvme" / name / "model", "ACME Fast 1T  ");
    write(pci / "nvme" / name / "firmware_rev", "1.2.3");
    write(block / "queue/rotational", "0");
    write(block / (name + "n1p1") / "partition", "1");
    fs::create_symlink(pci / "nvme" / name, block / "device");
  }
  TestDirectory m_directory;
};

} // namespace

TEST_CASE("a partition leads to its drive: model, firmware, link and what it carries") {
  const FakeSys sys;
  sys.number("259:1", sys.nvme("nvme0") / "nvme0n1p1");
  const Storage storage = inspect_device(259, 1, sys.root());
  REQUIRE(storage.drives.size() == 1);
  CHECK(storage.drives[0].name == "nvme0n1");
  CHECK(storage.drives[0].model == "ACME Fast 1T");
  CHECK(storage.drives[0].firmware == "1.2.3");
  CHECK(storage.drives[0].link == "PCIe 4.0 x4");
  CHECK(storage.ceiling_Bps() == Approx(16e9 * 128 / 130 / 8 * 4));
  CHECK(storage.stack.empty());
  CHECK_FALSE(storage.virtual_disk);
}

TEST_CASE("encryption on a RAID of two drives names every layer and adds the links up") {
  const FakeSys sys;
  FakeSys::write(sys.virtual_block("md0") / "md/level", "raid0");
  FakeSys::stack(sys.virtual_block("md0"), sys.nvme("nvme0") / "nvme0n1p1");
  FakeSys::stack(sys.virtual_block("md0"), sys.nvme("nvme1") / "nvme1n1p1");
  FakeSys::write(sys.virtual_block("dm-0") / "dm/uuid", "CRYPT-LUKS2-abc");
  FakeSys::stack(sys.virtual_block("dm-0"), sys.virtual_block("md0"));
  sys.number("253:0", sys.virtual_block("dm-0"));
  const Storage storage = inspect_device(253, 0, sys.root());
  CHECK(storage.stack == "dm-0 (CRYPT) on md0; md0 (raid0) on nvme0n1p1 nvme1n1p1");
  REQUIRE(storage.drives.size() == 2);
  CHECK(storage.ceiling_Bps() == Approx((16e9 + 8e9) * 128 / 130 / 8 * 4));
}

TEST_CASE("a loop device names its image, memory disks and virtual ones are told") {
  const FakeSys sys;
  FakeSys::write(sys.virtual_block("loop0") / "loop/backing_file", "/images/x.img");
  sys.number("7:0", sys.virtual_block("loop0"));
  const Storage loop = inspect_device(7, 0, sys.root());
  CHECK(loop.loop_file == "/images/x.img");
  CHECK_THAT(loop.stack, Contains("loop0 on /images/x.img"));

  fs::create_directories(sys.virtual_block("zram0"));
  sys.number("251:0", sys.virtual_block("zram0"));
  CHECK(inspect_device(251, 0, sys.root()).in_memory);

  fs::create_directories(sys.devices() / "virtio0/block/vda");
  sys.number("254:0", sys.devices() / "virtio0/block/vda");
  const Storage disk = inspect_device(254, 0, sys.root());
  CHECK(disk.virtual_disk);
  CHECK(disk.ceiling_Bps() == 0);
  CHECK(inspect_device(1, 2, sys.root()).drives.empty()); // no such device: nothing, no failure
}

TEST_CASE("rates of links follow their line coding") {
  CHECK(pcie_Bps(2.5, 1) == Approx(250e6));
  CHECK(pcie_Bps(8, 4) == Approx(3.938e9).epsilon(1e-3));
  CHECK(pcie_Bps(64, 16) == Approx(121e9).epsilon(1e-2));
  CHECK(pcie_generation(32) == "PCIe 5.0");
}

TEST_CASE("the file system of an open directory is known") {
  const TestDirectory directory;
  const int fd = open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const Storage storage = inspect_storage(fd);
  close(fd);
  CHECK_FALSE(storage.file_system.empty());
  CHECK_FALSE(storage.mount_point.empty());
}
