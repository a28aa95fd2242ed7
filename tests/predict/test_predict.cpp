#include "support/catch.hpp"

#include "fit/fit.hpp"
#include "predict/like.hpp"
#include "predict/predict.hpp"
#include "support/error.hpp"

#include <functional>

using namespace breakeven;
using namespace breakeven::predict;
using Catch::Matchers::Contains;

namespace {

Request request(const std::string& model, const std::string& node) {
  Request r;
  r.model = model;
  r.node = node;
  r.model_options.tensor_parallel = 0;
  r.max_prefix_tokens = 16384;
  return r;
}

void each_time(const profile::Prefill& prefill,
               const std::function<void(const profile::Measurement&)>& look) {
  for (const auto& m : prefill.dense.seconds)
    look(m);
  for (const auto& grid : prefill.attention)
    for (const auto& row : grid.seconds)
      for (const auto& m : row)
        look(m);
}

} // namespace

TEST_CASE("nothing in a predicted file can pass for a measurement") {
  const profile::BreakEvenFile file = predict::predict(resolve(request("llama-3.1-8b", "h100")));
  CHECK(file.status == "predicted");
  CHECK(file.node.fingerprint == "predicted");
  CHECK_THAT(file.prefill.device_name, Contains("predicted"));
  CHECK_THAT(file.prefill.kernel_source, Contains("roofline at 50 %"));
  each_time(file.prefill, [](const profile::Measurement& m) {
    CHECK(m.stopped == "predicted");
    CHECK(m.count == 0);
    CHECK(m.samples_s.empty());
    CHECK(m.lo_s <= m.median_s);
    CHECK(m.median_s <= m.hi_s);
  });
  REQUIRE_FALSE(file.warnings.empty());
  CHECK_THAT(file.warnings.front().message, Contains("nothing was measured"));
  const profile::BreakEvenFile again =
      profile::from_json_text(profile::to_json_text(file), "a predicted file");
  CHECK(again.status == "predicted");
  CHECK(again.tiers.front().identity.at("status") == "published figures, not measured");
}

TEST_CASE("intervals are the range of the utilisation") {
  Request r = request("llama-3.1-8b", "h100-sxm");
  r.tiers = {"ssd=3GB/s,fixed=5ms"};
  r.utilisation = parse_utilisation("0.4-0.6", "u");
  const profile::BreakEvenFile file = predict::predict(resolve(r));
  const profile::Measurement& chunk = file.prefill.dense.seconds.back();
  CHECK(chunk.hi_s / chunk.median_s == Approx(0.5 / 0.4));
  CHECK(chunk.lo_s / chunk.median_s == Approx(0.5 / 0.6));
  const profile::LengthAnswer& longest = file.lengths.back();
  CHECK(longest.saved_s.hi / longest.saved_s.value == Approx(1.25).epsilon(0.01));
  CHECK(longest.saved_s.lo / longest.saved_s.value == Approx(5.0 / 6).epsilon(0.01));
  const profile::BreakEven& answer = file.tiers.front().break_even;
  r.utilisation = parse_utilisation("0.4-0.4", "u");
  CHECK(predict::predict(resolve(r)).tiers.front().break_even.tokens == answer.lo_tokens);
  r.utilisation = parse_utilisation("0.6-0.6", "u");
  const profile::BreakEven fast = predict::predict(resolve(r)).tiers.front().break_even;
  CHECK((fast.verdict == profile::Verdict::never ? 0 : fast.tokens) == answer.hi_tokens);
}

TEST_CASE("a range that reaches from winning to never is inconclusive") {
  Request r = request("llama-3.2-3b", "h100-sxm");
  r.max_prefix_tokens = 1024;
  r.utilisation = parse_utilisation("0.2-1", "u");
  r.tiers = {"ssd=12GB/s,fixed=4ms"};
  const profile::BreakEven answer = predict::predict(resolve(r)).tiers.front().break_even;
  CHECK(answer.verdict == profile::Verdict::inconclusive);
  CHECK_THAT(answer.reason, Contains("range of utilisation"));
}

TEST_CASE("short steps are bound by streaming the weights") {
  const Inputs inputs = resolve(request("llama-3.1-8b", "h100-sxm"));
  const Roofline r = inputs.roofline();
  const double weights_s =
      2 * static_cast<double>(inputs.model.block_gemm_parameters_per_token()) / (0.8 * 3.35e12);
  CHECK(r.dense_s(1) == Approx(weights_s));
  CHECK(r.dense_s(r.knee_tokens()) == Approx(weights_s).epsilon(0.01));
  CHECK(r.dense_s(4096) == Approx(2 * r.dense_s(2048)));
  CHECK(r.prefill_s(1000, 5000, 2048) ==
        Approx(r.step_s(1000, 2048) + r.step_s(3048, 2048) + r.step_s(5096, 904)));
}

