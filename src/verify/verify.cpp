#include "verify/verify.hpp"

#include "calibrate/run.hpp"
#include "fit/fit.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"
#include "verify/judge.hpp"
#include "verify/session.hpp"
#include "verify/setup.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::verify {
namespace {

/// Kept back for the last run to end in, judging and removing scratch files.
constexpr double reserve_s = 0.3;
/// Guess of what building the model and writing the tiers' data takes, until it is done.
constexpr double build_share = 0.3;
/// Of the sampling time, before the places where it did not suffice are known.
constexpr double first_share = 0.7;
constexpr int wanted_runs = 4;

class Verification {
public:
  Verification(const profile::BreakEvenFile& file, const Request& request,
               calibrate::Progress& progress, std::stop_token stop)
      : m_file(file), m_request(request), m_progress(progress), m_stop(std::move(stop)),
        m_forecast(file), m_choices(choose_tiers(file, request)) {
    if (file.calibrated_lengths.empty())
      throw error(error_kind::bad_input, "the file names no calibrated_lengths to verify");
  }

  Report run() {
    ask();
    build();
    const double end_s = m_request.budget_s - reserve_s;
    Session session(
        {*m_compute, m_by_index, m_file, m_forecast, m_progress, m_stop, m_request.budget_s});
    m_progress.stage("trying each hit once");
    std::vector<Question> spare = session.add(usable(m_selection.questions), end_s, true);
    m_progress.stage("timing loads and recomputation in random order");
    const double start_s = m_progress.elapsed_s();
    session.sample(start_s + first_share * (end_s - start_s));
    if (const std::vector<Question> more = further(session); !more.empty()) {
      m_progress.stage("looking where the crossing is now");
      session.add(more, end_s, false);
    }
    // What seemed too long may fit into what is left, where memory holds it.
    const std::vector<Question> second = usable(m_selection.spare);
    spare.insert(spare.end(), second.begin(), second.end());
    leave_out(m_selection, m_file, session.add(spare, end_s, false), "not within the budget");
    session.sample(end_s);
    return report(session);
  }

private:
  /// Chooses what to measure, by the file's own times.
  void ask() {
    std::vector<std::size_t> tiers;
    for (const TierChoice& choice : m_choices)
      if (!choice.spec.empty()) tiers.push_back(choice.index);
    if (tiers.empty()) refuse();
    find_model(m_file, m_request.model);
    const CostModel cost{m_forecast, m_file};
    m_selection = within(all_questions(m_file, tiers), cost, (1 - build_share) * m_request.budget_s,
                         wanted_runs);
  }

  /// No tier can be tried.
  [[noreturn]] void refuse() const {
    std::string reasons;
    for (const TierChoice& choice : m_choices)
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ",
                             printable(m_file.tiers[choice.index].name), printable(choice.reason));
    throw error(error_kind::environment,
                "no tier of the file can be tried here: " +
                    (reasons.empty() ? std::string("it has none") : reasons));
  }

  calibrate::Plan make_plan() const {
    calibrate::Request request = request_for(m_file, m_request);
    for (const TierChoice& choice : m_choices)
      if (!choice.spec.empty()) request.tiers.push_back(choice.spec);
    std::int64_t longest = m_file.model.chunk_tokens;
    for (const Question& q : m_selection.questions)
      longest = std::max(longest, q.prompt);
    const std::int64_t unit = std::max<std::int64_t>(256, m_file.model.block_tokens);
    request.max_prefix_tokens = (longest + 2 * unit - 1) / unit * unit; // a plan rounds down
    calibrate::Plan plan = calibrate::make_plan(request);
    if (plan.request.chunk_tokens < m_file.model.chunk_tokens)
      throw error(error_kind::environment,
                  fmt::format("memory does not hold a step of {} tokens, as the file has it: free "
                              "some, or try a smaller model",
                              format_tokens(m_file.model.chunk_tokens)));
    return plan;
  }

  void build() {
    const calibrate::Plan plan = make_plan();
    m_longest = plan.max_prefix_tokens;
    m_progress.stage("building " + printable(plan.architecture.name) + " on " + plan.device);
    compute::ComputeOptions options;
    options.threads = plan.request.threads;
    options.max_context_tokens = plan.max_prefix_tokens;
    options.chunk_tokens = m_file.model.chunk_tokens;
    options.memory_limit_bytes = plan.compute_memory_bytes;
    m_compute = compute::create(plan.device, plan.architecture, options);
    std::uint64_t bytes = 1;
    for (const Question& q : m_selection.questions)
      if (q.cached < m_longest)
        bytes = std::max(bytes, static_cast<std::uint64_t>(fit::kv_bytes(m_file.model, q.cached)));
    compute::DeviceBuffer& device = m_compute->kv_buffer(std::max(bytes, plan.kv_buffer_bytes));
    for (TierChoice& choice : m_choices)
      if (!choice.spec.empty()) prepare(choice, plan, device);
    if (m_tiers.empty()) refuse();
    m_report.differences = node_differences(m_file, plan.node, m_compute->facts().name);
    for (const auto& [index, tier] : m_by_index)
      for (std::string& sentence : tier_differences(m_file.tiers[index], *tier))
        m_report.differences.push_back(std::move(sentence));
  }

