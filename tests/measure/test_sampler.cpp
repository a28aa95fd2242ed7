#include "support/catch.hpp"

#include "fake_workload.hpp"

#include "support/error.hpp"

#include <algorithm>
#include <cmath>
#include <set>

using namespace breakeven;
using namespace breakeven::measure;
using fake::Clock;
using fake::FakeWorkload;

namespace {

SamplerOptions options_of(Clock& clock) {
  SamplerOptions options;
  options.clock = clock.reader();
  return options;
}

std::vector<Series> sample(std::vector<Workload*> workloads, const SamplerOptions& options,
                           std::stop_token stop = {}) {
  return sample_interleaved(workloads, options, stop);
}

/// `base` with uniform noise of +- `noise`, the same on each call order.
std::function<double(int)> noisy(double base, double noise, std::uint64_t seed) {
  return [base, noise, random = Random(seed)](int) mutable {
    return base * (1 + noise * (2 * random.uniform() - 1));
  };
}

} // namespace

TEST_CASE("steady workloads converge with as many samples as the interval needs") {
  Clock clock;
  FakeWorkload a(
      "a", clock, [](int) { return 1.0; }, 8),
      b("b", clock, noisy(2, 0.001, 1));
  const auto series = sample({&a, &b}, options_of(clock));
  REQUIRE(series.size() == 2);
  CHECK(series[0].name == "a");
  CHECK(series[0].stopped == StopReason::converged);
  CHECK(series[0].seconds.size() == 6);
  CHECK(series[0].seconds[0] == 8); // scaled
  CHECK(series[0].warmup_runs == 2);
  CHECK_FALSE(series[0].too_noisy);
  CHECK(series[1].stopped == StopReason::converged);
}

TEST_CASE("warm-up lasts until two runs agree, and is not among the samples") {
  Clock clock;
  FakeWorkload a("a", clock, [](int run) { return run < 4 ? 10.0 - 2 * run : 1.0; });
  const auto series = sample({&a}, options_of(clock));
  CHECK(series[0].warmup_runs == 6); // 10 8 6 4 1 1
  for (const double seconds : series[0].seconds)
    CHECK(seconds == 1);

  FakeWorkload never("never", clock, [](int run) { return run % 2 ? 1.0 : 2.0; });
  SamplerOptions options = options_of(clock);
  options.max_samples = 20;
  const auto unstable = sample({&never}, options);
  CHECK(unstable[0].warmup_runs == 10);
  CHECK(unstable[0].stopped == StopReason::sample_cap);
  CHECK(unstable[0].too_noisy);
}

TEST_CASE("a noisy workload ends at its sample cap and says that the machine is too noisy") {
  Clock clock;
  FakeWorkload noise("noise", clock, noisy(1, 0.5, 3)), calm("calm", clock, noisy(1, 0.005, 4));
  SamplerOptions options = options_of(clock);
  options.max_samples = 50;
  const auto series = sample({&noise, &calm}, options);
  CHECK(series[0].stopped == StopReason::sample_cap);
  CHECK(series[0].seconds.size() == 50);
  CHECK(series[0].too_noisy);
  CHECK(series[0].noise > 0.1);
  CHECK(series[1].stopped == StopReason::converged);
  CHECK_FALSE(series[1].too_noisy);
}

TEST_CASE("runs are interleaved in an order that changes from round to round") {
  Clock clock;
  std::vector<std::string> log;
  std::vector<std::unique_ptr<FakeWorkload>> owned;
  std::vector<Workload*> workloads;
  for (int i = 0; i < 4; ++i) {
    owned.push_back(std::make_unique<FakeWorkload>(std::to_string(i), clock, noisy(1, 0.2, 9)));
    owned.back()->log = &log;
    workloads.push_back(owned.back().get());
  }
  SamplerOptions options = options_of(clock);
  options.max_samples = 30;
  options.target_relative_half_width = 1e-6;
  sample(workloads, options);
  const std::size_t sampled = 30 * 4;
  REQUIRE(log.size() > sampled);
  const std::vector<std::string> rounds(log.end() - sampled, log.end());
  std::set<std::string> orders;
  for (std::size_t i = 0; i < sampled; i += 4) {
    std::set<std::string> members(rounds.begin() + static_cast<std::ptrdiff_t>(i),
                                  rounds.begin() + static_cast<std::ptrdiff_t>(i + 4));
    CHECK(members.size() == 4); // each round holds each workload once
    orders.insert(rounds[i] + rounds[i + 1] + rounds[i + 2] + rounds[i + 3]);
  }
  CHECK(orders.size() > 8);
}

