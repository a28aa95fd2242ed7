#include "tier/file_load.hpp"

#include "support/error.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace breakeven::tier {

FileLoad::FileLoad(const LoadContext& context, const LoadShape& shape, FileStore& store,
                   StoreFiles files, Transfer& transfer, const TransferOptions& options,
                   std::function<void(double)> finished)
    : VerifiedLoad(context, shape), m_store(store), m_files(std::move(files)), m_transfer(transfer),
      m_options(options), m_finished(std::move(finished)) {
  m_options.depth *= static_cast<unsigned>(shape.in_flight); // each load brings its own requests
}

void FileLoad::do_prepare() {
  VerifiedLoad::do_prepare();
  m_parts.clear();
  for (const Placement& placement : m_placements)
    m_parts.push_back({placement.source, placement.device});
  if (m_store.direct()) return;
  const std::int64_t held = m_store.drop_page_cache();
  if (held != 0)
    throw error(error_kind::measurement,
                fmt::format("{}: {}, so reads would be of memory and not of the drive", name(),
                            held < 0 ? std::string("it cannot be told whether the page cache holds "
                                                   "the files")
                                     : fmt::format("{} of the files stay in the page cache",
                                                   format_bytes(static_cast<double>(held)))));
}

void FileLoad::do_run() {
  using clock = std::chrono::steady_clock;
  const clock::time_point start = clock::now();
  m_transfer.run(m_files, m_pieces, m_parts, m_options);
  const double seconds = std::chrono::duration<double>(clock::now() - start).count();
  const auto bytes = static_cast<double>(m_shape.bytes) * static_cast<double>(m_parts.size());
  if (seconds > 0 && m_finished) m_finished(bytes / seconds);
}

void FileLoad::do_verify() {
  VerifiedLoad::do_verify();
  if (m_store.direct() && m_store.cached() > 0)
    throw error(error_kind::measurement,
                fmt::format("{}: pages of the files are in the page cache although they are read "
                            "with O_DIRECT; is another program reading them?",
                            name()));
}

} // namespace breakeven::tier
