#include "compute/kv_cache.hpp"

#include <algorithm>

namespace breakeven::compute {

KvCache::KvCache(const Kernels& kernels, std::int64_t kv_heads, std::int64_t stored_heads,
                 std::int64_t qk_dim, std::int64_t v_dim, std::int64_t capacity_tokens,
                 std::uint64_t seed, int threads, std::int64_t latent_width)
    : m_stored_heads(std::clamp<std::int64_t>(stored_heads, 1, kv_heads)), m_qk_dim(qk_dim),
      m_v_dim(v_dim), m_pages((capacity_tokens + page_tokens - 1) / page_tokens),
      m_k_page_bytes(page_tokens * padded(qk_dim) * bytes_of(kernels.element)),
      m_v_page_bytes(page_tokens * padded(v_dim) * bytes_of(kernels.element)),
      m_k(static_cast<std::uint64_t>(m_stored_heads * m_pages * m_k_page_bytes)),
      m_v(static_cast<std::uint64_t>(m_stored_heads * m_pages * m_v_page_bytes)),
      m_latent_row_bytes(latent_width * bytes_of(kernels.element)),
      m_latent(static_cast<std::uint64_t>(m_latent_row_bytes * capacity_tokens)) {
  const std::int64_t element_bytes = bytes_of(kernels.element);
  fill_random(kernels, m_k.data(), static_cast<std::int64_t>(m_k.size_bytes()) / element_bytes,
              seed, 1.0F, threads);
  fill_random(kernels, m_v.data(), static_cast<std::int64_t>(m_v.size_bytes()) / element_bytes,
              seed + 1, 1.0F, threads);
  fill_random(kernels, m_latent.data(), latent_width * capacity_tokens, seed + 2, 1.0F, threads);
}

std::uint64_t KvCache::bytes(Element element, std::int64_t stored_heads, std::int64_t qk_dim,
                             std::int64_t v_dim, std::int64_t capacity_tokens) {
  const std::int64_t tokens = (capacity_tokens + page_tokens - 1) / page_tokens * page_tokens;
  return static_cast<std::uint64_t>(stored_heads) * static_cast<std::uint64_t>(tokens) *
         static_cast<std::uint64_t>((padded(qk_dim) + padded(v_dim)) * bytes_of(element));
}

void KvCache::store(const Kernels& kernels, std::int64_t token, std::int64_t head, const void* k,
                    const void* v) {
  const std::int64_t page = token / page_tokens, slot = token % page_tokens;
  kernels.store_k(k, k_head(head) + page * m_k_page_bytes, slot, m_qk_dim);
  kernels.store_v(v, v_head(head) + page * m_v_page_bytes, slot, m_v_dim, padded(m_v_dim));
}

void KvCache::store_split(const Kernels& kernels, std::int64_t token, std::int64_t head,
                          const void* k_low, std::int64_t low_dim, const void* k_high,
                          std::int64_t high_dim, const void* v) {
  const std::int64_t page = token / page_tokens, slot = token % page_tokens;
  std::byte* k_page = k_head(head) + page * m_k_page_bytes;
  kernels.store_k(k_low, k_page, slot, low_dim);
  kernels.store_k(k_high, k_page + low_dim * page_tokens * bytes_of(kernels.element), slot,
                  high_dim);
  kernels.store_v(v, v_head(head) + page * m_v_page_bytes, slot, m_v_dim, padded(m_v_dim));
}

void fill_random(const Kernels& kernels, void* data, std::int64_t n, std::uint64_t seed,
                 float amplitude, int threads) {
  constexpr std::int64_t piece = 1 << 18;
  auto* bytes = static_cast<std::byte*>(data);
  const std::int64_t element_bytes = bytes_of(kernels.element);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t first = 0; first < n; first += piece)
    kernels.fill(bytes + first * element_bytes, std::min(piece, n - first), seed,
                 static_cast<std::uint64_t>(first), amplitude);
}

} // namespace breakeven::compute
