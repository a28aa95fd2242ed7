#include "compute/kernels.hpp"

#include "compute/attention.hpp"
#include "compute/bf16.hpp"
#include "compute/cpu_features.hpp"
#include "compute/kernels_tables.hpp"

#include <algorithm>
#include <cmath>

namespace breakeven::compute {
namespace {

/// Self-check tolerance: probabilities and results are rounded to the element type.
double tolerance(Element element) {
  return element == Element::bf16 ? 2e-2 : 1e-5;
}

double value(const Kernels& kernels, const Buffer& buffer, std::int64_t index) {
  if (kernels.element == Element::fp32) return static_cast<double>(buffer.as<float>()[index]);
  return static_cast<double>(to_float(buffer.as<bf16>()[index]));
}

struct Candidates {
  std::vector<const Kernels*> fp32, bf16;
  std::vector<std::string> rejected;

  void consider(const Kernels& kernels) {
    const double difference = attention_self_check(kernels);
    if (difference <= tolerance(kernels.element)) // false for NaN
      (kernels.element == Element::bf16 ? bf16 : fp32).push_back(&kernels);
    else
      rejected.push_back(std::string("the ") + kernels.name +
                         " attention kernel gave wrong results here and is not used");
  }
};

Candidates try_all() {
  Candidates found;
#if defined(__x86_64__)
  const CpuFeatures& cpu = cpu_features();
  if (cpu.amx_bf16) found.consider(amx_bf16_kernels);
  if (cpu.avx512_bf16) found.consider(avx512_bf16_kernels);
  if (cpu.avx512) found.consider(avx512_fp32_kernels);
  if (cpu.avx2) found.consider(avx2_fp32_kernels);
#endif
  found.fp32.push_back(&baseline_fp32_kernels); // plain loops: what everything else must equal
  return found;
}

const Candidates& candidates() {
  static const Candidates found = try_all();
  return found;
}

/// One (query, head) of the self-check in double precision.
std::vector<double> reference_row(const Kernels& kernels, const AttentionShape& shape,
                                  const Buffer& q, const Buffer& k, const Buffer& v,
                                  std::int64_t query, std::int64_t head, std::int64_t position) {
  const std::int64_t kv_head = head / (shape.heads / shape.kv_heads);
  const KeyRange keys = visible_keys(shape, position);
  std::vector<double> out(static_cast<std::size_t>(shape.v_dim), 0.0);
  double sum = 0;
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    double score = 0;
    for (std::int64_t d = 0; d < shape.qk_dim; ++d)
      score += value(kernels, q, (query * shape.heads + head) * shape.qk_dim + d) *
               value(kernels, k, (key * shape.kv_heads + kv_head) * shape.qk_dim + d);
    const double weight = std::exp(score * static_cast<double>(shape.scale));
    sum += weight;
    for (std::int64_t d = 0; d < shape.v_dim; ++d)
      out[static_cast<std::size_t>(d)] +=
          weight * value(kernels, v, (key * shape.kv_heads + kv_head) * shape.v_dim + d);
  }
  for (double& x : out)
    x /= sum;
  return out;
}

double check_shape(const Kernels& kernels, const AttentionShape& shape, std::int64_t context,
                   std::int64_t new_tokens) {
  const std::int64_t tokens = context + new_tokens, element_bytes = bytes_of(kernels.element);
  const auto make = [&](std::int64_t n, std::uint64_t seed) {
    Buffer buffer(static_cast<std::uint64_t>(n * element_bytes));
    fill_random(kernels, buffer.data(), n, seed, 1.0F, 1);
    return buffer;
  };
  const Buffer q = make(new_tokens * shape.heads * shape.qk_dim, 11);
  const Buffer k = make(tokens * shape.kv_heads * shape.qk_dim, 12);
  const Buffer v = make(tokens * shape.kv_heads * shape.v_dim, 13);
  const Buffer out = make(new_tokens * shape.heads * shape.v_dim, 14);
  KvCache cache(kernels, shape.kv_heads, shape.kv_heads, shape.qk_dim, shape.v_dim, tokens, 15, 1);
  for (std::int64_t token = 0; token < tokens; ++token)
    for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
      const std::int64_t row = token * shape.kv_heads + head;
      cache.store(kernels, token, head, k.data() + row * shape.qk_dim * element_bytes,
                  v.data() + row * shape.v_dim * element_bytes);
    }
  const AttentionScratch scratch(kernels.element, shape.qk_dim, shape.v_dim, 1);
  AttentionCall call{&kernels,   &shape,
                     &cache,     &scratch,
                     context,    new_tokens,
                     q.data(),   shape.heads * shape.qk_dim,
                     out.data(), shape.heads * shape.v_dim};
  attend(call);
  double worst = 0, largest = 0;
  for (std::int64_t query = 0; query < new_tokens; ++query)
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const auto expected = reference_row(kernels, shape, q, k, v, query, head, context + query);
      for (std::int64_t d = 0; d < shape.v_dim; ++d) {
        const double x = expected[static_cast<std::size_t>(d)];
        const double got = value(kernels, out, (query * shape.heads + head) * shape.v_dim + d);
        if (!std::isfinite(got)) return got;
        worst = std::max(worst, std::abs(got - x));
        largest = std::max(largest, std::abs(x));
      }
    }
  return worst / largest;
}

} // namespace

double attention_self_check(const Kernels& kernels) {
  const AttentionShape full{4, 2, 64, 64, 0.125F, 0, false};
  const AttentionShape windowed{3, 1, 80, 48, 0.11F, 70, false};
  const double a = check_shape(kernels, full, 290, 37), b = check_shape(kernels, windowed, 40, 90);
  return std::isfinite(a) && std::isfinite(b) ? std::max(a, b) : std::nan("");
}

const std::vector<const Kernels*>& usable_kernels(Element element) {
  return element == Element::bf16 ? candidates().bf16 : candidates().fp32;
}

const std::vector<std::string>& rejected_kernels() {
  return candidates().rejected;
}

} // namespace breakeven::compute
