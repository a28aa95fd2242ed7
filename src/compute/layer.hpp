#pragma once

#include "compute/attention.hpp"
#include "compute/gemm.hpp"
#include "compute/kernels.hpp"
#include "compute/kv_cache.hpp"
#include "model/architecture.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace breakeven::compute {

/// What every layer computes with.
struct Runtime {
  const Kernels* kernels = nullptr;
  GemmEngine* gemm = nullptr;
  int threads = 1;
  std::int64_t rows_hint = 1; ///< chunk_tokens: rows that weight layouts favour
  [[nodiscard]] std::int64_t element_bytes() const { return bytes_of(kernels->element); }
};

/// Activations, shared by all layers; sized for the largest step. Rows are tokens.
struct Workspace {
  Buffer hidden;       ///< residual stream [new][hidden]
  Buffer normed;       ///< [new][hidden]
  Buffer projected;    ///< what the mixer's first GEMM makes: [new][qkv]
  Buffer mixed;        ///< what attention or the scan makes: [new][heads * v_dim]
  Buffer intermediate; ///< MLP: gate and up
  Buffer activated;    ///< MLP: activation(gate) * up
  Buffer extra;        ///< MoE and MLA: gathered rows, latents
  std::unique_ptr<AttentionScratch> scratch;
  /// Of the pass in hand, by number of rotated elements: per token, cosines, then sines.
  std::map<std::int64_t, std::vector<float>> rope;
};

/// Elements per token that a layer needs of each workspace buffer. rope_dim: of one kind; cover()
/// keeps the largest, which bounds the memory of each table.
struct WorkspaceNeeds {
  std::int64_t projected = 0, mixed = 0, intermediate = 0, activated = 0, extra = 0;
  std::int64_t qk_dim = 0, v_dim = 0, rope_dim = 0;
  void cover(const WorkspaceNeeds& other);
};

/// One forward pass: `tokens` new tokens after `context` cached ones.
struct Pass {
  std::int64_t context = 0;
  std::int64_t tokens = 0;
  Workspace* workspace = nullptr;
};

/// A sample of one layer's attention, see AttentionCall.
struct HeadSample {
  std::int64_t first_kv_head = 0;
  std::int64_t kv_head_count = 0; ///< 0: all
  std::int64_t tile_step = 1;
};

/// Mixes tokens with each other: attention or a recurrent scan. Weights are its own; KV caches are
/// lent, because fewer of them than of weights are kept.
class Mixer {
public:
  virtual ~Mixer() = default;
  /// From `normed`: projections, norms, RoPE, KV write; recurrent layers also scan here.
  virtual void before(const Pass& pass, KvCache* cache) = 0;
  /// Attention of the queries that before() left over the cache, into `mixed`. Returns the
  /// query-key pairs scored over all heads; 0 where the layer does not attend.
  virtual double attend(const Pass& pass, KvCache* cache, const HeadSample& sample) = 0;
  /// Output projection of `mixed`, added to `hidden`.
  virtual void after(const Pass& pass) = 0;
};

class Mlp {
public:
  virtual ~Mlp() = default;
  /// Reads `normed`, adds to `hidden`.
  virtual void run(const Pass& pass) = 0;
};

/// The attention of a kind as the kernels see it; heads == 0 when the kind does not attend.
AttentionShape attention_shape(const model::AttentionSpec& spec);

/// Seed of one named matrix of a layer, so that a test can make the same weights.
std::uint64_t weight_seed(std::uint64_t layer_seed, std::string_view name);

/// A random [k][n] matrix, uniform with variance 1/k (n biases likewise when `bias`).
std::unique_ptr<PackedMatrix> random_matrix(const Runtime& runtime, std::int64_t k, std::int64_t n,
                                            bool bias, std::uint64_t layer_seed,
                                            std::string_view name);
/// n values about 1 (0.9 to 1.1), for norms.
Buffer random_norm(const Runtime& runtime, std::int64_t n, std::uint64_t layer_seed,
                   std::string_view name);

/// Fills the tables of `workspace.rope` for positions [context, context + tokens).
void set_rope(Workspace& workspace, std::int64_t context, std::int64_t tokens, int threads);

/// rms_norm of every row of x [rows][n] into out.
void norm_rows(const Runtime& runtime, const Buffer& x, const Buffer& weight, Buffer& out,
               std::int64_t rows, std::int64_t n);

inline constexpr float norm_epsilon = 1e-5F;

struct LayerOptions {
  std::int64_t hidden = 0;
  std::uint64_t seed = 0;
  std::int64_t stored_experts = 0; ///< 0: all; fewer: experts share weights in turn
  double expert_skew = 0;          ///< exponent of the Zipf law that tokens choose experts by
};

/// One decoder layer with weights of its own.
class Layer {
public:
  Layer(const Runtime& runtime, const model::LayerKind& kind, const LayerOptions& options);
  /// norm -> mixer [-> attention] -> residual -> norm -> MLP -> residual.
  void run(const Pass& pass, KvCache* cache, bool with_attention);
  [[nodiscard]] Mixer* mixer() { return m_mixer.get(); }
  /// Pairs scored by the last run with attention.
  [[nodiscard]] double last_pairs() const { return m_last_pairs; }

private:
  Runtime m_runtime;
  std::int64_t m_hidden;
  Buffer m_mixer_norm, m_mlp_norm;
  std::unique_ptr<Mixer> m_mixer;
  std::unique_ptr<Mlp> m_mlp;
  double m_last_pairs = 0;
};

/// What a KvCache of one layer holds; kv_heads == 0 when the kind does not attend. `kv_heads`: how
/// many heads get storage of their own (MLA: always one group of heads).
struct CacheShape {
  std::int64_t kv_heads = 0, stored_heads = 0, qk_dim = 0, v_dim = 0, latent_width = 0;
};
CacheShape cache_shape(const model::LayerKind& kind, std::int64_t kv_heads);

WorkspaceNeeds workspace_needs(const model::LayerKind& kind, std::int64_t hidden, Element element);

/// Empty when this back end can run the kind, else why not.
std::string unsupported_reason(const model::LayerKind& kind);

/// Sentences about where a kind's work here is an approximation of an engine's.
std::vector<std::string> approximations(const model::LayerKind& kind);

/// Flop of one token in one layer without attention over the cache, and bytes of its weights.
double dense_flop_per_token(const model::LayerKind& kind, std::int64_t hidden);
double weight_elements(const model::LayerKind& kind, std::int64_t hidden,
                       std::int64_t stored_experts);

/// MLA: flop of expanding one cached token's keys and values; else 0.
double expansion_flop(const model::AttentionSpec& spec);

std::unique_ptr<Mixer> make_attention_mixer(const Runtime&, const model::LayerKind&,
                                            const LayerOptions&);
std::unique_ptr<Mlp> make_mlp(const Runtime&, const model::LayerKind&, const LayerOptions&);

RowActivation row_activation(model::Activation activation);

} // namespace breakeven::compute
