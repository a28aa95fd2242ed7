#include "verify/points.hpp"

#include "fit/fit.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace breakeven::verify {
namespace {

/// How far from the break-even length "just below" and "just above" lie at least: nearer, the two
/// times differ by less than a short measurement can tell.
constexpr double step_away = 1.25;
/// A device runs steps whole up to about this time, and a sample of their layers beyond.
constexpr double sampled_from_s = 0.1;
/// Rate at which loaded bytes are checked, outside of the timed region.
constexpr double check_Bps = 2e9;
/// No single question may take more of the time than this share.
constexpr double largest_share = 0.5;

double layers_share(const profile::Model& model) {
  std::int64_t layers = 0;
  for (const profile::LayerKind& kind : model.layer_kinds)
    layers += kind.count;
  return layers > 0 ? static_cast<double>(model.layer_kinds.size()) / static_cast<double>(layers)
                    : 1;
}

bool asked_already(const std::vector<Question>& questions, const Question& question) {
  return std::any_of(questions.begin(), questions.end(), [&](const Question& other) {
    return other.tier == question.tier && other.cached == question.cached &&
           other.prompt == question.prompt;
  });
}

class Asker {
public:
  Asker(const profile::BreakEvenFile& file, Selection& selection)
      : m_file(file), m_selection(selection) {}

  void whole(std::size_t tier, double tokens, Place place) {
    const std::int64_t cached = loadable_near(m_file, tokens);
    if (cached > 0) add({tier, cached, cached + 1, place});
  }

  void partial(std::size_t tier, std::int64_t prompt, double fraction) {
    const std::int64_t unit = m_file.model.block_tokens;
    const auto wanted = static_cast<std::int64_t>(fraction * static_cast<double>(prompt));
    const std::int64_t cached = fit::loadable_tokens(m_file.model, wanted / unit * unit);
    if (cached > 0) add({tier, cached, prompt, Place::partial});
  }

private:
  /// A length may be asked for twice: the shortest one can lie just below the break-even.
  void add(const Question& question) {
    if (!asked_already(m_selection.questions, question)) m_selection.questions.push_back(question);
  }
  const profile::BreakEvenFile& m_file;
  Selection& m_selection;
};

struct Asked {
  double tokens = 0;
  Place place = Place::at;
};

/// The lengths that test a claim, most decisive first.
std::vector<Asked> asked_of(const profile::BreakEven& claim, double shortest, double longest) {
  const double at = static_cast<double>(claim.tokens);
  if (claim.verdict == profile::Verdict::at) {
    const double below = std::min(static_cast<double>(claim.lo_tokens) - 1, at / step_away);
    const double above = std::max(static_cast<double>(claim.hi_tokens) + 1, at * step_away);
    return {{std::min(above, longest), Place::above},
            {std::max(below, shortest), Place::below},
            {at, Place::at}};
  }
  return {{shortest, Place::shortest},
          {longest, Place::longest},
          {std::sqrt(shortest * longest), Place::between}};
}

/// Takes questions in order while the time lasts.
class Chooser {
public:
  Chooser(const CostModel& cost, double seconds, int runs)
      : m_cost(cost), m_seconds(seconds), m_runs(runs),
        m_shortest(*std::min_element(cost.file.calibrated_lengths.begin(),
                                     cost.file.calibrated_lengths.end())) {}

  Selection choose(Selection selection) {
    m_kept.left_out = std::move(selection.left_out);
    for (const Question& asked : selection.questions) {
      const Question q = shortened(asked);
      if (!fits(q))
        m_kept.spare.push_back(q);
      else if (!asked_already(m_kept.questions, q)) // a stand-in may be there in its own right
        keep(q, asked);
    }
    for (std::size_t tier = 0; tier < m_cost.file.tiers.size(); ++tier)
      require_one(tier);
    return std::move(m_kept);
  }

private:
  [[nodiscard]] double price(const Question& q) const {
    const double recompute_s = m_prompts.count(q.prompt) > 0 ? 0 : m_cost.prefill_s(0, q.prompt);
    return m_runs * (m_cost.hit_s(q) + recompute_s);
  }
  [[nodiscard]] bool fits(const Question& q) const {
    return m_spent_s + price(q) <= m_seconds && price(q) <= largest_share * m_seconds;
  }
  void keep(const Question& q, const Question& asked) {
    m_spent_s += price(q);
    m_prompts.insert(q.prompt);
    m_kept.questions.push_back(q);
    if (q.cached != asked.cached && q.place == Place::longest)
      m_kept.left_out.push_back(fmt::format("{}: {} tokens do not fit into the budget, {} stand in",
                                            printable(m_cost.file.tiers[q.tier].name),
                                            format_tokens(asked.cached), format_tokens(q.cached)));
  }

  /// The longest length is halved until it fits, which keeps it a calibrated one; the one between
  /// follows.
  Question shortened(Question q) {
    const auto to = [&](double tokens) {
      q.cached = loadable_near(m_cost.file, tokens);
      q.prompt = q.cached + 1;
    };
    while (q.place == Place::longest && !fits(q) && q.cached > 4 * m_shortest)
      to(static_cast<double>(q.cached) / 2);
    if (q.place == Place::longest) m_longest[q.tier] = q.cached;
    const auto longest = m_longest.find(q.tier);
    if (q.place == Place::between && longest != m_longest.end())
      to(std::sqrt(static_cast<double>(m_shortest) * static_cast<double>(longest->second)));
    return q;
  }

