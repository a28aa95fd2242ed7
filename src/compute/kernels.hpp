#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The inner loops, one table per (element type, instruction set). Tables are plain function
/// pointers, so that one binary runs anywhere and picks at run time what the CPU has.
///
/// This header is included by files compiled for newer instruction sets: it must define no inline
/// function, or the linker could keep a copy that an older CPU cannot run.
namespace breakeven::compute {

enum class Element { fp32, bf16 };
enum class RowActivation { silu, gelu, relu2 };

/// Tokens of one page of the KV cache.
inline constexpr std::int64_t page_tokens = 32;
/// Keys whose scores a tile holds at a time, and the most query rows of a tile.
inline constexpr std::int64_t key_block = 256;
inline constexpr std::int64_t max_tile_rows = 128;

/// Some query rows of one KV head against its keys, by online softmax (flash attention,
/// arXiv:2205.14135): the score matrix exists only `key_block` columns at a time.
///
/// Pages hold 32 tokens, laid out as matrix units want them. With pair = 2 for bf16, 1 for fp32:
///   K page [qk_padded / pair][32][pair], V page [32 / pair][v_padded][pair].
/// Padding elements and the unused tokens of the last page must be finite.
struct AttentionTile {
  const void* q = nullptr; ///< [rows rounded up to 32][qk_padded], 64-byte aligned
  std::int64_t rows = 0;   ///< at most max_tile_rows
  const std::byte* k = nullptr;
  const std::byte* v = nullptr;
  std::int64_t k_page_bytes = 0; ///< size of a page; the pages of a head follow without a gap
  std::int64_t v_page_bytes = 0;
  std::int64_t qk_padded = 0;              ///< multiple of 32
  std::int64_t v_padded = 0;               ///< multiple of 32
  std::int64_t v_dim = 0;                  ///< elements written per row
  const std::int64_t* key_begin = nullptr; ///< per row: first visible key
  const std::int64_t* key_end = nullptr;   ///< per row: one past the last; more than key_begin
  float scale = 1;                         ///< of the scores, before softmax
  void* const* out = nullptr;              ///< per row: v_dim elements

  // Scratch of the calling thread, 64-byte aligned
  float* scores = nullptr;       ///< [max_tile_rows][key_block]
  void* probabilities = nullptr; ///< [max_tile_rows][key_block]
  float* accumulator = nullptr;  ///< [max_tile_rows][v_padded]
  float* row_max = nullptr;      ///< [max_tile_rows]
  float* row_sum = nullptr;      ///< [max_tile_rows]
  float* row_scale = nullptr;    ///< [max_tile_rows]
};

/// All pointers are to `element` values unless typed; `n` counts elements.
struct Kernels {
  const char* name; ///< "avx512_bf16", "avx2", ...
  Element element;

  /// out = x / sqrt(mean(x^2) + epsilon) * weight
  void (*rms_norm)(const void* x, const void* weight, void* out, std::int64_t n, float epsilon);
  /// accumulator += x
  void (*add)(const void* x, void* accumulator, std::int64_t n);
  /// accumulator += factor * x
  void (*add_scaled)(const void* x, float factor, void* accumulator, std::int64_t n);
  /// out = activation(gate) * up
  void (*gated)(const void* gate, const void* up, void* out, std::int64_t n, RowActivation);
  void (*activate)(const void* x, void* out, std::int64_t n, RowActivation);
  /// Rotates halves (x[i], x[i + n/2]) by angle i; cos_sin holds n/2 cosines, then n/2 sines.
  void (*rope)(void* x, const float* cos_sin, std::int64_t n);
  float (*dot)(const void* a, const void* b, std::int64_t n);
  /// Uniform in (-amplitude, amplitude); a function of (seed, first + i) alone.
  void (*fill)(void* out, std::int64_t n, std::uint64_t seed, std::uint64_t first, float amplitude);
  /// Writes one token's head into its page; `token` counts within the page.
  void (*store_k)(const void* head, std::byte* page, std::int64_t token, std::int64_t dim);
  void (*store_v)(const void* head, std::byte* page, std::int64_t token, std::int64_t dim,
                  std::int64_t v_padded);
  /// Causal depthwise convolution and SiLU of one token: out[i] = silu(sum over tap of
  /// weights[tap][i] * x[i - tap * stride]), for `taps` taps; weights null: out = silu(x).
  void (*convolve)(const void* x, std::int64_t stride, const void* weights, std::int64_t taps,
                   float* out, std::int64_t n);
  /// c[m][n] (+)= a[m][k] * b[k][n] in fp32; n a multiple of 32, b and c 64-byte aligned.
  void (*matmul)(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                 float* c, std::int64_t c_stride, std::int64_t m, std::int64_t n, std::int64_t k,
                 bool accumulate);
  void (*attend)(const AttentionTile&);
};

/// Tables whose instructions this process may execute and whose attention agreed with a scalar
/// reference when tried (once per process), best first. Never empty for fp32.
const std::vector<const Kernels*>& usable_kernels(Element element);

/// Why a table that the CPU claims to support was left out, one sentence each.
const std::vector<std::string>& rejected_kernels();

/// Largest difference to the reference, relative to the largest value, of one self-check.
double attention_self_check(const Kernels& kernels);

} // namespace breakeven::compute
