#include "cuda/attention/flash_attention.hpp"

#include "cuda/attention/flash_kernel.cuh"
#include "cuda/kernels/launch.hpp"
#include "support/error.hpp"

#include <algorithm>
#include <array>

namespace breakeven::cuda {

template <int QK, int V, int WarpRows, int Keys>
void launch_flash(const FlashParameters& parameters); // flash_launch.cuh, one file per instance

namespace {

struct Instance {
  FlashInstance size;
  void (*launch)(const FlashParameters&);
};

template <int QK, int V, int WarpRows, int Keys>
constexpr Instance instance() {
  return {{QK, V, WarpRows * 4, Keys}, launch_flash<QK, V, WarpRows, Keys>};
}

const std::array<Instance, 4>& instances() {
  static const std::array<Instance, 4> table{
      instance<64, 64, 32, 64>(), instance<128, 128, 32, 48>(), instance<192, 128, 32, 48>(),
      instance<256, 256, 16, 64>()};
  return table;
}

const Instance* find_instance(int qk_dim, int v_dim) {
  if (qk_dim % 8 != 0 || v_dim % 8 != 0) return nullptr;
  for (const Instance& row : instances())
    if (row.size.qk >= qk_dim && row.size.v >= v_dim) return &row;
  return nullptr;
}

/// One block per query and head, one thread per output element: adds up the splits, each brought
/// to the common maximum.
__global__ void combine_kernel(const __grid_constant__ FlashParameters p) {
  const AttentionCall& call = p.call;
  const int query = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
  const std::int64_t stride = static_cast<std::int64_t>(call.mask.queries) * call.heads;
  const std::int64_t at = static_cast<std::int64_t>(query) * call.heads + head;
  SoftmaxRow total;
  for (int split = 0; split < p.splits; ++split) {
    const float2 part = p.softmax[at + split * stride];
    if (part.y > 0) raise_max(total, part.x, p.scale_log2);
  }
  const float bias = exponent_bias(total, p.scale_log2);
  float sum = 0, value = 0;
  const int column = static_cast<int>(threadIdx.x);
  for (int split = 0; split < p.splits; ++split) {
    const float2 part = p.softmax[at + split * stride];
    if (!(part.y > 0)) continue;
    const float weight = exp2f(part.x * p.scale_log2 - bias);
    sum += part.y * weight;
    value += weight * p.partial[(at + split * stride) * call.v_dim + column];
  }
  bf16* out = static_cast<bf16*>(call.out) + query * call.out_token + head * call.out_head;
  out[column] = __float2bfloat16(value * normaliser(sum));
}

} // namespace

FlashInstance flash_instance(int qk_dim, int v_dim) {
  const Instance* row = find_instance(qk_dim, v_dim);
  return row != nullptr ? row->size : FlashInstance{};
}

int flash_splits(const AttentionCall& call, int multiprocessors) {
  const FlashInstance size = flash_instance(call.qk_dim, call.v_dim);
  if (size.qk == 0 || call.mask.queries == 0) return 1;
  const int blocks = (call.mask.queries + size.rows - 1) / size.rows * call.heads;
  const TileRange last =
      tiles_for(call.mask, (call.mask.queries - 1) / size.rows * size.rows, size.rows, size.keys);
  // Splits cost a pass over fp32 partial outputs: only where less than one block per
  // multiprocessor is there, and with at least eight tiles each.
  const int wanted = 2 * multiprocessors / std::max(blocks, 1);
  const int possible = (last.end - last.begin) / 8;
  return blocks >= multiprocessors ? 1 : std::clamp(std::min(wanted, possible), 1, 64);
}

std::uint64_t flash_workspace_bytes(const AttentionCall& call, int splits) {
  if (splits <= 1) return 0;
  const auto rows = static_cast<std::uint64_t>(splits) *
                    static_cast<std::uint64_t>(call.mask.queries) *
                    static_cast<std::uint64_t>(call.heads);
  return rows * (static_cast<std::uint64_t>(call.v_dim) * sizeof(float) + sizeof(float2));
}

void flash_attention(const AttentionCall& call, int splits, void* workspace) {
  const Instance* row = find_instance(call.qk_dim, call.v_dim);
  if (row == nullptr)
    throw error(error_kind::environment,
                "the built-in attention kernel has no instance for head sizes " +
                    std::to_string(call.qk_dim) + " and " + std::to_string(call.v_dim));
  FlashParameters parameters{};
  parameters.call = call;
  parameters.scale_log2 = call.scale * 1.4426950408889634F; // log2(e)
  parameters.splits = splits;
  if (splits > 1) {
    const auto rows = static_cast<std::int64_t>(splits) * call.mask.queries * call.heads;
    parameters.softmax = static_cast<float2*>(workspace);
    parameters.partial = static_cast<float*>(workspace) + 2 * rows;
  }
  row->launch(parameters);
  if (splits > 1)
    launch(combine_kernel,
           {dim3(static_cast<unsigned>(call.mask.queries), static_cast<unsigned>(call.heads)),
            dim3(static_cast<unsigned>(call.v_dim)), 0, call.stream},
           parameters);
}

} // namespace breakeven::cuda
