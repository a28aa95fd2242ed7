#pragma once

#include <cstdint>
#include <optional>

namespace breakeven::tier {

/// Bytes of the first `bytes` of a file that the page cache holds, by mincore(); nothing where the
/// file cannot be mapped.
std::optional<std::uint64_t> cached_bytes(int fd, std::uint64_t bytes);

/// Writes dirty pages and asks the kernel to drop the file's cached pages.
void drop_cached(int fd);

} // namespace breakeven::tier
