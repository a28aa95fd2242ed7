#include "compute/cpu_compute.hpp"
#include "compute/mixer_latent.hpp"
#include "compute/mixer_scan.hpp"
#include "compute/mixture.hpp"
#include "fixture.hpp"
#include "support/catch.hpp"
#include "support/error.hpp"

#include <algorithm>
#include <set>

using namespace breakeven;
using test::Values;

namespace {

constexpr std::uint64_t seed = 31;

model::LayerKind moe_kind() {
  model::LayerKind kind = test::dense_kind({});
  kind.name = "full+moe";
  kind.mlp.kind = model::MlpKind::moe;
  kind.mlp.intermediate = 40;
  kind.mlp.experts = 6;
  kind.mlp.experts_per_token = 2;
  kind.mlp.shared_intermediate = 72;
  return kind;
}

model::LayerKind mla_kind(bool q_lora) {
  model::LayerKind kind = test::dense_kind({});
  kind.name = "mla";
  model::AttentionSpec& a = kind.attention;
  a.kind = model::AttentionKind::mla;
  a.heads = 8;
  a.kv_heads = 0;
  a.q_lora_rank = q_lora ? 40 : 0;
  a.kv_lora_rank = 48;
  a.qk_nope_head_dim = 32;
  a.qk_rope_head_dim = 16;
  a.qk_head_dim = 48;
  a.v_head_dim = 24;
  return kind;
}

model::LayerKind scan_kind(model::StateKind state) {
  model::LayerKind kind = test::dense_kind({});
  kind.name = "scan";
  kind.attention = {};
  kind.state.kind = state;
  kind.state.heads = 4;
  kind.state.key_heads = 2;
  kind.state.head_dim = 24;
  kind.state.state_dim = 40;
  kind.state.conv_kernel = state == model::StateKind::lightning ? 0 : 4;
  return kind;
}

Values gated_mlp(const compute::Runtime& rt, const Values& x, std::int64_t hidden,
                 std::int64_t width, const std::string& prefix) {
  const auto rows = static_cast<std::int64_t>(x.size()) / hidden;
  const Values in = test::multiply(x, test::matrix(rt, hidden, 2 * width, seed, prefix + "gate_up"),
                                   rows, hidden, 2 * width);
  Values act;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < width; ++i)
      act.push_back(test::silu(in[static_cast<std::size_t>(r * 2 * width + i)]) *
                    in[static_cast<std::size_t>(r * 2 * width + width + i)]);
  return test::multiply(act, test::matrix(rt, width, hidden, seed, prefix + "down"), rows, width,
                        hidden);
}

/// What the recurrence of mixer_scan.hpp says, one token after the other.
Values reference_scan(const model::StateSpec& s, const Values& convolved, const Values& projected,
                      std::int64_t tokens) {
  const compute::ScanColumns c(s);
  const bool delta = s.kind == model::StateKind::gated_delta_net;
  const std::int64_t dk = s.state_dim, dv = s.head_dim;
  const double size = 1 / std::sqrt(static_cast<double>(dk));
  Values out(static_cast<std::size_t>(tokens * s.heads * dv));
  for (std::int64_t head = 0; head < s.heads; ++head) {
    Values state(static_cast<std::size_t>(dk * dv), 0.0);
    const std::int64_t key_head = head * s.key_heads / s.heads;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const double* conv = &convolved[static_cast<std::size_t>(t * c.convolved)];
      const double* in = &projected[static_cast<std::size_t>(t * c.total)];
      const double decay = 1 / (1 + std::exp(in[c.decay + head]));
      const double beta = delta ? 1 / (1 + std::exp(in[c.beta + head])) : 1.0;
      for (double& x : state)
        x *= decay;
      for (std::int64_t j = 0; j < dv; ++j) {
        double seen = 0, result = 0;
        for (std::int64_t i = 0; i < dk; ++i)
          seen +=
              conv[c.k + key_head * dk + i] * size * state[static_cast<std::size_t>(i * dv + j)];
        const double v = beta * (conv[c.v + head * dv + j] - (delta ? seen : 0.0));
        for (std::int64_t i = 0; i < dk; ++i) {
          double& x = state[static_cast<std::size_t>(i * dv + j)];
          x += conv[c.k + key_head * dk + i] * size * v;
          result += conv[key_head * dk + i] * size * x;
        }
        out[static_cast<std::size_t>((t * s.heads + head) * dv + j)] = result;
      }
    }
  }
  return out;
}