TEST_CASE("the total time is kept and everything gets a sample") {
  Clock clock;
  std::vector<std::unique_ptr<FakeWorkload>> owned;
  std::vector<Workload*> workloads;
  for (int i = 0; i < 12; ++i) {
    owned.push_back(std::make_unique<FakeWorkload>(
        std::to_string(i), clock,
        noisy(0.001 * std::pow(2.0, i), 0.1, static_cast<std::uint64_t>(i) + 1)));
    workloads.push_back(owned.back().get());
  }
  for (const double total : {0.0, 5.0, 10.0, 20.0, 60.0}) {
    clock.now_s = 0;
    SamplerOptions options = options_of(clock);
    options.max_seconds_total = total;
    const auto series = sample(workloads, options);
    INFO("total " << total << " took " << clock.now_s);
    CHECK(clock.now_s <= std::max(total, 4.6) * 1.05); // one run of each takes 4.1 +- 0.4
    for (const auto& one : series)
      CHECK(one.seconds.size() >= 1);
    if (total == 0)
      for (const auto& one : series)
        CHECK(one.stopped == StopReason::time_cap);
    if (total == 20) CHECK(series[3].seconds.size() > 3 * series[11].seconds.size());
  }
}

TEST_CASE("short time goes where the uncertainty is") {
  Clock clock;
  FakeWorkload noise("noise", clock, noisy(0.1, 0.4, 3)), calm("calm", clock, noisy(0.1, 0.05, 4)),
      heavy("heavy", clock, noisy(3, 0.4, 5));
  SamplerOptions options = options_of(clock);
  options.max_seconds_total = 40;
  options.target_relative_half_width = 0.001;
  options.max_samples = 1000;
  const auto series = sample({&noise, &calm, &heavy}, options);
  CHECK(series[0].seconds.size() > 3 * series[1].seconds.size());
  CHECK(series[0].seconds.size() > 3 * series[2].seconds.size());
  CHECK(series[0].stopped == StopReason::time_cap);
  CHECK(clock.now_s <= 40);

  clock.now_s = 0;
  options.importance = {1, 16, 1}; // the calm one decides
  const auto weighted = sample({&noise, &calm, &heavy}, options);
  CHECK(weighted[1].seconds.size() > weighted[0].seconds.size());
}

TEST_CASE("a later call goes on from the samples of an earlier one") {
  Clock clock;
  FakeWorkload quick("quick", clock, noisy(0.1, 0.3, 3)), slow("slow", clock, noisy(3, 0.3, 4));
  SamplerOptions options = options_of(clock);
  options.max_seconds_total = 20;
  options.max_samples = 1000;
  options.target_relative_half_width = 0.001;
  const auto first = sample({&quick, &slow}, options);
  CHECK(first[1].last_run_s > 2);

  const int quick_runs = quick.runs, slow_runs = slow.runs;
  const double start_s = clock.now_s;
  options.continued = first;
  options.max_seconds_total = 1; // no time for a run of the slow one, nor for a warm-up
  const auto second = sample({&quick, &slow}, options);
  CHECK(clock.now_s - start_s <= 1);
  CHECK(slow.runs == slow_runs);
  CHECK(second[1].seconds == first[1].seconds);
  CHECK(second[1].stopped == StopReason::time_cap);
  CHECK(quick.runs > quick_runs);
  CHECK(second[0].warmup_runs == first[0].warmup_runs);
  REQUIRE(second[0].seconds.size() ==
          first[0].seconds.size() + static_cast<std::size_t>(quick.runs - quick_runs));
  CHECK(std::equal(first[0].seconds.begin(), first[0].seconds.end(), second[0].seconds.begin()));
}

TEST_CASE("one workload's cap stops it alone") {
  Clock clock;
  FakeWorkload a("a", clock, noisy(1, 0.3, 3)), b("b", clock, noisy(0.01, 0.3, 4));
  SamplerOptions options = options_of(clock);
  options.max_seconds_each = 10;
  options.max_samples = 60;
  const auto series = sample({&a, &b}, options);
  CHECK(series[0].stopped == StopReason::time_cap);
  CHECK(series[0].seconds.size() >= 5);
  CHECK(series[0].seconds.size() <= 10);
  CHECK(series[1].stopped == StopReason::sample_cap);
}

