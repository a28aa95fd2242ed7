#include "cuda/kernels/scan.hpp"

#include "cuda/kernels/rows.cuh"

#include <mma.h>

namespace breakeven::cuda {
namespace {

constexpr int chunk = 64;   ///< tokens at a time
constexpr int columns = 64; ///< value columns of one block
constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr float epsilon = 1e-5F;

__device__ float silu(float x) {
  return x / (1.0F + __expf(-x));
}

/// Causal depthwise convolution and SiLU; one thread per 8 columns of a token.
__global__ void convolve_kernel(const bf16* x, std::int64_t stride, const bf16* taps, int tap_count,
                                bf16* out, std::int64_t count, int row_words) {
  const std::int64_t at = thread_index();
  if (at >= count) return;
  const std::int64_t token = at / row_words, word = at % row_words;
  float sum[8] = {}, a[8], w[8];
  if (taps == nullptr) {
    unpack(words(x + token * stride)[word], sum);
  } else {
    for (int tap = 0; tap < tap_count && tap <= token; ++tap) {
      unpack(words(x + (token - tap) * stride)[word], a);
      unpack(words(taps)[static_cast<std::int64_t>(tap) * row_words + word], w);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        sum[i] += a[i] * w[i];
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    sum[i] = silu(sum[i]);
  words(out)[at] = pack_eight(sum);
}

/// out[M][N] (+)= a[M][K] * b[K][N] over the block's warps, bf16 in, fp32 out, all in shared
/// memory. `ATransposed`: a is stored [K][M]; `BTransposed`: b is stored [N][K].
template <bool ATransposed, bool BTransposed>
__device__ void product(const bf16* a, int a_stride, const bf16* b, int b_stride, float* out,
                        int out_stride, int m_tiles, int n_tiles, int k_tiles, bool add) {
  using namespace nvcuda;
  using ALayout = std::conditional_t<ATransposed, wmma::col_major, wmma::row_major>;
  using BLayout = std::conditional_t<BTransposed, wmma::col_major, wmma::row_major>;
  for (int tile = static_cast<int>(threadIdx.x) / 32; tile < m_tiles * n_tiles; tile += warps) {
    const int m = tile / n_tiles * 16, n = tile % n_tiles * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    if (add)
      wmma::load_matrix_sync(sum, out + m * out_stride + n, static_cast<unsigned>(out_stride),
                             wmma::mem_row_major);
    else
      wmma::fill_fragment(sum, 0.0F);
    for (int k = 0; k < k_tiles * 16; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, ALayout> fa;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, BLayout> fb;
      wmma::load_matrix_sync(fa, a + (ATransposed ? k * a_stride + m : m * a_stride + k),
                             static_cast<unsigned>(a_stride));
      wmma::load_matrix_sync(fb, b + (BTransposed ? n * b_stride + k : k * b_stride + n),
                             static_cast<unsigned>(b_stride));
      wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(out + m * out_stride + n, sum, static_cast<unsigned>(out_stride),
                            wmma::mem_row_major);
  }
}

/// Shared memory of one block; strides padded against bank conflicts.
struct ScanShared {
  bf16 *q, *k, *v, *written, *weights, *state_half;
  float *scores, *products, *state, *decay, *beta;
  int key_stride;
  static constexpr int value_stride = columns + 8;
  static constexpr int score_stride = chunk + 8;
  __host__ __device__ static std::size_t bytes(int state_dim) {
    const auto d = static_cast<std::size_t>(state_dim);
    return 2 * (2 * chunk * (d + 8) + 2 * chunk * value_stride + chunk * score_stride +
                d * value_stride) +
           4 * (chunk * score_stride + chunk * value_stride + d * value_stride + 2 * chunk);
  }
  __device__ ScanShared(unsigned char* memory, int state_dim) : key_stride(state_dim + 8) {
    auto* half = reinterpret_cast<bf16*>(memory);
    const auto take = [&half](int n) {
      half += n;
      return half - n;
    };
    q = take(chunk * key_stride);
    k = take(chunk * key_stride);
    v = take(chunk * value_stride);
    written = take(chunk * value_stride);
    weights = take(chunk * score_stride);
    state_half = take(state_dim * value_stride);
    scores = reinterpret_cast<float*>(half);
    products = scores + chunk * score_stride;
    state = products + chunk * value_stride;
    decay = state + state_dim * value_stride;
    beta = decay + chunk;
  }
};

/// q, k and v of one chunk, and its decays; rows beyond the last token are zero with decay 1.
__device__ void load_chunk(const ScanCall& call, const ScanShared& s, int head, int first_column,
                           std::int64_t first, int rows) {
  const int key_head = head * call.key_heads / call.heads, dk = call.state_dim;
  const auto* convolved = static_cast<const bf16*>(call.convolved);
  const float size = rsqrtf(static_cast<float>(dk)); // keeps |k|^2 below 1
  for (int i = static_cast<int>(threadIdx.x); i < chunk * dk; i += threads) {
    const int row = i / dk, d = i % dk;
    float q = 0, k = 0;
    if (row < rows) {
      const bf16* x = convolved + (first + row) * call.convolved_width + key_head * dk + d;
      q = __bfloat162float(x[0]) * size;
      k = __bfloat162float(x[call.k_column]) * size;
    }
    s.q[row * s.key_stride + d] = __float2bfloat16(q);
    s.k[row * s.key_stride + d] = __float2bfloat16(k);
  }
  for (int i = static_cast<int>(threadIdx.x); i < chunk * columns; i += threads) {
    const int row = i / columns, d = i % columns;
    const bool inside = row < rows && first_column + d < call.head_dim;
    s.v[row * ScanShared::value_stride + d] =
        inside ? convolved[(first + row) * call.convolved_width + call.v_column +
                           head * call.head_dim + first_column + d]
               : __float2bfloat16(0.0F);
  }
  if (threadIdx.x < chunk) {
    const auto row = static_cast<int>(threadIdx.x);
    float decay = 0, beta = 0;
    if (row < rows) {
      const bf16* x = static_cast<const bf16*>(call.projected) + (first + row) * call.total;
      decay = -log1pf(__expf(__bfloat162float(x[call.decay_column + head])));
      beta =
          call.delta ? 1.0F / (1.0F + __expf(__bfloat162float(x[call.beta_column + head]))) : 1.0F;
    }
    s.decay[row] = decay;
    s.beta[row] = beta;
  }
  __syncthreads();
  if (threadIdx.x == 0) // logarithm of the decay since the chunk's start
    for (int i = 1; i < chunk; ++i)
      s.decay[i] += s.decay[i - 1];
  __syncthreads();
}

/// What each row writes: beta v, and with the delta rule less what the state and the earlier rows
/// of the chunk already hold for its key.
__device__ void write_values(const ScanCall& call, const ScanShared& s) {
  constexpr int vs = ScanShared::value_stride, ss = ScanShared::score_stride;
  const int k_tiles = call.state_dim / 16;
  if (!call.delta) {
    for (int i = static_cast<int>(threadIdx.x); i < chunk * columns; i += threads)
      s.written[i / columns * vs + i % columns] = s.v[i / columns * vs + i % columns];
    __syncthreads();
    return;
  }
  product<false, false>(s.k, s.key_stride, s.state_half, vs, s.products, vs, chunk / 16,
                        columns / 16, k_tiles, false);
  product<false, true>(s.k, s.key_stride, s.k, s.key_stride, s.scores, ss, chunk / 16, chunk / 16,
                       k_tiles, false);
  __syncthreads();
  // Row i holds beta v - (what earlier rows wrote) . a[i]; a is kept in `scores`.
  for (int i = static_cast<int>(threadIdx.x); i < chunk * chunk; i += threads) {
    const int row = i / chunk, column = i % chunk;
    float& a = s.scores[row * ss + column];
    a = column < row ? s.beta[row] * a * __expf(s.decay[row] - s.decay[column]) : 0.0F;
  }
  for (int i = static_cast<int>(threadIdx.x); i < chunk * columns; i += threads) {
    const int row = i / columns, at = row * vs + i % columns;
    s.products[at] =
        s.beta[row] * (__bfloat162float(s.v[at]) - __expf(s.decay[row]) * s.products[at]);
  }
  __syncthreads();
  // Forward substitution, one thread per value column, the column in registers.
  if (threadIdx.x < columns) {
    const auto d = static_cast<int>(threadIdx.x);
    float x[chunk] = {};
#pragma unroll
    for (int i = 0; i < chunk; ++i) {
      float value = s.products[i * vs + d];
#pragma unroll
      for (int j = 0; j < i; j += 4) {
        const float4 a = *reinterpret_cast<const float4*>(s.scores + i * ss + j);
        value -= a.x * x[j] + a.y * x[j + 1] + a.z * x[j + 2] + a.w * x[j + 3];
      }
      x[i] = value;
      s.written[i * vs + d] = __float2bfloat16(value);
    }
  }
  __syncthreads();
}

/// Output of the chunk's rows into `products`, and the state after it.
__device__ void advance_chunk(const ScanCall& call, const ScanShared& s) {
  constexpr int vs = ScanShared::value_stride, ss = ScanShared::score_stride;
  const int k_tiles = call.state_dim / 16;
  product<false, true>(s.q, s.key_stride, s.k, s.key_stride, s.scores, ss, chunk / 16, chunk / 16,
                       k_tiles, false);
  product<false, false>(s.q, s.key_stride, s.state_half, vs, s.products, vs, chunk / 16,
                        columns / 16, k_tiles, false);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < chunk * chunk; i += threads) {
    const int row = i / chunk, column = i % chunk;
    const float x =
        column <= row ? s.scores[row * ss + column] * __expf(s.decay[row] - s.decay[column]) : 0.0F;
    s.weights[row * ss + column] = __float2bfloat16(x);
  }
  for (int i = static_cast<int>(threadIdx.x); i < chunk * columns; i += threads)
    s.products[i / columns * vs + i % columns] *= __expf(s.decay[i / columns]);
  const float last = s.decay[chunk - 1];
  for (int i = static_cast<int>(threadIdx.x); i < call.state_dim * columns; i += threads)
    s.state[i / columns * vs + i % columns] *= __expf(last);
  __syncthreads();
  product<false, false>(s.weights, ss, s.written, vs, s.products, vs, chunk / 16, columns / 16,
                        chunk / 16, true);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < chunk * columns; i += threads) {
    bf16& x = s.written[i / columns * vs + i % columns];
    x = __float2bfloat16(__bfloat162float(x) * __expf(last - s.decay[i / columns]));
  }
  __syncthreads();
  product<true, false>(s.k, s.key_stride, s.written, vs, s.state, vs, k_tiles, columns / 16,
                       chunk / 16, true);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < call.state_dim * columns; i += threads)
    s.state_half[i / columns * vs + i % columns] =
        __float2bfloat16(s.state[i / columns * vs + i % columns]);
}

__global__ void __launch_bounds__(threads) scan_kernel(const __grid_constant__ ScanCall call) {
  extern __shared__ __align__(128) unsigned char memory[];
  const ScanShared s(memory, call.state_dim);
  constexpr int vs = ScanShared::value_stride;
  const auto head = static_cast<int>(blockIdx.x);
  const int first_column = static_cast<int>(blockIdx.y) * columns;
  for (int i = static_cast<int>(threadIdx.x); i < call.state_dim * vs; i += threads) {
    s.state[i] = 0;
    s.state_half[i] = __float2bfloat16(0.0F);
  }
  for (std::int64_t first = 0; first < call.tokens; first += chunk) {
    const auto rows = static_cast<int>(min(static_cast<std::int64_t>(chunk), call.tokens - first));
    __syncthreads();
    load_chunk(call, s, head, first_column, first, rows);
    write_values(call, s);
    advance_chunk(call, s);
    for (int i = static_cast<int>(threadIdx.x); i < rows * columns; i += threads) {
      const int row = i / columns, d = first_column + i % columns;
      if (d < call.head_dim)
        static_cast<bf16*>(call.out)[((first + row) * call.heads + head) * call.head_dim + d] =
            __float2bfloat16(s.products[row * vs + i % columns]);
    }
  }
}

/// RMSNorm per head, times SiLU of the gate; one warp per head of a token.
__global__ void gated_norm_kernel(const __grid_constant__ ScanCall call) {
  const std::int64_t at = thread_index() / 32;
  if (at >= call.tokens * call.heads) return;
  const int lane = static_cast<int>(threadIdx.x) % 32, dim = call.head_dim;
  const std::int64_t token = at / call.heads, head = at % call.heads;
  bf16* x = static_cast<bf16*>(call.out) + at * dim;
  const bf16* z =
      static_cast<const bf16*>(call.projected) + token * call.total + call.z_column + head * dim;
  float squares = 0;
  for (int i = lane; i < dim; i += 32)
    squares += __bfloat162float(x[i]) * __bfloat162float(x[i]);
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    squares += __shfl_xor_sync(0xffffffffU, squares, step);
  const float scale = rsqrtf(squares / static_cast<float>(dim) + epsilon);
  const auto* weight = static_cast<const bf16*>(call.norm);
  for (int i = lane; i < dim; i += 32)
    x[i] = __float2bfloat16(__bfloat162float(x[i]) * scale * __bfloat162float(weight[i]) *
                            silu(__bfloat162float(z[i])));
}

} // namespace

std::string scan_unsupported_reason(int head_dim, int state_dim,
                                    std::uint64_t shared_bytes_per_block) {
  if (state_dim < 16 || state_dim % 16 != 0 || head_dim < 8 || head_dim % 8 != 0)
    return "a recurrent state of " + std::to_string(state_dim) + " x " + std::to_string(head_dim) +
           " elements a head";
  if (ScanShared::bytes(state_dim) > shared_bytes_per_block)
    return "a recurrent state of " + std::to_string(state_dim) + " rows a head, which needs " +
           std::to_string((ScanShared::bytes(state_dim) + 1023) / 1024) +
           " KiB of shared memory to a block,";
  return "";
}

void scan(const ScanCall& call) {
  const std::int64_t count = call.tokens * call.convolved_width / 8;
  launch(convolve_kernel, word_threads(count, call.stream),
         static_cast<const bf16*>(call.projected), call.total,
         static_cast<const bf16*>(call.convolution), call.taps, static_cast<bf16*>(call.convolved),
         count, static_cast<int>(call.convolved_width / 8));
  LaunchShape shape;
  shape.grid = dim3(static_cast<unsigned>(call.heads),
                    static_cast<unsigned>((call.head_dim + columns - 1) / columns));
  shape.block = dim3(threads);
  shape.shared_bytes = ScanShared::bytes(call.state_dim);
  shape.stream = call.stream;
  check(calls().func_set_attribute(reinterpret_cast<const void*>(scan_kernel),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shape.shared_bytes)),
        "preparing the scan kernel");
  launch(scan_kernel, shape, call);
  launch(gated_norm_kernel, word_threads(call.tokens * call.heads * 32, call.stream), call);
}

} // namespace breakeven::cuda
