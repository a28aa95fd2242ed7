#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::model {

/// Element types of weights, activations and KV caches. Sizes in bits, since 4-bit types exist.
enum class DType { fp32, bf16, fp16, fp8, int8, int4, mxfp4, nvfp4 };
std::string to_string(DType dtype);
int bits_of(DType dtype);

enum class AttentionKind {
  none,           ///< the layer holds no per-token cache (MLP-only, recurrent, no-op)
  full,           ///< every query sees every earlier key
  sliding_window, ///< a query sees the last `window_tokens` keys, itself included
  chunked,        ///< a query sees the keys of its own aligned chunk of `window_tokens`
  mla,            ///< multi-head latent attention: one latent and one rope key per token
};
std::string to_string(AttentionKind kind);

struct AttentionSpec {
  AttentionKind kind = AttentionKind::none;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;      ///< 1 for MQA; heads for MHA; unused by MLA
  std::int64_t qk_head_dim = 0;   ///< elements of one query or key head (MLA: nope + rope)
  std::int64_t v_head_dim = 0;    ///< elements of one value head
  std::int64_t window_tokens = 0; ///< sliding_window and chunked only
  bool q_bias = false, k_bias = false, v_bias = false, o_bias = false;
  bool qk_norm = false; ///< RMSNorm of each query and key head before RoPE
  bool rope = true;

  // MLA only
  std::int64_t q_lora_rank = 0; ///< 0: queries are projected directly
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;

  // Sparse attention with an index-key cache (DeepSeek sparse attention and kin); 0 = none
  std::int64_t index_heads = 0;
  std::int64_t index_head_dim = 0;
  std::int64_t index_topk = 0; ///< keys that a query attends to at most

  bool kv_shared = false; ///< attends to an earlier layer's cache and adds none of its own

  /// Elements of KV cache that one token adds in one such layer (index keys not counted).
  [[nodiscard]] std::int64_t kv_elements_per_token() const;
  bool operator==(const AttentionSpec&) const = default;
};

enum class StateKind {
  none,
  mamba1,
  mamba2,
  gated_delta_net,
  kimi_delta, ///< the delta rule with a decay per channel (KDA)
  lightning,
  short_conv, ///< a convolution alone (LFM2)
  rwkv,
};
std::string to_string(StateKind kind);

/// Recurrent state of one layer and one sequence; constant in the number of tokens.
struct StateSpec {
  StateKind kind = StateKind::none;
  std::int64_t heads = 0;     ///< value heads
  std::int64_t key_heads = 0; ///< heads of B/C or of q/k (groups in Mamba-2)
  std::int64_t head_dim = 0;  ///< value head size
  std::int64_t state_dim = 0; ///< key head size or SSM state size
  std::int64_t conv_kernel = 0;
  std::int64_t conv_channels = 0;
  std::int64_t bytes = 0; ///< convolution + recurrent state in bytes, dtypes applied
  bool operator==(const StateSpec&) const = default;
};

enum class MlpKind { none, gated, plain, moe };
std::string to_string(MlpKind kind);

enum class Activation { silu, gelu, relu2, other };

struct MlpSpec {
  MlpKind kind = MlpKind::none;
  std::int64_t intermediate = 0; ///< width of one (routed expert's) MLP
  bool gated = true;             ///< gate and up projections (MoE: of each expert)
  Activation activation = Activation::silu;
  bool bias = false;
  // MoE only
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t shared_intermediate = 0; ///< total width of the always-active experts; 0 = none
  bool operator==(const MlpSpec&) const = default;
};

/// Which rows a GEMM sees.
enum class GemmRows {
  all_tokens,    ///< `new` rows
  routed_tokens, ///< `new * experts_per_token` rows spread over `count` weight matrices
};

/// One weight matrix a token passes: out[rows x n] = in[rows x k] * w[k x n].
struct Gemm {
  std::string name; ///< "qkv", "attention_output", "gate_up", "down", "router", ...
  std::int64_t k = 0;
  std::int64_t n = 0;
  GemmRows rows = GemmRows::all_tokens;
  std::int64_t count = 1;        ///< weight matrices of this shape in the layer (experts)
  std::int64_t active_count = 1; ///< of those, how many one token passes
  bool operator==(const Gemm&) const = default;
};