TEST_CASE("experts that no token of a short step needs are not streamed") {
  const Roofline r = resolve(request("qwen3-30b-a3b", "h100-sxm")).roofline();
  CHECK(r.dense_s(1) < 0.2 * r.dense_s(256));
}

TEST_CASE("the prefill curve of the file gives the roofline's own sums") {
  for (const char* model : {"llama-3.2-3b", "gemma-3-27b", "deepseek-v3", "gpt-oss-20b"}) {
    Request r = request(model, "h100-sxm:8");
    r.max_prefix_tokens = 65536;
    const Inputs inputs = resolve(r);
    const profile::BreakEvenFile file = predict::predict(inputs);
    const fit::PrefillCurve curve(file.prefill, file.model.chunk_tokens);
    INFO(model);
    for (const std::int64_t n : {512, 2048, 8192, 65536})
      CHECK(curve.prefill_s(0, n) == Approx(inputs.roofline().prefill_s(0, n, 2048)).epsilon(0.02));
  }
}

TEST_CASE("a tier is not faster than the link to the device") {
  Request r = request("llama-3.2-3b", "h100-sxm");
  r.tiers = {"memory=400GB/s", "net=400gbe"};
  const profile::BreakEvenFile file = predict::predict(resolve(r));
  CHECK(file.tiers[0].load->bandwidth[0].bandwidth_Bps.value == Approx(64e9));
  CHECK(file.tiers[1].load->bandwidth[0].bandwidth_Bps.value == Approx(50e9));
  CHECK(file.tiers[1].load->bandwidth[1].bandwidth_Bps.value == Approx(25e9));
  CHECK_THAT(file.warnings.back().message, Contains("64.0 GB/s"));
}

TEST_CASE("every bundled node predicts, and its file is read back") {
  for (const Hardware& each : hardware()) {
    if (each.kind != "accelerator" && each.kind != "cpu") continue;
    INFO(each.name);
    const profile::BreakEvenFile file = predict::predict(resolve(request("qwen3-8b", each.name)));
    CHECK(profile::from_json_text(profile::to_json_text(file), "f").tiers.size() == 1);
  }
}

TEST_CASE("what a request may not say") {
  CHECK_THROWS_WITH(parse_utilisation("0", "--utilisation"), Contains("--utilisation"));
  CHECK_THROWS_WITH(parse_utilisation("1.2", "--utilisation"), Contains("at most 1"));
  CHECK_THROWS_WITH(parse_utilisation("0.6-0.4", "--utilisation"), Contains("0.4-0.6"));
  CHECK_THROWS_WITH(parse_utilisation("50%", "--utilisation"), Contains("0.5"));
  CHECK(parse_parameters("8.03B", "x") == Approx(8.03e9));
  CHECK_THROWS_AS(parse_parameters("8B9", "x"), error);
  Request r = request("llama-3.2-3b", "h100-sxm:4");
  r.model_options.tensor_parallel = 8;
  CHECK_THROWS_WITH(resolve(r), Contains("h100-sxm:8"));
  r = request("llama-3.2-3b", "h100-sxm");
  r.tiers = {"memory=50GB/s", "memory=40GB/s"};
  CHECK_THROWS_WITH(resolve(r), Contains("twice"));
}

TEST_CASE("a model transferred to itself keeps its times; twice the work takes twice as long") {
  Request r = request("llama-3.1-8b", "h100-sxm");
  profile::BreakEvenFile measured = predict::predict(resolve(r));
  measured.status = "measured";
  r.node.clear();
  const profile::BreakEvenFile same = predict_like(measured, r);
  CHECK(same.status == "predicted");
  for (std::size_t i = 0; i < measured.prefill.dense.seconds.size(); ++i)
    CHECK(same.prefill.dense.seconds[i].median_s ==
          Approx(measured.prefill.dense.seconds[i].median_s));
  for (std::size_t i = 0; i < measured.lengths.size(); ++i)
    CHECK(same.lengths[i].saved_s.value == Approx(measured.lengths[i].saved_s.value).margin(1e-6));
  CHECK(same.tiers.front().load->bandwidth.front().bandwidth_Bps.value ==
        Approx(measured.tiers.front().load->bandwidth.front().bandwidth_Bps.value));

  // Its own roofline is what the transfer must find, as both run at the same utilisation.
  Request other = request("llama-3.1-70b", "");
  const profile::BreakEvenFile large = predict_like(measured, other);
  const profile::BreakEvenFile direct =
      predict::predict(resolve(request("llama-3.1-70b", "h100-sxm")));
  CHECK(large.model.kv_bytes_per_token == direct.model.kv_bytes_per_token);
  for (std::size_t i = 4; i < direct.lengths.size(); ++i)
    CHECK(large.lengths[i].saved_s.value == Approx(direct.lengths[i].saved_s.value).epsilon(0.03));
  each_time(large.prefill, [](const profile::Measurement& m) { CHECK(m.stopped == "predicted"); });
  CHECK_THROWS_WITH(predict_like(large, other), Contains("measured file"));
}
