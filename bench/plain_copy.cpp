// What the memory tier is compared with: the plain copy that a C++ programmer would write, all
// threads on contiguous shares of one large array, as STREAM's Copy does (McCalpin 1995), with the
// bytes copied counted once. Reads one JSON request a line, answers with the seconds of one copy:
//   {"method": "loop" | "memcpy" | "nontemporal", "bytes": 536870912}
// Successive copies go on where the last one ended in arrays of 1 GiB, so that no cache holds them.
// Usage: breakeven_plain_copy THREADS

#include <nlohmann/json.hpp>

#include <omp.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

constexpr std::size_t array_bytes = std::size_t{1} << 30;
constexpr std::size_t line_bytes = 64;

struct Free {
  void operator()(double* area) const { std::free(area); }
};
using Array = std::unique_ptr<double[], Free>;

Array make_array() {
  auto* area = static_cast<double*>(std::aligned_alloc(std::size_t{2} << 20, array_bytes));
  if (area == nullptr) throw std::bad_alloc();
  madvise(area, array_bytes, MADV_HUGEPAGE); // as the memory tier has them
  return Array(area);
}

void copy_loop(double* to, const double* from, std::size_t bytes) {
  const auto count = static_cast<std::ptrdiff_t>(bytes / sizeof(double));
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t i = 0; i < count; ++i)
    to[i] = from[i];
}

/// The share of this thread, in whole lines.
template <class Copy>
void copy_shares(double* to, const double* from, std::size_t bytes, Copy copy) {
#pragma omp parallel
  {
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const auto me = static_cast<std::size_t>(omp_get_thread_num());
    const std::size_t lines = bytes / line_bytes;
    const std::size_t begin = lines * me / threads * line_bytes;
    const std::size_t end = lines * (me + 1) / threads * line_bytes;
    copy(reinterpret_cast<char*>(to) + begin, reinterpret_cast<const char*>(from) + begin,
         end - begin);
  }
}

void copy_nontemporal(char* to, const char* from, std::size_t bytes) {
#if defined(__AVX512F__)
  for (std::size_t at = 0; at < bytes; at += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_load_si512(from + at));
  _mm_sfence();
#elif defined(__AVX__)
  for (std::size_t at = 0; at < bytes; at += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + at)));
  _mm_sfence();
#elif defined(__SSE2__)
  for (std::size_t at = 0; at < bytes; at += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + at)));
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

class PlainCopy {
public:
  PlainCopy() : m_from(make_array()), m_to(make_array()) {
    const auto count = static_cast<std::ptrdiff_t>(array_bytes / sizeof(double));
    // Each thread touches what it will copy, so that pages lie on its NUMA node.
#pragma omp parallel for schedule(static)
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      m_from[static_cast<std::size_t>(i)] = static_cast<double>(i);
      m_to[static_cast<std::size_t>(i)] = 0;
    }
  }

  double run(const std::string& method, std::size_t bytes) {
    if (bytes > array_bytes || bytes % line_bytes != 0)
      throw std::invalid_argument("bytes must be whole lines, at most 1 GiB");
    if (m_next + bytes > array_bytes) m_next = 0;
    double* to = m_to.get() + m_next / sizeof(double);
    const double* from = m_from.get() + m_next / sizeof(double);
    m_next += bytes;
#pragma omp parallel
    {} // threads that sleep wake up outside the timed region
    const auto start = std::chrono::steady_clock::now();
    if (method == "loop")
      copy_loop(to, from, bytes);
    else if (method == "memcpy")
      copy_shares(to, from, bytes,
                  [](char* a, const char* b, std::size_t n) { std::memcpy(a, b, n); });
    else if (method == "nontemporal")
      copy_shares(to, from, bytes, copy_nontemporal);
    else
      throw std::invalid_argument("unknown method '" + method + "'");
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const std::size_t last = bytes / sizeof(double) - 1;
    if (to[last] != from[last]) throw std::runtime_error("the copy did not copy");
    return seconds.count();
  }

private:
  Array m_from, m_to;
  std::size_t m_next = 0;
};

} // namespace

int main(int argc, char** argv) {
  if (argc > 1) omp_set_num_threads(std::atoi(argv[1]));
  std::unique_ptr<PlainCopy> copy;
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json answer;
    try {
      const nlohmann::json request = nlohmann::json::parse(line);
      if (!copy) copy = std::make_unique<PlainCopy>();
      answer["seconds"] = copy->run(request.at("method"), request.at("bytes"));
    } catch (const std::exception& problem) {
      answer["error"] = problem.what();
    }
    std::cout << answer.dump() << std::endl;
  }
}