  void prepare(TierChoice& choice, const calibrate::Plan& plan, compute::DeviceBuffer& device) {
    if (m_stop.stop_requested()) throw calibrate::Interrupted();
    m_progress.stage("preparing " + printable(choice.spec));
    tier::TierOptions options;
    options.layout = plan.layout;
    options.max_load_bytes = device.size_bytes();
    options.threads = plan.request.threads;
    try {
      const tier::TierSpec spec = tier::parse_tier_spec(choice.spec);
      const std::string why_not = tier::tier_kinds().at(spec.kind).unavailable_reason();
      if (!why_not.empty()) throw error(error_kind::environment, why_not);
      std::unique_ptr<tier::Tier> tier = tier::create(spec, options, device);
      tier->prepare();
      if (!tier->disqualified().empty()) throw error(error_kind::environment, tier->disqualified());
      m_by_index[choice.index] = tier.get();
      m_tiers.push_back(std::move(tier));
    } catch (const error& failure) {
      if (choice.requested)
        throw error(failure.kind(), "tier " + printable(choice.spec) + ": " + failure.what());
      choice.spec.clear();
      choice.reason = failure.what();
    }
  }

  /// Of the questions, those whose tier is there; those that the buffers are too small for are left
  /// out.
  std::vector<Question> usable(const std::vector<Question>& questions) {
    std::vector<Question> fitting, too_long;
    for (const Question& q : questions) {
      if (m_by_index.count(q.tier) == 0) continue;
      (q.prompt <= m_longest + 1 ? fitting : too_long).push_back(q);
    }
    leave_out(m_selection, m_file, too_long, "not within the budget, or the memory");
    return fitting;
  }

  /// Where a tier's claim did not hold or could not be told: on both sides of where the crossing is
  /// now, or further away from the claimed one.
  std::vector<Question> further(const Session& session) const {
    std::vector<Question> questions;
    const std::vector<Point> points = session.points();
    const auto ask_near = [&](std::size_t tier, double tokens) {
      const std::int64_t cached = loadable_near(m_file, tokens);
      for (const Point& point : points)
        if (point.question.tier == tier && point.question.cached == cached) return;
      if (cached > 0 && cached < m_longest)
        questions.push_back({tier, cached, cached + 1, Place::further});
    };
    for (const auto& [index, tier] : m_by_index) {
      const TierReport found = judge(m_file, m_forecast, index, points);
      const auto crossing = static_cast<double>(found.crossing_tokens);
      const auto claimed = static_cast<double>(found.claim.tokens);
      if (found.outcome == Outcome::moved && found.crossing_tokens > 0) {
        ask_near(index, crossing * 1.25);
        ask_near(index, crossing / 1.25);
      }
      if (found.outcome == Outcome::cannot_say && found.claim.verdict == profile::Verdict::at) {
        ask_near(index, claimed * 2);
        ask_near(index, claimed / 2);
      }
    }
    return questions;
  }

  Report report(const Session& session) {
    Report& report = m_report;
    report.status = m_file.status;
    report.model = m_file.model.name;
    report.device = m_compute->facts().id;
    report.device_name = m_compute->facts().name;
    for (const profile::Tier& tier : m_file.tiers)
      report.tier_names.push_back(tier.name);
    report.points = session.points();
    for (const TierChoice& choice : m_choices) {
      TierReport row = judge(m_file, m_forecast, choice.index, report.points);
      if (row.outcome == Outcome::cannot_say && !choice.reason.empty()) row.reason = choice.reason;
      report.tiers.push_back(std::move(row));
    }
    report.left_out = m_selection.left_out;
    for (const auto& [index, tier] : m_by_index)
      for (const std::string& sentence : tier->warnings())
        report.warnings.push_back(m_file.tiers[index].name + ": " + sentence);
    for (const std::string& sentence : m_compute->warnings())
      report.warnings.push_back(sentence);
    session.summarise(report);
    report.budget_s = m_request.budget_s;
    report.duration_s = m_progress.elapsed_s();
    return std::move(report);
  }

  const profile::BreakEvenFile& m_file;
  const Request& m_request;
  calibrate::Progress& m_progress;
  std::stop_token m_stop;
  Forecast m_forecast;
  std::vector<TierChoice> m_choices;
  Selection m_selection;
  std::int64_t m_longest = 0;
  std::unique_ptr<compute::Compute> m_compute;
  std::vector<std::unique_ptr<tier::Tier>> m_tiers;
  std::map<std::size_t, tier::Tier*> m_by_index;
  Report m_report;
};

} // namespace

Report verify(const profile::BreakEvenFile& file, const Request& request,
              calibrate::Progress& progress, std::stop_token stop) {
  return Verification(file, request, progress, std::move(stop)).run();
}

int exit_code(const Report& report) {
  const auto any = [&](Outcome outcome) {
    return std::any_of(report.tiers.begin(), report.tiers.end(),
                       [&](const TierReport& tier) { return tier.outcome == outcome; });
  };
  if (any(Outcome::moved)) return 1;
  if (any(Outcome::cannot_say) || !any(Outcome::confirmed))
    return static_cast<int>(error_kind::measurement);
  return 0;
}

} // namespace breakeven::verify
