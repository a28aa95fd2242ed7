#include "support/catch.hpp"

#include "support/error.hpp"
#include "tier/cufile.hpp"
#include "tier/gds_tier.hpp"
#include "tier_fixture.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>

using namespace breakeven;
using namespace breakeven::tier;
using Catch::Matchers::Contains;

namespace {

const std::string library = BREAKEVEN_FAKE_CUFILE;

class Behaviour {
public:
  explicit Behaviour(const char* words) { setenv("BREAKEVEN_FAKE_CUFILE", words, 1); }
  ~Behaviour() { unsetenv("BREAKEVEN_FAKE_CUFILE"); }
};

/// A buffer that a drive can reach and the host, as far as the tier knows, cannot.
class GpuBuffer : public HostBuffer {
public:
  explicit GpuBuffer(std::uint64_t bytes, bool staging = true)
      : HostBuffer(bytes, false), m_has_staging(staging) {}
  std::byte* device_address() noexcept override { return data(); }
  std::byte* device_staging(std::size_t bytes) override {
    if (!m_has_staging) return nullptr;
    m_staging = HostMemory(bytes, "a test");
    return m_staging.data();
  }
  void copy_in_runs(std::span<const compute::DeviceRun> runs, std::size_t lane) override {
    scattered += runs.size();
    HostBuffer::copy_in_runs(runs, lane);
  }
  std::size_t scattered = 0;

private:
  bool m_has_staging;
  HostMemory m_staging;
};

int open_things() {
  void* fake = dlopen(library.c_str(), RTLD_NOW);
  const int count = reinterpret_cast<int (*)()>(dlsym(fake, "fake_cufile_open_things"))();
  dlclose(fake);
  return count;
}

/// Keeps the library loaded, so that its counts outlive the tiers.
struct KeepLoaded {
  void* handle = dlopen(library.c_str(), RTLD_NOW);
  ~KeepLoaded() { dlclose(handle); }
};

std::unique_ptr<Tier> gds(const TestDirectory& directory, compute::DeviceBuffer& device,
                          const std::string& keys = "", const std::string& root = "/nowhere") {
  return make_gds_tier(parse_tier_spec("gds:" + directory.path() + keys), small_options(8 * mib),
                       device, library, root);
}

/// False, and a warning, where the build's file system refuses O_DIRECT.
bool prepared(Tier& tier) {
  try {
    tier.prepare();
    return true;
  } catch (const error& e) {
    if (std::string(e.what()).find("O_DIRECT is refused") == std::string::npos) throw;
    WARN(e.what());
    return false;
  }
}

} // namespace

TEST_CASE("gds is listed in every build, with a reason where it cannot be used") {
  const TierKind& kind = tier_kinds().at("gds");
  const std::string reason = kind.unavailable_reason();
  CAPTURE(reason);
#ifdef BREAKEVEN_HAVE_CUDA
  CHECK((reason.empty() || reason == "no driver" || reason == "libcufile.so.0 not found"));
#else
  CHECK(reason == "built without CUDA");
#endif
  CHECK(CuFile::unavailable_reason("libcufile-not-here.so.0") ==
        "libcufile-not-here.so.0 not found");
  CHECK(CuFile::unavailable_reason("libm.so.6") == "libm.so.6 is not cuFile");
  CHECK(CuFile::unavailable_reason(library).empty());
  CHECK_THROWS_WITH(parse_tier_spec("gds:/a,/b"), Contains("takes one directory"));
  CHECK_THROWS_WITH(parse_tier_spec("gds:/a,compat=maybe"), Contains("refuse measure"));
  CHECK_THROWS_WITH(parse_tier_spec("gds:/a,o_direct=on"), Contains("unknown key"));
}

TEST_CASE("loads through cuFile arrive, in place and scattered") {
  const KeepLoaded keep;
  const auto& [words, staging] =
      GENERATE(std::pair<std::string, bool>{"p2pdma", true}, std::pair{"nvfs noregister", true},
               std::pair{"p2pdma short", false});
  CAPTURE(words, staging);
  const Behaviour behaviour(words.c_str());
  const TestDirectory directory;
  {
    GpuBuffer device(9 * mib, staging);
    const auto tier = gds(directory, device, ",chunk_tokens=80");
    if (!prepared(*tier)) return;
    CHECK(tier->disqualified().empty());
    CHECK_THAT(tier->identity().at("path"), Contains("peer-to-peer"));
    CHECK(tier->identity().at("cufile") == "1.15.1");
    CHECK(tier->identity().at("kv_buffer") ==
          (words == "nvfs noregister" ? "not registered" : "registered"));
    CHECK(joined(tier->warnings()).empty() == (words != "nvfs noregister"));
    CHECK(tier->store_Bps() > 0);
    for (const LoadShape& shape :
         {LoadShape{5 * mib, 4, 1}, LoadShape{5 * mib, 64, 1}, LoadShape{5 * mib, 1280, 1},
          LoadShape{2 * mib + 5, 33, 3}, LoadShape{8 * mib, 7, 1}, LoadShape{100, 1, 2}}) {
      const auto load = tier->load(shape);
      for (int run = 0; run < 3; ++run) {
        device.scattered = 0;
        CHECK(load->run().seconds > 0);
        CHECK(device.unfinished == 0);
        const std::uint64_t piece = shape.bytes / shape.pieces;
        const bool direct =
            !staging || shape.pieces == 1 || (piece % 4096 == 0 && piece >= (64u << 10));
        CHECK((device.scattered == 0) == direct);
      }
    }
    CHECK_THROWS_WITH(tier->load({8 * mib, 1, 1}), Contains("at least as many pieces"));
  }
  CHECK(open_things() == 0);
  CHECK(directory.names().empty());
}

