#pragma once

#include "tier/file_store.hpp"
#include "tier/verified_load.hpp"

#include <functional>

namespace breakeven::tier {

/// Reads chunk files, or the large files, into the device's buffer.
class FileLoad final : public VerifiedLoad {
public:
  /// `finished` is told the bytes per second of every load, for the tier's gates.
  FileLoad(const LoadContext& context, const LoadShape& shape, FileStore& store, StoreFiles files,
           Transfer& transfer, const TransferOptions& options,
           std::function<void(double)> finished);

protected:
  void do_prepare() override; ///< drops the page cache where reads go through it
  void do_run() override;
  void do_verify() override; ///< also proves that no page was served from the cache

private:
  FileStore& m_store;
  const StoreFiles m_files;
  Transfer& m_transfer;
  TransferOptions m_options;
  std::function<void(double)> m_finished;
  std::vector<TransferPart> m_parts;
};

} // namespace breakeven::tier