  /// The cheapest question of a tier that has none.
  void require_one(std::size_t tier) {
    const auto of_tier = [&](const Question& q) { return q.tier == tier && q.whole(); };
    if (std::any_of(m_kept.questions.begin(), m_kept.questions.end(), of_tier)) return;
    auto cheapest = m_kept.spare.end();
    for (auto q = m_kept.spare.begin(); q != m_kept.spare.end(); ++q)
      if (of_tier(*q) && (cheapest == m_kept.spare.end() || price(*q) < price(*cheapest)))
        cheapest = q;
    if (cheapest == m_kept.spare.end()) return;
    const Question q = *cheapest;
    m_kept.spare.erase(cheapest);
    keep(q, q);
  }

  const CostModel& m_cost;
  double m_seconds;
  int m_runs;
  std::int64_t m_shortest;
  Selection m_kept;
  std::set<std::int64_t> m_prompts;              ///< a prompt is recomputed once for all tiers
  std::map<std::size_t, std::int64_t> m_longest; ///< by tier
  double m_spent_s = 0;
};

} // namespace

double CostModel::prefill_s(std::int64_t context, std::int64_t new_tokens) const {
  constexpr std::int64_t most_steps = 4096; // beyond, no budget suffices, and any answer will do
  if (new_tokens / file.model.chunk_tokens > most_steps)
    return forecast.prefill_s(context, new_tokens);
  const double share = layers_share(file.model);
  double sum = 0;
  while (new_tokens > 0) {
    const std::int64_t step = std::min(new_tokens, file.model.chunk_tokens);
    const double seconds = forecast.prefill_s(context, step);
    sum += std::min(seconds, std::max(sampled_from_s, share * seconds));
    context += step;
    new_tokens -= step;
  }
  return sum;
}

double CostModel::hit_s(const Question& question) const {
  const auto bytes = static_cast<double>(fit::kv_bytes(file.model, question.cached));
  return forecast.load_s(question.tier, question.cached) + bytes / check_Bps +
         prefill_s(question.cached, question.prompt - question.cached);
}

std::int64_t loadable_near(const profile::BreakEvenFile& file, double tokens) {
  const auto [shortest, longest] =
      std::minmax_element(file.calibrated_lengths.begin(), file.calibrated_lengths.end());
  const auto unit = static_cast<double>(file.model.block_tokens);
  const auto near = static_cast<std::int64_t>(std::round(tokens / unit) * unit);
  return fit::loadable_tokens(file.model, std::clamp(near, *shortest, *longest));
}

Selection all_questions(const profile::BreakEvenFile& file, const std::vector<std::size_t>& tiers) {
  Selection selection;
  Asker asker(file, selection);
  const auto [shortest, longest] =
      std::minmax_element(file.calibrated_lengths.begin(), file.calibrated_lengths.end());
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (const std::size_t tier : tiers) {
      const std::vector<Asked> asked =
          asked_of(file.tiers[tier].break_even, static_cast<double>(*shortest),
                   static_cast<double>(*longest));
      asker.whole(tier, asked[rank].tokens, asked[rank].place);
    }
  for (const std::int64_t prompt : {std::int64_t{8192}, std::int64_t{32768}}) {
    if (prompt > *longest) {
      selection.left_out.push_back(
          fmt::format("hits in prompts of {} tokens: the file was calibrated up to {}",
                      format_tokens(prompt), format_tokens(*longest)));
      continue;
    }
    for (const double fraction : {0.5, 0.9, 0.1})
      for (const std::size_t tier : tiers)
        asker.partial(tier, prompt, fraction);
  }
  return selection;
}

Selection within(Selection selection, const CostModel& cost, double seconds, int runs) {
  return Chooser(cost, seconds, runs).choose(std::move(selection));
}

void leave_out(Selection& selection, const profile::BreakEvenFile& file,
               const std::vector<Question>& questions, const std::string& why) {
  std::map<std::string, std::set<std::int64_t>> partial, whole;
  for (const Question& q : questions) {
    if (q.whole())
      whole[printable(file.tiers[q.tier].name)].insert(q.cached);
    else
      partial[printable(file.tiers[q.tier].name)].insert(q.prompt);
  }
  const auto list = [](const std::set<std::int64_t>& tokens) {
    std::string text;
    for (const std::int64_t each : tokens)
      text += (text.empty() ? "" : ", ") + format_tokens(each);
    return text;
  };
  for (const auto& [name, tokens] : whole)
    selection.left_out.push_back(
        fmt::format("{}: prefixes of {} tokens: {}", name, list(tokens), why));
  for (const auto& [name, prompts] : partial)
    selection.left_out.push_back(
        fmt::format("{}: hits in prompts of {} tokens: {}", name, list(prompts), why));
}

} // namespace breakeven::verify