double scan_error(const test::Precision& p, const model::LayerKind& kind, std::int64_t tokens) {
  const compute::Runtime& rt = p.runtime;
  const std::int64_t hidden = 64, dv = kind.state.head_dim;
  const compute::ScanColumns c(kind.state);
  const auto mixer = compute::make_scan_mixer(rt, kind, {hidden, seed, 0, 0});
  auto w = test::workspace(rt, kind, hidden, tokens, 0);
  compute::fill_random(*rt.kernels, w->normed.data(), tokens * hidden, 5, 1.0F, 1);
  const compute::Pass pass{0, tokens, w.get()};
  mixer->before(pass, nullptr);
  // The projection is taken as made (GEMMs are checked elsewhere): its rounding would swamp the
  // recurrence's own error.
  const Values projected = test::read(rt, w->projected.data(), tokens * c.total);
  compute::Buffer raw(static_cast<std::uint64_t>(4 * c.convolved * rt.element_bytes()));
  compute::fill_random(*rt.kernels, raw.data(),
                       std::max<std::int64_t>(kind.state.conv_kernel, 1) * c.convolved,
                       compute::weight_seed(seed, "convolution"), 1.0F, 1);
  const Values taps = test::read(rt, raw.data(), 4 * c.convolved);
  Values convolved;
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < c.convolved; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < kind.state.conv_kernel && j <= t; ++j)
        sum += taps[static_cast<std::size_t>(j * c.convolved + i)] *
               projected[static_cast<std::size_t>((t - j) * c.total + i)];
      if (kind.state.conv_kernel == 0) sum = projected[static_cast<std::size_t>(t * c.total + i)];
      convolved.push_back(test::silu(sum));
    }
  Values expected = reference_scan(kind.state, convolved, projected, tokens);
  const Values norm = test::norm_weight(rt, dv, seed, "scan_norm");
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t head = 0; head < kind.state.heads; ++head) {
      double* row = &expected[static_cast<std::size_t>((t * kind.state.heads + head) * dv)];
      test::normalise(row, norm);
      for (std::int64_t d = 0; d < dv; ++d)
        row[d] *=
            test::silu(projected[static_cast<std::size_t>(t * c.total + c.z + head * dv + d)]);
    }
  return test::relative_error(test::read(rt, w->mixed.data(), tokens * kind.state.heads * dv),
                              expected);
}

