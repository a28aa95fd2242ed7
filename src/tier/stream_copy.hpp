#pragma once

#include <cstddef>

namespace breakeven::tier {

/// memcpy for data that will not be read soon: stores go past the caches, which saves reading the
/// destination's lines first. The areas must not overlap. Every store is visible to other threads
/// after whatever synchronisation follows.
void stream_copy(std::byte* destination, const std::byte* source, std::size_t bytes);

/// "AVX-512 streaming stores", ...: what stream_copy uses on this CPU.
const char* stream_copy_method();

} // namespace breakeven::tier