TEST_CASE("a bounce through host memory is never called GPUDirect Storage") {
  const auto& [words, sentence] = GENERATE(
      std::pair{"posix", "compat mode: cuFile counts"}, std::pair{"nvfs half", "compat mode"},
      std::pair{"nostats", "nvidia-fs is not loaded"}, std::pair{"none", "unknown: no counter"});
  CAPTURE(words);
  const Behaviour behaviour(words);
  const TestDirectory directory;
  {
    GpuBuffer device(8 * mib);
    const auto tier = gds(directory, device);
    if (!prepared(*tier)) return;
    CHECK_THAT(tier->disqualified(), Contains("this is not GPUDirect Storage"));
    CHECK_THAT(tier->disqualified(), Contains(sentence));
    CHECK_THAT(tier->identity().at("path"), !Contains("peer-to-peer"));
    CHECK_THROWS_WITH(tier->load({mib, 1, 1}), Contains("not GPUDirect Storage"));
  }
  GpuBuffer device(8 * mib);
  const auto tier = gds(directory, device, ",compat=measure");
  tier->prepare();
  CHECK(tier->disqualified().empty());
  CHECK_THAT(joined(tier->warnings()), Contains("this is not GPUDirect Storage"));
  CHECK(tier->load({mib, 4, 1})->run().seconds > 0);
}

TEST_CASE("counts of nvidia-fs prove the path where cuFile does not count") {
  const Behaviour behaviour("nostats");
  const TestDirectory directory, root;
  const std::string folder = root.path() + "/proc/driver/nvidia-fs";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/version") << "version: 2.26.6\n";
  std::ofstream(folder + "/stats") << "GDS Version: 1.15\nIO stats: Enabled\n"
                                      "Sparse Reads : n=7 io=0\n"
                                      "Reads : n=12 ok=11 err=1 readMiB=3 io_state_err=0\n";
  CuFile cufile(library, root.path());
  cufile.count_reads(true); // this one cannot
  CHECK(cufile.nvidia_fs_version() == "2.26.6");
  CHECK(cufile.nvidia_fs_reads() == 11);
  CHECK_FALSE(cufile.reads().known);
  CHECK(cufile.compat_allowed());
  GdsEvidence evidence;
  evidence.nvidia_fs_version = "2.26.6";
  evidence.nvidia_fs_before = 11;
  evidence.nvidia_fs_after = 12;
  CHECK(judge_path(evidence).kind == GdsPath::Kind::peer_to_peer);
  CHECK(judge_path(evidence).sentence == "peer-to-peer (nvidia-fs 2.26.6)");
  evidence.nvidia_fs_after = 11;
  CHECK(judge_path(evidence).kind == GdsPath::Kind::unproven);
  CHECK_THAT(judge_path(evidence).sentence, Contains("rw_stats_enabled=1"));
  // What cuFile counted overrules what the module counted for anybody.
  evidence.nvidia_fs_after = 12;
  evidence.before.known = evidence.after.known = true;
  evidence.after.host_memory = 1;
  CHECK(judge_path(evidence).kind == GdsPath::Kind::bounce);
  // The counters stand still in this root although the file system was read.
  GpuBuffer device(8 * mib);
  const auto tier = gds(directory, device, "", root.path());
  if (!prepared(*tier)) return;
  CHECK_THAT(tier->disqualified(), Contains("no counter shows"));
  CHECK(tier->identity().at("nvidia_fs") == "2.26.6");
}

TEST_CASE("refusals of cuFile are sentences, and nothing stays open") {
  const KeepLoaded keep;
  const TestDirectory directory;
  const auto& [words, sentence] =
      GENERATE(std::pair{"nodriver", "cuFile does not start: the kernel module nvidia-fs"},
               std::pair{"badfile", "not supported for this file"},
               std::pair{"eio", "through cuFile fails: Input/output error"},
               std::pair{"ioctl", "through cuFile fails: nvidia-fs reports an error"},
               std::pair{"p2pdma lose", "did not arrive"});
  CAPTURE(words);
  const Behaviour behaviour(words);
  {
    GpuBuffer device(8 * mib);
    const auto tier = gds(directory, device);
    bool possible = true;
    try {
      possible = prepared(*tier);
      if (possible) FAIL("prepared all the same");
    } catch (const error& e) {
      CHECK_THAT(e.what(), Contains(sentence));
    }
    if (!possible) return;
  }
  CHECK(open_things() == 0);
  CHECK(directory.names().empty());
}

TEST_CASE("a buffer in host memory and a directory in memory have no GPUDirect Storage") {
  const TestDirectory directory;
  HostBuffer host(8 * mib);
  CHECK_THROWS_WITH(gds(directory, host)->prepare(),
                    Contains("the KV buffer is not in a GPU's memory (test copy)"));
  GpuBuffer device(8 * mib);
  if (access("/dev/shm", W_OK) != 0) return;
  const auto tier =
      make_gds_tier(parse_tier_spec("gds:/dev/shm"), small_options(8 * mib), device, library);
  tier->prepare();
  CHECK_THAT(tier->disqualified(), Contains("no drive can read it into a GPU"));
}
