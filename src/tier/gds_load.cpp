#include "tier/gds_load.hpp"

#include "support/error.hpp"
#include "tier/file_handle.hpp"
#include "tier/system_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace breakeven::tier {
namespace {

/// Smaller reads cost more than scattering on the device does: one command to the drive each.
constexpr std::uint64_t least_in_place_bytes = 64u << 10;
constexpr std::uint64_t dma_alignment = 4096;

} // namespace

GdsLoad::GdsLoad(const LoadContext& context, const LoadShape& shape, const GdsContext& gds)
    : VerifiedLoad(context, shape), m_gds(gds) {
  const std::uint64_t piece = m_pieces.piece_bytes();
  m_in_place = m_gds.staging.data == nullptr || m_pieces.pieces() == 1 ||
               (piece >= least_in_place_bytes && piece % dma_alignment == 0);
}

/// Calls read(file of cuFile, address that reads are relative to) with the file open.
template <class Read>
void GdsLoad::with_file(std::size_t file, Read read) {
  m_context.device.attach_thread();
  const std::string& path = m_gds.files.paths[file];
  const FileHandle handle(system_calls().open(path.c_str(), m_gds.files.open_flags, 0));
  if (!handle)
    throw error(error_kind::environment,
                fmt::format("cannot open a file of the store: {}", std::strerror(errno)));
  struct Registered {
    const CuFile& cufile;
    void* file;
    ~Registered() { cufile.remove_file(file); }
  } const registered{m_gds.cufile, m_gds.cufile.add_file(handle.get())};
  read(registered.file);
}

void GdsLoad::read_in_place(const Part& part) {
  std::byte* base = m_context.device.device_address();
  const std::uint64_t device = m_placements[part.lane].device;
  with_file(part.file, [&](void* file) {
    m_pieces.for_each(part.begin, part.begin + part.bytes,
                      [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
                        m_gds.cufile.read(file, base, bytes, static_cast<off_t>(from - part.begin),
                                          static_cast<off_t>(device + to));
                      });
  });
}

/// Whole blocks, as files are written in whole blocks and staging has room for them.
void GdsLoad::read_staged(const Part& part, std::byte* to) {
  const std::uint64_t bytes =
      (part.bytes + file_block_bytes - 1) / file_block_bytes * file_block_bytes;
  with_file(part.file, [&](void* file) {
    m_gds.cufile.read(file, m_gds.staging.data, bytes, 0,
                      static_cast<off_t>(to - m_gds.staging.data));
  });
}

void GdsLoad::run_staged() {
  const std::size_t wave = std::max<std::size_t>(
      1, static_cast<std::size_t>(m_gds.staging.half_bytes / m_gds.chunk_file_bytes));
  std::byte* half = m_gds.staging.data;
  std::byte* other = half + m_gds.staging.half_bytes;
  for (std::size_t first = 0; first < m_parts.size(); first += wave) {
    const std::size_t count = std::min(wave, m_parts.size() - first);
    m_context.team.run(count, [&](std::size_t i) {
      read_staged(m_parts[first + i], half + i * m_gds.chunk_file_bytes);
    });
    m_context.device.synchronize(); // the other half is free again
    for (std::size_t i = 0; i < count; ++i) {
      const Part& part = m_parts[first + i];
      const std::byte* source = half + i * m_gds.chunk_file_bytes;
      m_runs.clear();
      m_pieces.for_each(part.begin, part.begin + part.bytes,
                        [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
                          m_runs.push_back({m_placements[part.lane].device + to,
                                            source + (from - part.begin),
                                            static_cast<std::size_t>(bytes)});
                        });
      m_context.device.copy_in_runs(m_runs, part.lane);
    }
    std::swap(half, other);
  }
}

void GdsLoad::do_run() {
  m_parts.clear();
  const std::size_t files = m_gds.files.paths.size();
  for (std::uint64_t begin = 0; begin < m_shape.bytes; begin += m_gds.chunk_bytes)
    for (std::size_t lane = 0; lane < m_placements.size(); ++lane) { // loads take turns
      const std::uint64_t first = m_placements[lane].source / m_gds.chunk_bytes;
      m_parts.push_back({static_cast<std::size_t>(first + begin / m_gds.chunk_bytes) % files, lane,
                         begin, std::min(m_gds.chunk_bytes, m_shape.bytes - begin)});
    }
  if (m_in_place)
    m_context.team.run(m_parts.size(), [&](std::size_t i) { read_in_place(m_parts[i]); });
  else
    run_staged();
  m_context.device.synchronize();
}

void GdsLoad::do_verify() {
  VerifiedLoad::do_verify();
  if (m_gds.store.cached() > 0)
    throw error(error_kind::measurement,
                fmt::format("{}: pages of the files are in the page cache although they are read "
                            "with O_DIRECT; is another program reading them?",
                            name()));
}

} // namespace breakeven::tier
