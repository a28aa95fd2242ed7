#include "compute/mixture.hpp"

#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

namespace breakeven::compute {
namespace {

class Mixture : public Mlp {
public:
  Mixture(const Runtime& runtime, const model::LayerKind& kind, const LayerOptions& options)
      : m_runtime(runtime), m_spec(kind.mlp), m_options(options) {
    m_router =
        random_matrix(runtime, options.hidden, m_spec.experts, false, options.seed, "router");
    const std::int64_t stored =
        options.stored_experts > 0 ? options.stored_experts : m_spec.experts;
    for (std::int64_t e = 0; e < std::min(stored, m_spec.experts); ++e)
      m_experts.push_back(std::make_unique<DenseMlp>(runtime, m_spec, m_spec.gated,
                                                     m_spec.intermediate, options,
                                                     "expert" + std::to_string(e) + "_"));
    if (m_spec.shared_intermediate > 0)
      m_shared = std::make_unique<DenseMlp>(runtime, m_spec, m_spec.gated,
                                            m_spec.shared_intermediate, options, "shared_");
  }

  void run(const Pass& pass) override {
    Workspace& w = *pass.workspace;
    const std::int64_t row_bytes = m_options.hidden * m_runtime.element_bytes();
    // extra: [tokens][hidden] gathered rows, then as much for their results, then router logits
    std::byte* gathered = w.extra.data();
    std::byte* results = gathered + pass.tokens * row_bytes;
    m_runtime.gemm->run(*m_router,
                        {w.normed.data(), pass.tokens, results + pass.tokens * row_bytes});
    if (m_shared) m_shared->run(pass);
    const Routing& routing = routing_for(pass.tokens);
    for (std::size_t e = 0; e < routing.tokens_of_expert.size(); ++e) {
      const auto& tokens = routing.tokens_of_expert[e];
      if (tokens.empty()) continue;
      const auto rows = static_cast<std::int64_t>(tokens.size());
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
      for (std::int64_t r = 0; r < rows; ++r)
        std::memcpy(gathered + r * row_bytes,
                    w.normed.data() + tokens[static_cast<std::size_t>(r)] * row_bytes,
                    static_cast<std::size_t>(row_bytes));
      m_experts[e % m_experts.size()]->apply(w, gathered, padded(rows, pass.tokens), results,
                                             false);
      const float weight = 1.0F / static_cast<float>(m_spec.experts_per_token);
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
      for (std::int64_t r = 0; r < rows; ++r)
        m_runtime.kernels->add_scaled(
            results + r * row_bytes, weight,
            w.hidden.data() + tokens[static_cast<std::size_t>(r)] * row_bytes, m_options.hidden);
    }
  }

private:
  /// Whole blocks of 16 rows, as grouped GEMMs compute them: it also bounds how many shapes the
  /// GEMM library must prepare. Rows beyond the expert's own hold leftovers that are not used.
  static std::int64_t padded(std::int64_t rows, std::int64_t most) {
    const std::int64_t blocks = (rows + 15) / 16 * 16;
    return blocks <= most ? blocks : rows;
  }

  const Routing& routing_for(std::int64_t tokens) {
    auto& routing = m_routings[tokens];
    if (routing.tokens_of_expert.empty())
      routing = draw_routing(m_spec.experts, m_spec.experts_per_token, tokens,
                             m_options.expert_skew, static_cast<std::uint64_t>(tokens));
    return routing;
  }

  Runtime m_runtime;
  model::MlpSpec m_spec;
  LayerOptions m_options;
  std::unique_ptr<PackedMatrix> m_router;
  std::vector<std::unique_ptr<DenseMlp>> m_experts;
  std::unique_ptr<DenseMlp> m_shared;
  std::map<std::int64_t, Routing> m_routings; ///< by tokens
};

} // namespace

Routing draw_routing(std::int64_t experts, std::int64_t per_token, std::int64_t tokens, double skew,
                     std::uint64_t seed) {
  measure::Random random(seed);
  std::vector<std::size_t> order(static_cast<std::size_t>(experts));
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  std::vector<std::pair<double, std::size_t>> keys(order.size());
  Routing routing;
  routing.tokens_of_expert.resize(order.size());
  const auto chosen = static_cast<std::ptrdiff_t>(std::min(per_token, experts));
  for (std::int64_t t = 0; t < tokens; ++t) {
    // Weighted draw without replacement: the smallest of exponential variates scaled by weight
    // (Efraimidis and Spirakis 2006).
    for (std::size_t e = 0; e < order.size(); ++e)
      keys[e] = {-std::log(1.0 - random.uniform()) * std::pow(1.0 + static_cast<double>(e), skew),
                 order[e]};
    std::partial_sort(keys.begin(), keys.begin() + chosen, keys.end());
    for (auto key = keys.begin(); key != keys.begin() + chosen; ++key)
      routing.tokens_of_expert[key->second].push_back(static_cast<std::int32_t>(t));
  }
  return routing;
}

std::unique_ptr<Mlp> make_mixture(const Runtime& runtime, const model::LayerKind& kind,
                                  const LayerOptions& options) {
  return std::make_unique<Mixture>(runtime, kind, options);
}

} // namespace breakeven::compute
