#pragma once

#include "compute/buffer.hpp"
#include "compute/kernels.hpp"

#include <cstdint>

namespace breakeven::compute {

/// K and V of one layer in pages of 32 tokens, head by head, in the layout that the kernels read
/// (see AttentionTile): packing is part of the KV write of new tokens, as in engines that keep a
/// blocked CPU cache, so attention reads the cache as it lies.
class KvCache {
public:
  /// Filled with random values. `latent_width`: elements per token of a latent kept beside the
  /// pages (MLA), whose pages then hold the keys and values of a few heads at a time.
  /// `stored_heads` < `kv_heads`: heads share storage in turn, which saves memory and leaves the
  /// work as it is.
  KvCache(const Kernels& kernels, std::int64_t kv_heads, std::int64_t stored_heads,
          std::int64_t qk_dim, std::int64_t v_dim, std::int64_t capacity_tokens, std::uint64_t seed,
          int threads, std::int64_t latent_width = 0);

  [[nodiscard]] static std::uint64_t bytes(Element element, std::int64_t stored_heads,
                                           std::int64_t qk_dim, std::int64_t v_dim,
                                           std::int64_t capacity_tokens);
  /// Smallest multiple of 32 that holds `dim` elements.
  [[nodiscard]] static std::int64_t padded(std::int64_t dim) { return (dim + 31) / 32 * 32; }

  [[nodiscard]] std::byte* k_head(std::int64_t head) const {
    return m_k.data() + head % m_stored_heads * m_pages * m_k_page_bytes;
  }
  [[nodiscard]] std::byte* v_head(std::int64_t head) const {
    return m_v.data() + head % m_stored_heads * m_pages * m_v_page_bytes;
  }
  [[nodiscard]] std::int64_t k_page_bytes() const { return m_k_page_bytes; }
  [[nodiscard]] std::int64_t v_page_bytes() const { return m_v_page_bytes; }
  [[nodiscard]] std::int64_t capacity_tokens() const { return m_pages * page_tokens; }

  /// Writes the head vectors k[qk_dim] and v[v_dim] of `token`.
  void store(const Kernels& kernels, std::int64_t token, std::int64_t head, const void* k,
             const void* v);

  /// As store(), with the key in two parts, of `low_dim` and `high_dim` elements.
  void store_split(const Kernels& kernels, std::int64_t token, std::int64_t head, const void* k_low,
                   std::int64_t low_dim, const void* k_high, std::int64_t high_dim, const void* v);

  /// latent_width elements of one token.
  [[nodiscard]] std::byte* latent_row(std::int64_t token) const {
    return m_latent.data() + token * m_latent_row_bytes;
  }

private:
  std::int64_t m_stored_heads, m_qk_dim, m_v_dim, m_pages;
  std::int64_t m_k_page_bytes, m_v_page_bytes;
  Buffer m_k, m_v;
  std::int64_t m_latent_row_bytes;
  Buffer m_latent;
};

/// Fills `n` elements with random values on `threads` threads; the values depend on the seed only.
void fill_random(const Kernels& kernels, void* data, std::int64_t n, std::uint64_t seed,
                 float amplitude, int threads);

inline std::int64_t bytes_of(Element element) {
  return element == Element::bf16 ? 2 : 4;
}

} // namespace breakeven::compute
