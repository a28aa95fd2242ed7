#include "support/catch.hpp"

#include "fit/fit.hpp"
#include "predict/predict.hpp"

#include <cmath>
#include <cstdio>

using namespace breakeven;
using namespace breakeven::predict;

/// What predict gives beside the measurements of arXiv 2609.11744 (rows meas-* of
/// tests/data/published.tsv). The bounds are the errors that docs/predict.md states.
namespace {

struct Setting {
  const char* utilisation;
  double fixed_s;
};
constexpr Setting as_shipped{"0.5", 0};
/// Utilisation and fixed cost per hit that fit the three measured break-even bandwidths best.
constexpr Setting fitted{"0.615", 0.0026};

struct Measured {
  std::int64_t tokens;
  double break_even_Bps;
};
constexpr Measured bandwidths[] = {{1024, 23.2e9}, {8192, 10.4e9}, {81920, 3.5e9}};

profile::BreakEvenFile file_of(const char* model, const char* node, const Setting& setting,
                               const char* ssd, const char* memory) {
  Request r;
  r.model = model;
  r.node = node;
  r.model_options.tensor_parallel = 0;
  r.utilisation = parse_utilisation(setting.utilisation, "u");
  r.fixed_s = setting.fixed_s;
  r.chunk_tokens = 8192;
  r.max_prefix_tokens = 81920;
  r.tiers = {std::string("ssd=") + ssd, std::string("memory=") + memory};
  return predict::predict(resolve(r));
}

double bandwidth_error(const Setting& setting, const Measured& measured) {
  const profile::BreakEvenFile file =
      file_of("llama-3.2-3b", "h100-sxm", setting, "13.5GB/s", "55GB/s");
  const fit::PrefillCurve curve(file.prefill, file.model.chunk_tokens);
  const double bytes = static_cast<double>(fit::kv_bytes(file.model, measured.tokens));
  const double saved_s = curve.saved_s(0, measured.tokens, measured.tokens + 1);
  return bytes / (saved_s - setting.fixed_s) / measured.break_even_Bps - 1;
}

double length_error(const profile::BreakEvenFile& file, std::size_t tier, double measured) {
  REQUIRE(file.tiers[tier].break_even.tokens > 0);
  return static_cast<double>(file.tiers[tier].break_even.tokens) / measured - 1;
}

double frontier(const profile::BreakEvenFile& file, std::int64_t prompt) {
  for (const profile::FrontierPoint& point : file.frontier)
    if (point.tier == "ssd" && point.prompt_tokens == prompt) return point.fraction;
  return 0;
}

} // namespace

TEST_CASE("as shipped, predict is low on measured break-even bandwidths, most at short prefixes") {
  CHECK(bandwidth_error(as_shipped, bandwidths[0]) == Approx(-0.49).margin(0.02));
  CHECK(bandwidth_error(as_shipped, bandwidths[1]) == Approx(-0.23).margin(0.02));
  CHECK(bandwidth_error(as_shipped, bandwidths[2]) == Approx(-0.18).margin(0.02));
}

TEST_CASE("one fixed cost and one utilisation give all three measured bandwidths within 2.2 %") {
  for (const Measured& each : bandwidths)
    CHECK(std::abs(bandwidth_error(fitted, each)) < 0.022);
}

TEST_CASE("the errors of predicted break-even lengths are those that the documentation states") {
  const auto llmd = file_of("llama-3.2-3b", "h100-sxm", fitted, "11.2GB/s", "55GB/s");
  CHECK(length_error(llmd, 0, 6057) == Approx(0.03).margin(0.02));
  CHECK(length_error(llmd, 1, 736) == Approx(-0.13).margin(0.02));
  CHECK(frontier(llmd, 8192) / 0.778 - 1 == Approx(-0.18).margin(0.02));
  CHECK(frontier(llmd, 81920) / 0.078 - 1 == Approx(-0.18).margin(0.02));
  const auto fast = file_of("llama-3.2-3b", "h100-sxm", fitted, "13.5GB/s", "55GB/s");
  CHECK(length_error(fast, 0, 6057) == Approx(-0.51).margin(0.02));
  const auto qwen = file_of("qwen3-4b", "h100-sxm", fitted, "11.2GB/s", "55GB/s");
  CHECK(length_error(qwen, 1, 825) == Approx(-0.32).margin(0.02));
  CHECK(length_error(qwen, 0, 6203) == Approx(-0.21).margin(0.03));
  const auto ada = file_of("qwen3-4b", "rtx-4000-ada", fitted, "6GB/s", "27.2GB/s");
  CHECK(length_error(ada, 0, 559) == Approx(-0.59).margin(0.02));
  CHECK(length_error(ada, 1, 481) == Approx(-0.59).margin(0.02));
}

TEST_CASE("table of measured against predicted", "[.table]") {
  for (const Setting& setting : {as_shipped, fitted}) {
    std::printf("utilisation %s, fixed %g ms\n", setting.utilisation, 1e3 * setting.fixed_s);
    for (const Measured& each : bandwidths)
      std::printf("  break-even bandwidth %lld: measured %.3g GB/s, error %+.1f %%\n",
                  static_cast<long long>(each.tokens), each.break_even_Bps / 1e9,
                  100 * bandwidth_error(setting, each));
    struct Case {
      const char *model, *node, *ssd, *memory;
      double ssd_tokens, memory_tokens;
    };
    for (const Case& c : {Case{"llama-3.2-3b", "h100-sxm", "13.5GB/s", "55GB/s", 6057, 736},
                          Case{"llama-3.2-3b", "h100-sxm", "12GB/s", "55GB/s", 6057, 736},
                          Case{"llama-3.2-3b", "h100-sxm", "11.2GB/s", "55GB/s", 6057, 736},
                          Case{"qwen3-4b", "h100-sxm", "11.2GB/s", "55GB/s", 6203, 825},
                          Case{"qwen3-4b", "h100-sxm", "13.5GB/s", "55GB/s", 6203, 825},
                          Case{"qwen3-4b", "rtx-4000-ada", "6GB/s", "27.2GB/s", 559, 481}}) {
      const auto file = file_of(c.model, c.node, setting, c.ssd, c.memory);
      const auto& ssd = file.tiers[0].break_even;
      const auto& memory = file.tiers[1].break_even;
      std::printf("  %s on %s: ssd at %s %s %lld (%lld to %lld, measured %g), memory %s %lld "
                  "(measured %g); frontier 8k %.3f, 80k %.3f\n",
                  c.model, c.node, c.ssd, profile::to_string(ssd.verdict),
                  static_cast<long long>(ssd.tokens), static_cast<long long>(ssd.lo_tokens),
                  static_cast<long long>(ssd.hi_tokens), c.ssd_tokens,
                  profile::to_string(memory.verdict), static_cast<long long>(memory.tokens),
                  c.memory_tokens, frontier(file, 8192), frontier(file, 81920));
    }
  }
}