/// Layers that are identical in shape and cost.
struct LayerKind {
  std::string name;       ///< "full", "sliding_window+moe", "mamba2", ...
  std::int64_t count = 0; ///< how many layers of this kind the model has
  AttentionSpec attention;
  StateSpec state;
  MlpSpec mlp;
  std::vector<Gemm> gemms;            ///< in execution order
  std::int64_t parameters = 0;        ///< all weights of ONE such layer, biases and norms included
  std::int64_t active_parameters = 0; ///< the same without the routed experts a token does not pass
  bool operator==(const LayerKind&) const = default;
};

struct Vocabulary {
  std::int64_t size = 0;
  bool tied_head = false; ///< embedding and LM head share one matrix
};

/// What any room needs to know of a model. Sizes are elements unless the name says bytes.
struct Architecture {
  std::string name;
  std::string family; ///< reader that understood it, e.g. "llama"
  std::string source; ///< where the facts came from, as given in the file or the path
  std::int64_t hidden = 0;
  std::int64_t layers = 0;              ///< decoder layers in all kinds together
  std::int64_t max_position_tokens = 0; ///< 0 = not stated
  Vocabulary vocabulary;
  DType weight_dtype = DType::bf16;
  DType activation_dtype = DType::bf16;
  DType kv_dtype = DType::bf16;
  DType index_dtype = DType::bf16;
  std::vector<LayerKind> kinds;
  std::int64_t parameters = 0; ///< of the whole model on all ranks; 0 = no certain formula
  std::int64_t active_parameters = 0;
  std::int64_t tensor_parallel =
      1; ///< the shapes, parameters and bytes of `kinds` are per rank when > 1
  std::int64_t kv_bytes_per_token_override = 0; ///< user's own figure for full layers; 0 = none
  std::vector<std::string>
      assumptions; ///< what was not in the file and is assumed, one sentence each
  std::vector<std::string> overrides; ///< what the user changed, "kv_dtype=fp8 (--kv-dtype)"

  /// Bytes that each further token adds without bound: full-attention KV or MLA latent (no index
  /// keys).
  [[nodiscard]] std::int64_t full_bytes_per_token() const;
  [[nodiscard]] std::int64_t index_bytes_per_token() const;
  /// Sum of k * n over the GEMMs that a token passes in all layers (per rank): linear FLOPs = 2 x.
  [[nodiscard]] std::int64_t block_gemm_parameters_per_token() const;
  /// FLOPs of attention scores and values when `new_tokens` queries follow `context_tokens` cached
  /// ones, all layers (per rank): 2 x heads x (qk_head_dim + v_head_dim) for each visible key.
  [[nodiscard]] double attention_flops(std::int64_t context_tokens, std::int64_t new_tokens) const;
  /// Bytes of recurrent state of one sequence.
  [[nodiscard]] std::int64_t state_bytes() const;
  /// KV cache of one sequence's first `tokens` tokens, state included. Throws on 64-bit overflow.
  [[nodiscard]] std::int64_t kv_bytes(std::int64_t tokens) const;
  /// A layer of recurrent state means that a prefix is loadable only where a state was saved.
  [[nodiscard]] bool is_hybrid() const { return state_bytes() > 0; }
};

/// Windowed layers with the same window, summed: min(tokens, window_tokens) * bytes_per_token.
struct WindowTerm {
  std::int64_t window_tokens = 0;
  std::int64_t bytes_per_token = 0;
  std::int64_t layers = 0;
};
std::vector<WindowTerm> window_terms(const Architecture& architecture);

/// Options a user may force; each used one is recorded in Architecture::overrides.
struct ReadOptions {
  std::string kv_dtype;                ///< "" = from the file
  std::int64_t kv_bytes_per_token = 0; ///< 0 = from the architecture
  bool mla_expanded = false;           ///< the engine caches decompressed K and V
  std::int64_t tensor_parallel = 1;
};

/// Reads a bundled model's name, a config.json, or a directory that holds one.
/// Throws error_kind::bad_input when the file does not determine the answer, naming what is
/// missing; error_kind::usage for an unknown name, with the nearest one.
Architecture read_architecture(const std::string& name_or_path, const ReadOptions& options = {});

/// Names of the models that ship in models/.
std::vector<std::string> bundled_models();

} // namespace breakeven::model
