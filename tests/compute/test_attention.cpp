#include "compute/attention.hpp"
#include "compute/cpu_features.hpp"
#include "compute/kernels_tables.hpp"
#include "fixture.hpp"
#include "support/catch.hpp"

using namespace breakeven;
using compute::AttentionShape;
using compute::Element;

namespace {

std::vector<const compute::Kernels*> kernels_to_test() {
  std::vector<const compute::Kernels*> all = compute::usable_kernels(Element::fp32);
  for (const auto* k : compute::usable_kernels(Element::bf16))
    all.push_back(k);
#if defined(__x86_64__)
  if (compute::cpu_features().avx512_bf16) all.push_back(&compute::emulated_amx_bf16_kernels);
#endif
  return all;
}

struct Case {
  AttentionShape shape;
  std::int64_t context, new_tokens;
};

double error_of(const compute::Kernels& kernels, const Case& c) {
  const AttentionShape& s = c.shape;
  const compute::Runtime runtime{&kernels, nullptr, 2, 1};
  const std::int64_t context = compute::held_context(s, c.context), keys = context + c.new_tokens;
  const auto q = test::random_rows(runtime, c.new_tokens * s.heads * s.qk_dim, 1);
  const auto k = test::random_rows(runtime, keys * s.kv_heads * s.qk_dim, 2);
  const auto v = test::random_rows(runtime, keys * s.kv_heads * s.v_dim, 3);
  auto out = test::random_rows(runtime, c.new_tokens * s.heads * s.v_dim, 4);
  test::poison(out);
  compute::KvCache cache(kernels, s.kv_heads, s.kv_heads, s.qk_dim, s.v_dim, keys, 5, 1);
  const std::int64_t bytes = runtime.element_bytes();
  for (std::int64_t token = 0; token < keys; ++token)
    for (std::int64_t head = 0; head < s.kv_heads; ++head)
      cache.store(kernels, token, head, k.data() + (token * s.kv_heads + head) * s.qk_dim * bytes,
                  v.data() + (token * s.kv_heads + head) * s.v_dim * bytes);
  const compute::AttentionScratch scratch(kernels.element, s.qk_dim, s.v_dim, 2);
  compute::AttentionCall call{&kernels,   &s,
                              &cache,     &scratch,
                              context,    c.new_tokens,
                              q.data(),   s.heads * s.qk_dim,
                              out.data(), s.heads * s.v_dim,
                              2};
  const double pairs = compute::attend(call);
  CHECK(pairs ==
        Approx(compute::visible_pairs(s, context, c.new_tokens) * static_cast<double>(s.heads)));
  const auto read = [&](const compute::Buffer& b) {
    return test::read(runtime, b.data(), static_cast<std::int64_t>(b.size_bytes()) / bytes);
  };
  return test::relative_error(read(out),
                              test::attention(s, read(q), read(k), read(v), context, c.new_tokens));
}

} // namespace

TEST_CASE("attention agrees with a double-precision reference and writes every element") {
  const std::vector<Case> cases = {
      {{8, 2, 64, 64, 0.125F, 0, false}, 0, 70},     // GQA from an empty context
      {{8, 2, 64, 64, 0.125F, 0, false}, 777, 33},   // several key blocks, none aligned
      {{4, 4, 128, 128, 0.09F, 0, false}, 100, 40},  // MHA
      {{12, 1, 80, 80, 0.11F, 0, false}, 65, 17},    // MQA, odd head size
      {{2, 2, 192, 128, 0.07F, 0, false}, 130, 31},  // K and V of different size
      {{4, 2, 64, 64, 0.125F, 48, false}, 500, 90},  // sliding window
      {{4, 2, 64, 64, 0.125F, 100, true}, 250, 130}, // chunks
      {{4, 2, 64, 64, 0.125F, 0, false}, 513, 1},    // one query
  };
  for (const compute::Kernels* kernels : kernels_to_test())
    for (const Case& c : cases) {
      INFO(kernels->name << ", context " << c.context << ", new " << c.new_tokens << ", head "
                         << c.shape.qk_dim << "/" << c.shape.v_dim << ", window "
                         << c.shape.window_tokens);
      // bf16: probabilities and outputs carry 8 bits; fp32: rounding of the sums.
      CHECK(error_of(*kernels, c) < (kernels->element == Element::bf16 ? 1e-2 : 1e-5));
    }
}

TEST_CASE("large scores neither overflow nor lose rows") {
  for (const compute::Kernels* kernels : kernels_to_test()) {
    INFO(kernels->name);
    const Case c{{2, 1, 64, 64, 20.0F, 0, false}, 300, 12}; // scores up to some hundred
    CHECK(error_of(*kernels, c) < (kernels->element == Element::bf16 ? 2e-2 : 1e-3));
  }
}

TEST_CASE("a sample of heads and tiles counts exactly the pairs it scores") {
  const compute::Kernels& kernels = *compute::usable_kernels(Element::fp32).front();
  const compute::Runtime runtime{&kernels, nullptr, 2, 1};
  const AttentionShape s{8, 4, 32, 32, 0.2F, 0, false};
  const std::int64_t context = 64, tokens = 200;
  const auto q = test::random_rows(runtime, tokens * s.heads * s.qk_dim, 1);
  const auto out = test::random_rows(runtime, tokens * s.heads * s.v_dim, 2);
  const compute::KvCache cache(kernels, 4, 2, 32, 32, context + tokens, 5, 1);
  const compute::AttentionScratch scratch(kernels.element, 32, 32, 2);
  compute::AttentionCall call{&kernels,   &s,
                              &cache,     &scratch,
                              context,    tokens,
                              q.data(),   s.heads * s.qk_dim,
                              out.data(), s.heads * s.v_dim,
                              2};
  const double all = compute::attend(call);
  call.kv_head_count = 1;
  double sum = 0;
  for (std::int64_t head = 0; head < 4; ++head) {
    call.first_kv_head = head;
    sum += compute::attend(call);
  }
  CHECK(sum == Approx(all));
  call.tile_step = 2;
  const double sampled = compute::attend(call);
  CHECK(sampled > 0.4 * all / 4);
  CHECK(sampled < 0.6 * all / 4);
}

TEST_CASE("dropping keys that no query sees leaves the work as it was") {
  for (const AttentionShape& s :
       {AttentionShape{4, 2, 64, 64, 1, 48, false}, AttentionShape{4, 2, 64, 64, 1, 100, true}})
    for (const std::int64_t context : {0, 10, 47, 48, 99, 100, 101, 950})
      CHECK(compute::visible_pairs(s, compute::held_context(s, context), 130) ==
            compute::visible_pairs(s, context, 130));
}

TEST_CASE("every kernel of this CPU passes its self-check") {
  CHECK(compute::rejected_kernels().empty());
  CHECK(compute::usable_kernels(Element::fp32).back() == &compute::baseline_fp32_kernels);
}
