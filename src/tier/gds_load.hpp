#pragma once

#include "tier/cufile.hpp"
#include "tier/file_store.hpp"
#include "tier/verified_load.hpp"

namespace breakeven::tier {

/// Memory of the device that reads land in before they are scattered: two halves, so that the
/// next files are read while the pieces of the last are put in place.
struct GdsStaging {
  std::byte* data = nullptr;
  std::uint64_t half_bytes = 0; ///< whole chunk files
};

/// What loads share. All of it outlives the workloads.
struct GdsContext {
  const CuFile& cufile;
  FileStore& store;
  StoreFiles files;
  std::uint64_t chunk_bytes = 0, chunk_file_bytes = 0;
  GdsStaging staging;
};

/// Opens, registers, reads and closes one file per chunk, many at once, as the GDS back ends of
/// engines do. Pieces that a drive's DMA can reach by themselves (aligned, not small) are read in
/// place; others arrive in one run per file and the device scatters them.
class GdsLoad final : public VerifiedLoad {
public:
  GdsLoad(const LoadContext& context, const LoadShape& shape, const GdsContext& gds);

  [[nodiscard]] bool in_place() const { return m_in_place; }

protected:
  void do_run() override;
  void do_verify() override; ///< also proves that no page was served from the page cache

private:
  /// The part of a chunk that a load reads: from the chunk's start.
  struct Part {
    std::size_t file = 0, lane = 0;
    std::uint64_t begin = 0, bytes = 0; ///< within the load
  };
  void read_in_place(const Part& part);
  void read_staged(const Part& part, std::byte* to);
  void run_staged();
  template <class Read>
  void with_file(std::size_t file, Read read);

  const GdsContext& m_gds;
  bool m_in_place = false;
  std::vector<Part> m_parts;
  std::vector<compute::DeviceRun> m_runs;
};

} // namespace breakeven::tier
