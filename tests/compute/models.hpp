#pragma once

#include "model/architecture.hpp"

#include <cstdint>
#include <string>

/// Architectures built by hand, so that these tests need no model reader.
namespace breakeven::test {

struct Dims {
  std::int64_t hidden = 64, layers = 3, heads = 4, kv_heads = 2, head_dim = 16, intermediate = 96,
               vocabulary = 301;
};

inline model::LayerKind dense_kind(const Dims& d, const std::string& name = "full") {
  model::LayerKind kind;
  kind.name = name;
  kind.count = d.layers;
  kind.attention.kind = model::AttentionKind::full;
  kind.attention.heads = d.heads;
  kind.attention.kv_heads = d.kv_heads;
  kind.attention.qk_head_dim = d.head_dim;
  kind.attention.v_head_dim = d.head_dim;
  kind.mlp.kind = model::MlpKind::gated;
  kind.mlp.intermediate = d.intermediate;
  return kind;
}

inline model::Architecture one_kind(const model::LayerKind& kind, const Dims& d,
                                    const std::string& name = "tiny") {
  model::Architecture a;
  a.name = name;
  a.hidden = d.hidden;
  a.layers = kind.count;
  a.vocabulary = {d.vocabulary, true};
  a.kinds = {kind};
  return a;
}

inline model::Architecture tiny_llama() {
  return one_kind(dense_kind({}), {});
}

inline model::Architecture llama_3_2_1b() {
  const Dims d{2048, 16, 32, 8, 64, 8192, 128256};
  return one_kind(dense_kind(d), d, "llama-3.2-1b");
}

} // namespace breakeven::test
