#include "fixture.hpp"
#include "support/catch.hpp"

using namespace breakeven;
using test::Values;

namespace {

constexpr std::uint64_t seed = 123;

/// Queries, keys and values of the new tokens from normed rows, as [new][heads][dim] each.
struct Projected {
  Values q, k, v;
};

Projected project(const compute::Runtime& rt, const model::AttentionSpec& a, const Values& normed,
                  std::int64_t hidden, std::int64_t tokens, std::int64_t context) {
  const std::int64_t n = a.heads * a.qk_head_dim + a.kv_heads * (a.qk_head_dim + a.v_head_dim);
  const Values b = a.q_bias ? test::bias(rt, hidden, n, seed, "qkv") : Values{};
  const Values all =
      test::multiply(normed, test::matrix(rt, hidden, n, seed, "qkv"), tokens, hidden, n, b);
  Projected p;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto row = all.begin() + t * n;
    const auto k = row + a.heads * a.qk_head_dim, v = k + a.kv_heads * a.qk_head_dim;
    p.q.insert(p.q.end(), row, k);
    p.k.insert(p.k.end(), k, v);
    p.v.insert(p.v.end(), v, v + a.kv_heads * a.v_head_dim);
  }
  const auto finish = [&](Values& x, std::int64_t heads, const char* norm) {
    const Values weight = test::norm_weight(rt, a.qk_head_dim, seed, norm);
    for (std::int64_t i = 0; i < tokens * heads; ++i) {
      double* head = &x[static_cast<std::size_t>(i * a.qk_head_dim)];
      if (a.qk_norm) test::normalise(head, weight);
      if (a.rope) test::rotate(head, a.qk_head_dim, context + i / heads);
    }
  };
  finish(p.q, a.heads, "q_norm");
  finish(p.k, a.kv_heads, "k_norm");
  return p;
}

Values reference_mlp(const compute::Runtime& rt, const model::MlpSpec& mlp, const Values& normed,
                     std::int64_t hidden, std::int64_t tokens) {
  const std::int64_t m = mlp.intermediate, n = mlp.kind == model::MlpKind::gated ? 2 * m : m;
  const char* name = mlp.kind == model::MlpKind::gated ? "gate_up" : "up";
  const Values in = test::multiply(normed, test::matrix(rt, hidden, n, seed, name), tokens, hidden,
                                   n, mlp.bias ? test::bias(rt, hidden, n, seed, name) : Values{});
  Values act;
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < m; ++i) {
      const double x = in[static_cast<std::size_t>(t * n + i)];
      if (mlp.kind == model::MlpKind::gated)
        act.push_back(test::silu(x) * in[static_cast<std::size_t>(t * n + m + i)]);
      else
        act.push_back(x > 0 ? x * x : 0);
    }
  return test::multiply(act, test::matrix(rt, m, hidden, seed, "down"), tokens, m, hidden,
                        mlp.bias ? test::bias(rt, m, hidden, seed, "down") : Values{});
}

/// Runs the layer and its reference on `tokens` tokens after `context`; returns the error.
double layer_error(const test::Precision& p, const model::LayerKind& kind, std::int64_t hidden,
                   std::int64_t context, std::int64_t tokens) {
  const compute::Runtime& rt = p.runtime;
  const model::AttentionSpec& a = kind.attention;
  compute::Layer layer(rt, kind, {hidden, seed, kind.mlp.experts, 0});
  auto w = test::workspace(rt, kind, hidden, tokens, context);
  const compute::AttentionShape shape = compute::attention_shape(a);
  compute::KvCache cache(*rt.kernels, a.kv_heads, a.kv_heads, a.qk_head_dim, a.v_head_dim,
                         context + tokens, 9, 1);
  const auto k = test::random_rows(rt, context * a.kv_heads * a.qk_head_dim, 21);
  const auto v = test::random_rows(rt, context * a.kv_heads * a.v_head_dim, 22);
  for (std::int64_t t = 0; t < context; ++t)
    for (std::int64_t h = 0; h < a.kv_heads; ++h)
      cache.store(*rt.kernels, t, h,
                  k.data() + (t * a.kv_heads + h) * a.qk_head_dim * rt.element_bytes(),
                  v.data() + (t * a.kv_heads + h) * a.v_head_dim * rt.element_bytes());
  Values x = test::read(rt, w->hidden.data(), tokens * hidden);
  layer.run({context, tokens, w.get()}, &cache, true);

  const Projected made =
      project(rt, a, test::normalised_rows(x, test::norm_weight(rt, hidden, seed, "mixer_norm")),
              hidden, tokens, context);
  Values keys = test::read(rt, k.data(), context * a.kv_heads * a.qk_head_dim);
  Values values = test::read(rt, v.data(), context * a.kv_heads * a.v_head_dim);
  keys.insert(keys.end(), made.k.begin(), made.k.end());
  values.insert(values.end(), made.v.begin(), made.v.end());
  const Values mixed = test::attention(shape, made.q, keys, values, context, tokens);
  const std::int64_t width = a.heads * a.v_head_dim;
  const Values out = test::multiply(
      mixed, test::matrix(rt, width, hidden, seed, "attention_output"), tokens, width, hidden,
      a.o_bias ? test::bias(rt, width, hidden, seed, "attention_output") : Values{});
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += out[i];
  const Values mlp = reference_mlp(
      rt, kind.mlp, test::normalised_rows(x, test::norm_weight(rt, hidden, seed, "mlp_norm")),
      hidden, tokens);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += mlp[i];
  return test::relative_error(test::read(rt, w->hidden.data(), tokens * hidden), x);
}

void check_layer(const model::LayerKind& kind, std::int64_t hidden, std::int64_t context,
                 std::int64_t tokens) {
  for (const test::Precision& p : test::precisions()) {
    INFO(p.gemm->description() << " " << p.runtime.kernels->name);
    CHECK(layer_error(p, kind, hidden, context, tokens) < p.tolerance);
  }
}

} // namespace

TEST_CASE("a Llama layer agrees with a double-precision reference") {
  check_layer(test::dense_kind({}), 64, 45, 19);
  check_layer(test::dense_kind({}), 64, 0, 33);
  check_layer(test::dense_kind({256, 1, 8, 2, 64, 512, 100}), 256, 290, 40);
}

TEST_CASE("a Qwen2 layer (biases) agrees with a double-precision reference") {
  model::LayerKind kind = test::dense_kind({});
  kind.attention.q_bias = kind.attention.k_bias = kind.attention.v_bias = true;
  check_layer(kind, 64, 45, 19);
  kind.attention.o_bias = kind.mlp.bias = true;
  check_layer(kind, 64, 45, 19);
}

TEST_CASE("a Qwen3 layer (q/k norm, head size apart) agrees with a double-precision reference") {
  model::LayerKind kind = test::dense_kind({64, 1, 4, 2, 48, 96, 100});
  kind.attention.qk_norm = true;
  check_layer(kind, 64, 45, 19);
}

TEST_CASE("a layer with a plain MLP and no RoPE agrees with a double-precision reference") {
  model::LayerKind kind = test::dense_kind({});
  kind.attention.rope = false;
  kind.mlp.kind = model::MlpKind::plain;
  kind.mlp.gated = false;
  kind.mlp.activation = model::Activation::relu2;
  check_layer(kind, 64, 45, 19);
}