TEST_CASE("throttled runs are counted and left out") {
  Clock clock;
  FakeWorkload a("a", clock, [](int run) { return run % 3 == 2 ? 5.0 : 1.0; });
  a.throttled = [](int run) { return run % 3 == 2; };
  FakeWorkload hot("hot", clock, [](int) { return 5.0; });
  hot.throttled = [](int) { return true; };
  SamplerOptions options = options_of(clock);
  options.max_samples = 20;
  const auto series = sample({&a, &hot}, options);
  CHECK(series[0].discarded_throttled > 0);
  CHECK_FALSE(series[0].only_throttled);
  for (const double seconds : series[0].seconds)
    CHECK(seconds == 1);
  CHECK(series[1].only_throttled);
  CHECK(series[1].seconds == std::vector<double>{5});
  CHECK(series[1].discarded_throttled >= 20);
  CHECK(series[1].stopped == StopReason::sample_cap);
}

TEST_CASE("a stop request ends the run at once") {
  Clock clock;
  std::stop_source source;
  FakeWorkload a("a", clock, noisy(1, 0.3, 3)), b("b", clock, noisy(1, 0.3, 4));
  a.on_run = [&](int run) {
    if (run == 8) source.request_stop();
  };
  const auto series = sample({&a, &b}, options_of(clock), source.get_token());
  CHECK(a.runs == 9);
  CHECK(series[0].stopped == StopReason::interrupted);
  CHECK(series[1].stopped == StopReason::interrupted);

  const int runs_before = a.runs;
  const auto nothing = sample({&a}, options_of(clock), source.get_token());
  CHECK(a.runs == runs_before);
  CHECK(nothing[0].seconds.empty());
}

TEST_CASE("the same seed takes the same samples") {
  const auto once = [](std::uint64_t seed) {
    Clock clock;
    std::vector<std::string> log;
    FakeWorkload a("a", clock, noisy(1, 0.1, 3)), b("b", clock, noisy(1, 0.1, 4));
    a.log = b.log = &log;
    SamplerOptions options = options_of(clock);
    options.seed = seed;
    sample({&a, &b}, options);
    return log;
  };
  CHECK(once(5) == once(5));
  CHECK(once(5) != once(6));
}

TEST_CASE("progress hears of every run") {
  Clock clock;
  FakeWorkload a("a", clock, noisy(1, 0.1, 3));
  std::vector<Workload*> workloads = {&a};
  int calls = 0;
  double last = 0;
  sample_interleaved(workloads, options_of(clock), {}, [&](const std::string& name, double spent) {
    CHECK(name == "a");
    CHECK(spent >= last);
    last = spent;
    ++calls;
  });
  CHECK(calls == a.runs);
}

TEST_CASE("a criterion of the caller's own decides first") {
  struct StopAtThree final : StoppingCriterion {
    std::optional<StopReason> check(const SamplingState& state) const override {
      if (state.seconds.size() >= 3) return StopReason::converged;
      return std::nullopt;
    }
  };
  Clock clock;
  FakeWorkload a("a", clock, noisy(1, 0.5, 3));
  SamplerOptions options = options_of(clock);
  options.criteria = [] {
    std::vector<std::unique_ptr<StoppingCriterion>> set;
    set.push_back(std::make_unique<StopAtThree>());
    return set;
  };
  const auto series = sample({&a}, options);
  CHECK(series[0].seconds.size() == 3);
  CHECK(series[0].stopped == StopReason::converged);
}

TEST_CASE("options out of range are refused, and no workload is no series") {
  Clock clock;
  FakeWorkload a("a", clock, [](int) { return 1.0; });
  CHECK(sample({}, options_of(clock)).empty());
  const auto refused = [&](auto change) {
    SamplerOptions options = options_of(clock);
    change(options);
    CHECK_THROWS_AS(sample({&a}, options), error);
  };
  refused([](SamplerOptions& o) { o.target_relative_half_width = 0; });
  refused([](SamplerOptions& o) { o.confidence = 1; });
  refused([](SamplerOptions& o) { o.min_samples = 0; });
  refused([](SamplerOptions& o) { o.max_samples = 2; });
  refused([](SamplerOptions& o) { o.max_seconds_total = -1; });
  refused([](SamplerOptions& o) { o.importance = {1, 2}; });
  refused([](SamplerOptions& o) { o.importance = {0}; });
  refused([](SamplerOptions& o) { o.continued = std::vector<Series>(2); });
  CHECK(a.runs == 0);
}