double latent_error(const test::Precision& p, const model::LayerKind& kind, std::int64_t context,
                    std::int64_t tokens) {
  const compute::Runtime& rt = p.runtime;
  const model::AttentionSpec& a = kind.attention;
  const std::int64_t hidden = 64, lora = a.kv_lora_rank, rope = a.qk_rope_head_dim;
  const std::int64_t latent = lora + rope, q_width = a.heads * a.qk_head_dim;
  const auto mixer = compute::make_latent_mixer(rt, kind, {hidden, seed, 0, 0});
  auto w = test::workspace(rt, kind, hidden, tokens, context);
  compute::fill_random(*rt.kernels, w->normed.data(), tokens * hidden, 5, 1.0F, 1);
  const compute::CacheShape shape = compute::cache_shape(kind, 1);
  compute::KvCache cache(*rt.kernels, shape.kv_heads, shape.stored_heads, shape.qk_dim, shape.v_dim,
                         context + tokens, 3, 1, shape.latent_width);
  Values latents = test::read(rt, cache.latent_row(0), context * latent);
  const compute::Pass pass{context, tokens, w.get()};
  mixer->before(pass, &cache);
  mixer->attend(pass, &cache, {});

  const std::int64_t first = a.q_lora_rank > 0 ? a.q_lora_rank : q_width;
  const Values down = test::multiply(test::read(rt, w->normed.data(), tokens * hidden),
                                     test::matrix(rt, hidden, first + latent, seed, "down"), tokens,
                                     hidden, first + latent);
  Values q;
  const Values kv_norm = test::norm_weight(rt, lora, seed, "kv_norm");
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto row = down.begin() + t * (first + latent);
    Values head(row, row + first), own(row + first, row + first + latent);
    if (a.q_lora_rank > 0) {
      test::normalise(head.data(), test::norm_weight(rt, first, seed, "q_norm"));
      head = test::multiply(head, test::matrix(rt, first, q_width, seed, "q_b"), 1, first, q_width);
    }
    test::normalise(own.data(), kv_norm);
    test::rotate(&own[static_cast<std::size_t>(lora)], rope, context + t);
    latents.insert(latents.end(), own.begin(), own.end());
    for (std::int64_t h = 0; h < a.heads; ++h)
      test::rotate(&head[static_cast<std::size_t>(h * a.qk_head_dim + a.qk_nope_head_dim)], rope,
                   context + t);
    q.insert(q.end(), head.begin(), head.end());
  }
  const std::int64_t group = compute::latent_head_group(a), one = a.qk_nope_head_dim + a.v_head_dim;
  Values k, v;
  for (std::int64_t t = 0; t < context + tokens; ++t) {
    const auto row = latents.begin() + t * latent;
    const Values own(row, row + lora);
    for (std::int64_t g = 0; g < a.heads / group; ++g) {
      const Values made =
          test::multiply(own, test::matrix(rt, lora, group * one, seed, "kv_b" + std::to_string(g)),
                         1, lora, group * one);
      for (std::int64_t h = 0; h < group; ++h) {
        const auto head = made.begin() + h * one;
        k.insert(k.end(), head, head + a.qk_nope_head_dim);
        k.insert(k.end(), row + lora, row + latent);
        v.insert(v.end(), head + a.qk_nope_head_dim, head + one);
      }
    }
  }
  const Values expected = test::attention(compute::attention_shape(a), q, k, v, context, tokens);
  return test::relative_error(test::read(rt, w->mixed.data(), tokens * a.heads * a.v_head_dim),
                              expected);
}

} // namespace

TEST_CASE("routing gives each token different experts, repeatably, skewed as asked") {
  const auto even = compute::draw_routing(16, 4, 3000, 0, 9);
  std::vector<std::size_t> sizes;
  std::vector<std::set<std::size_t>> of_token(3000);
  for (std::size_t e = 0; e < 16; ++e) {
    sizes.push_back(even.tokens_of_expert[e].size());
    for (const auto t : even.tokens_of_expert[e])
      of_token[static_cast<std::size_t>(t)].insert(e);
  }
  for (const auto& experts : of_token)
    REQUIRE(experts.size() == 4);
  CHECK(*std::max_element(sizes.begin(), sizes.end()) < 900); // 750 on average
  CHECK(compute::draw_routing(16, 4, 3000, 0, 9).tokens_of_expert == even.tokens_of_expert);
  std::size_t most = 0;
  for (const auto& tokens : compute::draw_routing(16, 4, 3000, 1, 9).tokens_of_expert)
    most = std::max(most, tokens.size());
  CHECK(most > 1500);
}

