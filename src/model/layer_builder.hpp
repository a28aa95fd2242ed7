#pragma once

#include "model/architecture.hpp"

#include <cstdint>
#include <string>

namespace breakeven::model {

/// How many ranks share one model, and how a dimension is divided among them.
struct Ranks {
  std::int64_t count = 1;
  /// n / count. Throws error_kind::usage naming `what` when that is not whole.
  [[nodiscard]] std::int64_t split(std::int64_t n, const char* what) const;
  /// The same for KV heads and state groups, which are replicated when ranks outnumber them.
  [[nodiscard]] std::int64_t split_or_replicate(std::int64_t n, const char* what) const;
};

/// Shape of a mixture-of-experts block of the whole model.
struct MoeShape {
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t intermediate = 0;        ///< width of one routed expert
  std::int64_t shared_intermediate = 0; ///< total width of the always-active experts
  Activation activation = Activation::silu;
  bool gated = true;
  bool router_bias = false; ///< a bias or score correction: one element an expert
  bool expert_bias = false; ///< biases of the experts' own projections
  bool shared_bias = false; ///< biases of the always-active experts
  bool shared_gate = false; ///< a hidden -> 1 gate scales the shared expert
  std::int64_t latent = 0;  ///< experts work on a projection of the hidden state; 0 = they do not
};

/// Shape of a recurrent layer of the whole model (Mamba-1, Mamba-2).
struct MambaShape {
  std::int64_t inner = 0;  ///< channels
  std::int64_t heads = 0;  ///< Mamba-2 only
  std::int64_t groups = 1; ///< Mamba-2 only
  std::int64_t state = 0;
  std::int64_t kernel = 0;
  std::int64_t time_step_rank = 0; ///< Mamba-1 only
  bool projection_bias = false;
  bool conv_bias = true;
  DType conv_dtype = DType::bf16;
  DType state_dtype = DType::bf16;
};

/// Shape of a gated delta rule layer of the whole model (Gated DeltaNet, Kimi Delta Attention).
struct DeltaShape {
  std::int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, kernel = 4;
  std::int64_t gate_rank = 0; ///< > 0: decay and output gates are of low rank and per channel (KDA)
  DType conv_dtype = DType::bf16;
  DType state_dtype = DType::bf16;
};

/// Collects one layer, part by part in execution order: what it caches, the GEMMs that a token
/// passes, its weights. Shapes are given for the whole model and stored per rank.
class LayerBuilder {
public:
  LayerBuilder(std::int64_t hidden, Ranks ranks) : m_hidden(hidden), m_ranks(ranks) {}

  /// q, k, v in one GEMM, then the output projection. `query_outputs` = 2 where a gate of the
  /// queries' size comes out of the query projection. A layer that shares an earlier layer's cache
  /// has no key and value projections. `value_projection` = false: values are the keys.
  void attention(AttentionSpec spec, std::int64_t query_outputs = 1, bool value_projection = true);
  /// q, k, v of an input that is not the hidden state, and the projection back to it. The spec's
  /// heads are already per rank.
  void attention_with_input(const AttentionSpec& spec, std::int64_t input);
  /// Multi-head latent attention with its two norms, and the indexer when the spec has one.
  void mla(AttentionSpec spec);
  void mlp(std::int64_t intermediate, bool gated, bool bias, Activation activation);
  void moe(const MoeShape& shape);
  void mamba1(const MambaShape& shape, std::int64_t extra_norms);
  /// `gate_norm`: an RMSNorm over the inner channels before the output projection.
  void mamba2(const MambaShape& shape, bool gate_norm);

  void gated_delta_net(const DeltaShape& shape);
  void kimi_delta(const DeltaShape& shape);
  /// Lightning attention: a decaying sum of k * v per head, its gate and group norm.
  void lightning(std::int64_t heads, std::int64_t head_dim, DType state_dtype);
  /// LFM2's gated short convolution over the hidden channels.
  void short_conv(std::int64_t kernel, bool bias, DType conv_dtype);

  /// Weights outside any GEMM (norms, convolutions), the same on each rank.
  void parameters(std::int64_t n);
  /// Any other GEMM that all tokens pass, sizes per rank.
  void gemm(const char* name, std::int64_t k, std::int64_t n, bool bias = false);
  void state(const StateSpec& spec);
  void name(const std::string& part);

  [[nodiscard]] Ranks ranks() const { return m_ranks; }
  [[nodiscard]] std::int64_t hidden() const { return m_hidden; }
  [[nodiscard]] LayerKind finish() const;

private:
  void routed(const char* name, std::int64_t k, std::int64_t n, const MoeShape& shape);

  std::int64_t m_hidden;
  Ranks m_ranks;
  LayerKind m_kind;
};

/// a * b and a + b of sizes in this room, checked.
std::int64_t times(std::int64_t a, std::int64_t b);
std::int64_t plus(std::int64_t a, std::int64_t b);

} // namespace breakeven::model
