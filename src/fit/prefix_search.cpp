#include "fit/prefix_search.hpp"

#include <algorithm>
#include <cmath>

namespace breakeven::fit {

namespace {

constexpr std::int64_t most_chunk_edges = 16384;
constexpr std::int64_t frontier_lengths = 256;

void sort_unique(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void add_bends(std::vector<std::int64_t>& bends, const profile::Model& model,
               const PrefillCurve& curve, std::int64_t hi) {
  // The last step of a prompt of p + 1 tokens covers 1 .. chunk_tokens of them.
  std::vector<std::int64_t> last_step = {1, model.chunk_tokens};
  for (const std::int64_t knot : curve.new_knots())
    if (knot >= 1 && knot <= model.chunk_tokens) last_step.push_back(knot);
  sort_unique(last_step);
  for (std::int64_t start = 0; start <= hi; start += model.chunk_tokens)
    for (const std::int64_t count : last_step)
      bends.push_back(start + count - 1);
  // The one token computed after a load attends to p.
  for (const std::int64_t knot : curve.context_knots())
    bends.push_back(knot);
  for (const profile::WindowTerm& term : model.kv_windows)
    bends.push_back(term.window_tokens);
}

} // namespace

std::vector<std::int64_t> search_lengths(const profile::Model& model, const PrefillCurve& curve,
                                         const std::vector<profile::Tier>& tiers, std::int64_t lo,
                                         std::int64_t hi) {
  std::vector<std::int64_t> bends = {lo, hi};
  add_bends(bends, model, curve, hi);
  for (const profile::Tier& tier : tiers) {
    const std::int64_t chunk = tier.layout.chunk_tokens;
    if (!tier.load || chunk < 1 || hi / chunk > most_chunk_edges) continue;
    for (std::int64_t edge = chunk; edge <= hi; edge += chunk) {
      bends.push_back(edge);
      bends.push_back(edge + 1);
    }
  }
  sort_unique(bends);
  const std::int64_t stride = std::max<std::int64_t>(1, model.checkpoint_tokens);
  std::vector<std::int64_t> lengths;
  for (const std::int64_t bend : bends)
    for (const std::int64_t length :
         {bend / stride * stride, (bend + stride - 1) / stride * stride})
      if (length >= std::max<std::int64_t>(1, lo) && length <= hi) lengths.push_back(length);
  sort_unique(lengths);
  return lengths;
}

std::vector<double> saved_at(const PrefillCurve& curve, std::int64_t chunk_tokens,
                             const std::vector<std::int64_t>& lengths) {
  std::vector<double> saved;
  saved.reserve(lengths.size());
  std::int64_t covered = 0; // whole steps before the last one of the prompt
  double covered_s = 0;
  for (const std::int64_t length : lengths) {
    while (length + 1 - covered > chunk_tokens) {
      covered_s += curve.step_s(covered, chunk_tokens);
      covered += chunk_tokens;
    }
    saved.push_back(covered_s + curve.step_s(covered, length + 1 - covered) -
                    curve.step_s(length, 1));
  }
  return saved;
}

LoadSizes::LoadSizes(const profile::Model& model, const profile::Layout& layout,
                     const std::vector<std::int64_t>& lengths) {
  for (const std::int64_t length : lengths) {
    m_bytes.push_back(static_cast<double>(kv_bytes(model, length)));
    m_pieces.push_back(static_cast<double>(pieces(layout, length)));
  }
}

std::int64_t smallest_winning(const std::vector<std::int64_t>& lengths,
                              const std::vector<double>& saved_s, const LoadSizes& sizes,
                              const LoadFit& fit, std::int64_t stride) {
  double margin_above = 0;
  for (std::size_t i = lengths.size(); i-- > 0;) {
    const double margin = saved_s[i] - sizes.load_s(fit, i);
    if (margin > 0) {
      margin_above = margin;
      continue;
    }
    if (i + 1 == lengths.size()) return no_length;
    // Linear from a margin <= 0 at lengths[i] to one > 0 at lengths[i + 1].
    const std::int64_t count = (lengths[i + 1] - lengths[i]) / stride;
    const double zero = -margin / (margin_above - margin) * static_cast<double>(count);
    const std::int64_t steps = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::floor(zero * (1 + 1e-12))) + 1, 1, count);
    return lengths[i] + steps * stride;
  }
  return lengths.empty() ? no_length : lengths.front();
}

std::int64_t smallest_winning_cached(const profile::Model& model, const profile::Layout& layout,
                                     const PrefillCurve& curve, const LoadFit& fit,
                                     std::int64_t prompt) {
  const std::int64_t stride = std::max<std::int64_t>(1, model.checkpoint_tokens);
  const std::int64_t most = (prompt - 1) / stride; // in strides, as all of the search
  if (most < 1) return no_length;
  const double whole_s = curve.prefill_s(0, prompt);
  const auto wins = [&](std::int64_t strides) {
    const std::int64_t cached = strides * stride;
    return whole_s - curve.prefill_s(cached, prompt - cached) >
           fit.load_s(kv_bytes(model, cached), pieces(layout, cached));
  };
  // Just past a chunk edge a whole chunk more is loaded: look at both sides of evenly spread edges.
  const std::int64_t chunk = std::max<std::int64_t>(1, layout.chunk_tokens);
  const std::int64_t every = std::max<std::int64_t>(1, 2 * prompt / chunk / frontier_lengths);
  std::vector<std::int64_t> candidates = {1, most};
  for (std::int64_t edge = every * chunk; edge < prompt; edge += every * chunk)
    for (const std::int64_t strides : {edge / stride, edge / stride + 1})
      if (strides >= 1 && strides <= most) candidates.push_back(strides);
  sort_unique(candidates);

  std::int64_t winning = no_length, losing = 0; // caching nothing wins nothing
  for (std::size_t i = candidates.size(); i-- > 0;) {
    if (!wins(candidates[i])) {
      losing = candidates[i];
      break;
    }
    winning = candidates[i];
  }
  if (winning == no_length) return no_length;
  while (winning - losing > 1) {
    const std::int64_t middle = losing + (winning - losing) / 2;
    (wins(middle) ? winning : losing) = middle;
  }
  return winning * stride;
}

} // namespace breakeven::fit
