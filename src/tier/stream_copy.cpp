#include "tier/stream_copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace breakeven::tier {
namespace {

#if defined(__x86_64__)
constexpr std::size_t line_bytes = 64;
/// Two pages are copied side by side: the prefetchers follow one stream per page, and one stream
/// alone leaves a core short of outstanding reads.
constexpr std::size_t page_bytes = 4096;

__attribute__((target("avx512f"))) void copy_lines_avx512(std::byte* to, const std::byte* from,
                                                          std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i, to += line_bytes, from += line_bytes)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
}

__attribute__((target("avx512f"))) void copy_pages_avx512(std::byte* to, const std::byte* from,
                                                          std::size_t pairs) {
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    for (std::size_t at = 0; at < page_bytes; at += line_bytes) {
      const __m512i a = _mm512_loadu_si512(from + at);
      const __m512i b = _mm512_loadu_si512(from + page_bytes + at);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), a);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + page_bytes + at), b);
    }
    to += 2 * page_bytes;
    from += 2 * page_bytes;
  }
}

__attribute__((target("avx2"))) void copy_lines_avx2(std::byte* to, const std::byte* from,
                                                     std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i, to += line_bytes, from += line_bytes) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 32), b);
  }
}

void copy_lines_sse2(std::byte* to, const std::byte* from, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i, to += line_bytes, from += line_bytes)
    for (std::size_t at = 0; at < line_bytes; at += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
}

enum class Method { sse2, avx2, avx512 };
Method method() {
  static const Method chosen = __builtin_cpu_supports("avx512f") ? Method::avx512
                               : __builtin_cpu_supports("avx2")  ? Method::avx2
                                                                 : Method::sse2;
  return chosen;
}

void copy_lines(std::byte* to, const std::byte* from, std::size_t lines) {
  switch (method()) {
  case Method::avx512: {
    const std::size_t pairs = lines * line_bytes / (2 * page_bytes);
    copy_pages_avx512(to, from, pairs);
    const std::size_t done = pairs * 2 * page_bytes;
    return copy_lines_avx512(to + done, from + done, lines - done / line_bytes);
  }
  case Method::avx2:
    return copy_lines_avx2(to, from, lines);
  case Method::sse2:
    return copy_lines_sse2(to, from, lines);
  }
}
#endif

} // namespace

void stream_copy(std::byte* destination, const std::byte* source, std::size_t bytes) {
#if defined(__x86_64__)
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(destination) % line_bytes;
  const std::size_t head = misaligned == 0 ? 0 : line_bytes - misaligned;
  if (bytes > head + line_bytes) {
    std::memcpy(destination, source, head);
    const std::size_t lines = (bytes - head) / line_bytes;
    copy_lines(destination + head, source + head, lines);
    _mm_sfence(); // streaming stores are not ordered with what publishes them
    const std::size_t done = head + lines * line_bytes;
    std::memcpy(destination + done, source + done, bytes - done);
    return;
  }
#endif
  std::memcpy(destination, source, bytes);
}

const char* stream_copy_method() {
#if defined(__x86_64__)
  switch (method()) {
  case Method::avx512:
    return "AVX-512 streaming stores";
  case Method::avx2:
    return "AVX2 streaming stores";
  case Method::sse2:
    return "SSE2 streaming stores";
  }
#endif
  return "memcpy";
}

} // namespace breakeven::tier
