#pragma once

#include "compute/attention.hpp"
#include "cuda/attention/provider.hpp"
#include "cuda/gemm/gemm.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/memory.hpp"
#include "model/architecture.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

// The layers of a model on the GPU. Every method queues work on Runtime::stream and returns; none
// waits for the device. Activations are bf16, rows are tokens.

namespace breakeven::cuda {

/// Activations, shared by all layers; sized for the largest step.
struct Workspace {
  DeviceMemory hidden;       ///< residual stream [new][hidden]
  DeviceMemory delta;        ///< output of the last mixer or MLP, not yet added to `hidden`
  DeviceMemory normed;       ///< [new][hidden]
  DeviceMemory projected;    ///< what the mixer's first GEMM makes: [new][qkv]
  DeviceMemory queries;      ///< MLA: [new][heads * qk_dim]; recurrent: convolved columns
  DeviceMemory mixed;        ///< attention's output [new][heads * v_dim]
  DeviceMemory intermediate; ///< MLP: gate and up
  DeviceMemory activated;    ///< MLP: activation(gate) * up
  DeviceMemory gathered;     ///< MoE: rows by expert
  DeviceMemory results;      ///< MoE: their outputs
  DeviceMemory router;       ///< MoE: router logits
  DeviceMemory quantised;    ///< fp8: activations of one GEMM
  DeviceMemory expanded;     ///< MLA: keys and values made from latents
  DeviceMemory keys;         ///< MLA: assembled keys
  DeviceMemory attention;    ///< the attention provider's own
  /// Of the pass in hand, by number of rotated elements: see rope_table().
  std::map<std::int64_t, DeviceMemory> rope;
};

/// Elements per token (bytes where said) that a layer needs of each buffer.
struct WorkspaceNeeds {
  std::int64_t projected = 0, queries = 0, mixed = 0, intermediate = 0, activated = 0;
  std::int64_t gathered = 0, router = 0;
  std::int64_t widest_input = 0;       ///< largest k of a GEMM over new tokens
  std::int64_t widest_latent = 0;      ///< of a GEMM over held tokens
  std::int64_t expanded = 0, keys = 0; ///< per held token, see latent_head_group()
  std::int64_t rope_dim = 0;
  void cover(const WorkspaceNeeds& other);
};

/// Which tokens each expert gets, on the device, rows sorted by expert.
struct DeviceRouting {
  std::vector<std::int64_t> first; ///< experts + 1 offsets of rows
  DeviceMemory rows_of;            ///< token of each row
  DeviceMemory places;             ///< rows of each token
};

/// What every layer computes with.
struct Runtime {
  CudaDevice device;
  cudaStream_t stream = nullptr;
  Gemm* gemm = nullptr;
  AttentionProvider* attention = nullptr;
  Workspace* workspace = nullptr;
  bool fp8 = false; ///< linear layers in e4m3
  double expert_skew = 0;
  /// By experts, experts per token and tokens.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, DeviceRouting>* routings = nullptr;
};

/// One forward pass: `tokens` new tokens after `context` cached ones.
struct Pass {
  std::int64_t context = 0;
  std::int64_t tokens = 0;
};

/// `count` random [n][k] weight matrices of one shape, uniform with variance 1/k.
class Linear {
public:
  struct Shape {
    std::int64_t k = 0, n = 0;
    bool bias = false;
    std::int64_t count = 1;
    bool full_precision = false; ///< stays bf16 in fp8 models (routers)
  };
  Linear() = default;
  Linear(const Runtime& runtime, const Shape& shape, std::uint64_t seed);
  /// out[rows][n] = x[rows][k] * w[index]^T + bias
  void run(const Runtime& runtime, const void* x, std::int64_t rows, void* out,
           std::int64_t x_stride = 0, std::int64_t index = 0) const;
  [[nodiscard]] const Shape& shape() const { return m_shape; }

private:
  Shape m_shape;
  bool m_fp8 = false;
  DeviceMemory m_weights, m_bias, m_scales;
};

/// K and V of one layer, [tokens][kv_heads][dim] each; MLA: one latent row per token.
struct KvCache {
  DeviceMemory k, v, latent;
};

/// Mixes tokens with each other: attention, or a recurrent scan in before(). The cache is null
/// where the layer does not attend.
class Mixer {
public:
  virtual ~Mixer() = default;
  /// From `normed`: projections, norms, RoPE, KV write.
  virtual void before(const Pass& pass, KvCache* cache) = 0;
  /// Attention of the queries that before() left over the cache, into `mixed`.
  virtual void attend(const Pass& pass, KvCache* cache) = 0;
  /// Output projection of `mixed` into `delta`.
  virtual void after(const Pass& pass) = 0;
};

class Mlp {
public:
  virtual ~Mlp() = default;
  /// Reads `normed`, writes `delta`.
  virtual void run(const Pass& pass) = 0;
};

/// One decoder layer with weights of its own.
class Layer {
public:
  Layer(const Runtime& runtime, const model::LayerKind& kind, std::int64_t hidden,
        std::int64_t stored_experts, std::uint64_t seed);
  /// norm -> mixer [-> attention] -> residual -> norm -> MLP; the last residual is left in `delta`.
  void run(const Pass& pass, KvCache* cache, bool with_attention);
  [[nodiscard]] Mixer* mixer() { return m_mixer.get(); }

private:
  void norm(const Pass& pass, const DeviceMemory& weight);
  Runtime m_runtime;
  std::int64_t m_hidden;
  DeviceMemory m_mixer_norm, m_mlp_norm;
  std::unique_ptr<Mixer> m_mixer;
  std::unique_ptr<Mlp> m_mlp;
};

/// Random values about 1, for norms.
DeviceMemory random_norm(const Runtime& runtime, std::int64_t n, std::uint64_t seed);

KvCache make_cache(const Runtime& runtime, const model::LayerKind& kind, std::int64_t tokens,
                   std::uint64_t seed);

WorkspaceNeeds workspace_needs(const model::LayerKind& kind, std::int64_t hidden);

/// Heads of MLA whose keys and values are expanded at a time.
std::int64_t latent_head_group(const model::AttentionSpec& spec);

/// Empty when this back end can run the kind, else what it lacks.
std::string unsupported_reason(const model::LayerKind& kind, const CudaDevice& device,
                               const AttentionProvider& attention);

/// Bytes of rows of bf16 elements.
inline std::uint64_t bf16_bytes(std::int64_t elements, std::int64_t rows) {
  return 2 * static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(rows);
}

/// Rows of 16-byte words: what a recurrent layer's input projection makes, rounded up.
inline std::int64_t padded_columns(std::int64_t columns) {
  return (columns + 7) / 8 * 8;
}

std::unique_ptr<Mixer> make_attention_mixer(const Runtime&, const model::LayerKind&,
                                            std::int64_t hidden, std::uint64_t seed);
std::unique_ptr<Mixer> make_latent_mixer(const Runtime&, const model::LayerKind&,
                                         std::int64_t hidden, std::uint64_t seed);
std::unique_ptr<Mixer> make_scan_mixer(const Runtime&, const model::LayerKind&, std::int64_t hidden,
                                       std::uint64_t seed);
std::unique_ptr<Mlp> make_mlp(const Runtime&, const model::LayerKind&, std::int64_t hidden,
                              std::int64_t stored_experts, std::uint64_t seed);

/// The attention of one sequence at `pass`, addresses left out.
AttentionCall attention_call(const Runtime& runtime, const compute::AttentionShape& shape,
                             const Pass& pass);

} // namespace breakeven::cuda