TEST_CASE("a mixture of experts agrees with a double-precision reference") {
  const model::LayerKind kind = moe_kind();
  const std::int64_t hidden = 64, tokens = 50, topk = kind.mlp.experts_per_token;
  for (const test::Precision& p : test::precisions()) {
    INFO(p.gemm->description());
    const compute::Runtime& rt = p.runtime;
    const auto mlp = compute::make_mixture(rt, kind, {hidden, seed, 6, 0.5});
    auto w = test::workspace(rt, kind, hidden, tokens, 0);
    compute::fill_random(*rt.kernels, w->normed.data(), tokens * hidden, 5, 1.0F, 1);
    // Rows that pad an expert's block are leftovers and must be finite.
    compute::fill_random(*rt.kernels, w->extra.data(), 2 * tokens * hidden, 6, 1.0F, 1);
    Values expected = test::read(rt, w->hidden.data(), tokens * hidden);
    const Values x = test::read(rt, w->normed.data(), tokens * hidden);
    mlp->run({0, tokens, w.get()});
    const Values shared = gated_mlp(rt, x, hidden, kind.mlp.shared_intermediate, "shared_");
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] += shared[i];
    const auto routing = compute::draw_routing(6, topk, tokens, 0.5, tokens);
    for (std::size_t e = 0; e < 6; ++e) {
      const Values all =
          gated_mlp(rt, x, hidden, kind.mlp.intermediate, "expert" + std::to_string(e) + "_");
      for (const std::int32_t t : routing.tokens_of_expert[e])
        for (std::int64_t i = 0; i < hidden; ++i)
          expected[static_cast<std::size_t>(t * hidden + i)] +=
              all[static_cast<std::size_t>(t * hidden + i)] / static_cast<double>(topk);
    }
    CHECK(test::relative_error(test::read(rt, w->hidden.data(), tokens * hidden), expected) <
          p.tolerance);
  }
}

TEST_CASE("latent attention agrees with a double-precision reference") {
  for (const test::Precision& p : test::precisions())
    for (const bool q_lora : {false, true})
      for (const std::int64_t context : {0, 75, 600}) {
        INFO(p.gemm->description() << " q_lora " << q_lora << " context " << context);
        CHECK(latent_error(p, mla_kind(q_lora), context, 35) < p.tolerance);
      }
}

TEST_CASE("chunked scans agree with the recurrence in double precision") {
  using model::StateKind;
  for (const test::Precision& p : test::precisions())
    for (const StateKind state :
         {StateKind::mamba2, StateKind::gated_delta_net, StateKind::lightning})
      for (const std::int64_t tokens : {1, 64, 150}) {
        INFO(p.gemm->description() << " state " << static_cast<int>(state) << " tokens " << tokens);
        CHECK(scan_error(p, scan_kind(state), tokens) < (p.tolerance < 1e-3 ? 1e-4 : p.tolerance));
      }
}

TEST_CASE("models of every kind run through the device, and what is not exact is said") {
  compute::ComputeOptions options;
  options.threads = 2;
  options.max_context_tokens = 300;
  options.chunk_tokens = 70;
  for (const model::LayerKind& kind :
       {moe_kind(), mla_kind(true), scan_kind(model::StateKind::mamba2)}) {
    model::Architecture a = test::one_kind(kind, {});
    a.kinds.push_back(test::dense_kind({64, 2, 4, 2, 48, 96, 301}, "dense"));
    compute::CpuCompute c(a, options);
    CHECK(c.step(300, 70)->run().seconds > 0);
    CHECK(c.dense(33)->run().seconds > 0);
    const auto attention = c.attention(0, 299, 70);
    CHECK((attention == nullptr) == (kind.attention.kind == model::AttentionKind::none));
    if (attention) CHECK(attention->run().seconds > 0);
    CHECK(c.warnings().empty() == (kind.attention.kind == model::AttentionKind::mla));
  }
}

TEST_CASE("a kind that cannot be run is refused by name") {
  std::vector<model::LayerKind> kinds(3, test::dense_kind({}, "special"));
  kinds[0].attention.index_heads = 4;
  kinds[1].attention = {};
  kinds[1].state.kind = model::StateKind::rwkv;
  kinds[2].attention = {};
  kinds[2].state.kind = model::StateKind::mamba1;
  for (const model::LayerKind& kind : kinds) {
    try {
      compute::CpuCompute c(test::one_kind(kind, {}), {});
      FAIL("not refused");
    } catch (const error& e) {
      CHECK(e.kind() == error_kind::environment);
      CHECK(std::string(e.what()).find("'special'") != std::string::npos);
    }
  }
}
