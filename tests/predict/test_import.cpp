#include "support/catch.hpp"

#include "fit/fit.hpp"
#include "model/json_text.hpp"
#include "predict/import.hpp"
#include "predict/import_readers.hpp"
#include "support/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace breakeven;
using namespace breakeven::predict;
using Catch::Matchers::Contains;

namespace {

Request request(const std::string& model, const std::string& node = "") {
  Request r;
  r.model = model;
  r.node = node;
  r.model_options.tensor_parallel = 0;
  r.max_prefix_tokens = 32768;
  r.chunk_tokens = 0;
  return r;
}

class File {
public:
  explicit File(const std::string& text)
      : m_path((std::filesystem::temp_directory_path() /
                fmt::format("breakeven-import-{}-{}", ::getpid(), s_count++))
                   .string()) {
    std::ofstream(m_path) << text;
  }
  ~File() { ::unlink(m_path.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return m_path; }

private:
  static inline int s_count = 0;
  std::string m_path;
};

Import read(const std::string& text, const std::string& format = "auto") {
  const File file(text);
  return read_imports({file.path()}, format);
}

bool warns(const profile::BreakEvenFile& file, const std::string& text) {
  return std::any_of(file.warnings.begin(), file.warnings.end(), [&](const profile::Warning& w) {
    return w.message.find(text) != std::string::npos;
  });
}

/// Times of llama-3.1-8b on an H100 at 50 % with 2 ms a step, in steps of 2,048 tokens.
double time_of(const Roofline& r, std::int64_t context, std::int64_t fresh) {
  const auto steps = static_cast<double>((fresh - 1) / 2048 + 1);
  return 2e-3 * steps + 2 * r.least_s(context, fresh);
}

Roofline llama8b() {
  Request r = request("llama-3.1-8b", "h100-sxm");
  r.chunk_tokens = 2048;
  return resolve(r).roofline();
}

std::string csv_of(const std::vector<std::pair<std::int64_t, std::int64_t>>& shapes) {
  const Roofline r = llama8b();
  std::string text = "context,new,seconds\n";
  for (const auto& [context, fresh] : shapes)
    text += fmt::format("{},{},{:.9g}\n", context, fresh, time_of(r, context, fresh));
  return text;
}

constexpr const char* v1 = R"({"model_name": "meta-llama/Llama-3.2-3B-Instruct", "kv_dtype": "auto",
  "break_even_ssd_tokens": 6000, "break_even_mem_tokens": 700, "safety_margin_tokens": 57})";

} // namespace

TEST_CASE("a CSV of engine times becomes a curve that gives them back") {
  const Import import =
      read(csv_of({{0, 256}, {0, 2048}, {4096, 1024}, {16384, 2048}, {0, 8192}, {0, 32768}}));
  CHECK(import.format == "csv");
  const profile::BreakEvenFile file = import_file(import, request("llama-3.1-8b", "h100-sxm"));
  CHECK(file.status == "imported");
  CHECK(file.model.chunk_tokens == 2048);
  const fit::PrefillCurve curve(file.prefill, 2048);
  const Roofline r = llama8b();
  for (const auto& [context, fresh] :
       {std::pair{0, 512}, std::pair{0, 12288}, std::pair{8192, 2048}, std::pair{0, 30000}})
    CHECK(curve.prefill_s(context, fresh) == Approx(time_of(r, context, fresh)).epsilon(0.02));
  CHECK(profile::from_json_text(profile::to_json_text(file), "f").status == "imported");
}

TEST_CASE("a time above the roofline is flagged and left out") {
  const std::string text = csv_of({{0, 256}, {0, 2048}, {4096, 2048}, {16384, 2048}});
  const profile::BreakEvenFile clean = import_file(read(text), request("llama-3.1-8b", "h100-sxm"));
  const profile::BreakEvenFile cached =
      import_file(read(text + "0,1024,0.001\n"), request("llama-3.1-8b", "h100-sxm"));
  const auto flag = std::find_if(cached.warnings.begin(), cached.warnings.end(),
                                 [](const auto& w) { return w.code == "above_roofline"; });
  REQUIRE(flag != cached.warnings.end());
  CHECK_THAT(flag->message, Contains("1,024 new tokens") && Contains("prefix cache"));
  CHECK(cached.lengths.back().saved_s.value == Approx(clean.lengths.back().saved_s.value));
  CHECK_THROWS_WITH(import_file(read("context,new,seconds\n0,2048,0.0001\n"),
                                request("llama-3.1-8b", "h100-sxm")),
                    Contains("prefix cache off"));
  CHECK(warns(import_file(read(text), request("llama-3.1-8b")), "no --node"));
}

TEST_CASE("broken CSV is refused by line") {
  CHECK_THROWS_WITH(read("0,1,0.1\n0,x,0.2\n"), Contains("line 2"));
  CHECK_THROWS_WITH(read("0,1,0.1\n\n# note\n0,1,-1\n"), Contains("line 4"));
  CHECK_THROWS_WITH(read("0,1,0.1\n0,1.5,0.2\n"), Contains("line 2"));
  CHECK_THROWS_WITH(read("ctx,new,seconds\n0,1,0.1\n"), Contains("context,new,seconds"));
  CHECK_THROWS_WITH(read("context,new,seconds\n"), Contains("no prefill times"));
  CHECK_THROWS_WITH(read("nothing to see"), Contains("--format"));
  CHECK_THROWS_WITH(read("0,1,0.1\n", "cvs"), Contains("did you mean 'csv'"));
}

TEST_CASE("vllm bench serve: one time per request, failed ones left out") {
  const std::string text = R"({"model_id": "meta-llama/Llama-3.1-8B", "completed": 3,
    "total_input_tokens": 7168, "max_concurrency": 1, "input_lens": [1024, 2048, 4096, 512],
    "ttfts": [0.05, 0.09, 0.18, 0.0], "errors": ["", "", "", "refused"], "median_ttft_ms": 90})";
  const Import import = read(text);
  CHECK(import.format == "vllm");
  REQUIRE(import.prefill.size() == 3);
  CHECK(import.prefill[2].new_tokens == 4096);
  CHECK(import.prefill[2].seconds == std::vector<double>{0.18});
  const profile::BreakEvenFile file = import_file(import, request("llama-3.1-8b", "h100-sxm"));
  CHECK(warns(file, "1 of 4 requests failed"));
  CHECK_FALSE(warns(file, "one at a time"));

  const Import summary =
      read(R"({"completed": 10, "total_input_tokens": 20480, "median_ttft_ms": 95.5})");
  REQUIRE(summary.prefill.size() == 1);
  CHECK(summary.prefill[0].new_tokens == 2048);
  CHECK(summary.prefill[0].seconds.front() == Approx(0.0955));
  CHECK(warns(import_file(summary, request("llama-3.1-8b", "h100-sxm")), "--save-detailed"));
  CHECK_THROWS_WITH(read(R"({"completed": 10, "total_input_tokens": 20480})"),
                    Contains("--save-detailed"));
}

TEST_CASE("llama-bench: prompt tests with depths, in its own step size") {
  const std::string text = R"([
    {"gpu_info": "NVIDIA GeForce RTX 4090", "model_type": "llama 8B F16", "n_ubatch": 512,
     "n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ns": 80000000,
     "samples_ns": [80000000, 81000000, 79000000]},
    {"n_ubatch": 512, "n_prompt": 512, "n_gen": 0, "n_depth": 8192, "avg_ns": 101000000},
    {"n_ubatch": 512, "n_prompt": 2048, "n_gen": 0, "n_depth": 0, "avg_ns": 320000000},
    {"n_ubatch": 512, "n_prompt": 0, "n_gen": 128, "n_depth": 0, "avg_ns": 999999999}])";
  const Import import = read(text);
  CHECK(import.format == "llama-bench");
  CHECK(import.chunk_tokens == 512);
  REQUIRE(import.prefill.size() == 3);
  CHECK(import.prefill[0].seconds.size() == 3);
  CHECK(import.prefill[1].context_tokens == 8192);
  const profile::BreakEvenFile file = import_file(import, request("llama-3.1-8b", "rtx-4090"));
  CHECK(file.model.chunk_tokens == 512);
  CHECK_THAT(file.prefill.device_name, Contains("RTX 4090 (imported)"));
  const fit::PrefillCurve curve(file.prefill, 512);
  CHECK(curve.step_s(0, 512) == Approx(0.08).epsilon(0.03));
  CHECK(curve.step_s(8192, 512) == Approx(0.101).epsilon(0.05));
  // One object a line, as -o jsonl writes them.
  CHECK(read("{\"n_prompt\": 512, \"n_gen\": 0, \"avg_ns\": 1e8, \"n_ubatch\": 512}\n"
             "{\"n_prompt\": 1024, \"n_gen\": 0, \"avg_ns\": 2e8, \"n_ubatch\": 512}\n")
            .prefill.size() == 2);
  CHECK_THROWS_WITH(read(R"([{"n_prompt": 0, "n_gen": 8, "avg_ns": 5}])"), Contains("llama-bench"));
}

TEST_CASE("py-kvcache v1: the fixed cost follows from threshold and rate") {
  const Import import = read(v1);
  CHECK(import.format == "py-kvcache");
  CHECK(import.thresholds.at("ssd") == 6057);
  Request r = request("llama-3.2-3b", "h100-sxm");
  r.chunk_tokens = 8192;
  r.utilisation = parse_utilisation("0.56-0.67", "u");
  r.tiers = {"ssd=13.5GB/s", "memory=55GB/s"};
  const profile::BreakEvenFile file = import_file(import, r);
  CHECK(file.status == "imported");
  CHECK(file.tiers[0].break_even.tokens == 6057);
  CHECK(file.tiers[1].break_even.tokens == 757);
  CHECK(file.tiers[0].load->fixed_s.value > 0.005);
  CHECK(warns(file, "no prefill curve"));

  r.tiers = {"ssd=1GB/s"}; // so slow that the bytes alone take longer than computing
  const profile::BreakEvenFile slow = import_file(import, r);
  CHECK(slow.tiers[0].status == "uncalibrated");
  CHECK_THAT(slow.tiers[0].reason, Contains("imported threshold"));
  CHECK(slow.tiers[1].name == "memory");
  CHECK_THAT(slow.tiers[1].reason, Contains("--tier memory=RATE"));
  CHECK_THROWS_WITH(import_file(import, request("llama-3.2-3b")), Contains("--node"));
}

TEST_CASE("py-kvcache v2: curves on both sides") {
  std::string f, ssd, memory;
  const Roofline r = llama8b();
  for (const std::int64_t n : {512, 1024, 2048, 4096, 16384}) {
    const double bytes = 131072.0 * static_cast<double>(n);
    f += fmt::format("\"{}\": {:.9g}, ", n, time_of(r, 0, n));
    ssd += fmt::format("\"{}\": {:.9g}, ", n, 0.004 + bytes / 12e9);
    memory += fmt::format("\"{}\": {:.9g}, ", n, 0.001 + bytes / 50e9);
  }
  const auto curve = [](const std::string& knots) {
    return R"({"floor": 0.0, "knots": {)" + knots + R"("0": 0.0}})";
  };
  const std::string text = R"({"schema_version": 2, "gpu_model": "NVIDIA H100",
    "kv_bytes_per_token": 131072, "break_even_ssd_tokens": 1000, "curves": {"f": )" +
                           curve(f) + R"(, "g_ssd": )" + curve(ssd) + R"(, "g_mem": )" +
                           curve(memory) + "}}";
  const profile::BreakEvenFile file = import_file(read(text), request("llama-3.1-8b", "h100-sxm"));
  REQUIRE(file.tiers.size() == 2);
  for (const profile::Tier& tier : file.tiers) {
    INFO(tier.name << " " << tier.reason);
    REQUIRE(tier.load);
    const bool is_ssd = tier.name == "ssd";
    CHECK(tier.load->bandwidth.front().bandwidth_Bps.value ==
          Approx(is_ssd ? 12e9 : 50e9).epsilon(0.05));
  }
  CHECK(warns(file, "imported threshold is 1,000 tokens"));
  CHECK_THROWS_WITH(
      read(R"({"break_even_ssd_tokens": 1, "curves": {"f": {"floor": 0, "knots": {"x": 1}}}})"),
      Contains("'f'"));
  CHECK_THROWS_WITH(read(R"({"break_even_ssd_tokens": -1})"), Contains("break_even_ssd_tokens"));
}

TEST_CASE("a published file says what was measured and what not") {
  Request r = request("llama-3.2-3b", "h100-sxm");
  r.tiers = {"ssd=13.5GB/s", "memory=55GB/s"};
  profile::BreakEvenFile file = import_file(read(v1), r);
  mark_published(file, {"a paper", {"the thresholds"}, {"the prefill times"}});
  CHECK(file.status == "published");
  CHECK_THAT(file.warnings[0].message, Contains("a paper"));
  CHECK_THAT(file.warnings[1].message, Contains("measured by them: the thresholds"));
  CHECK_THAT(file.warnings[2].message, Contains("not measured: the prefill times"));
}

TEST_CASE("every profile in profiles/published is one") {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(BREAKEVEN_SOURCE_DIR "/profiles/published")) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path().string());
    const profile::BreakEvenFile file = profile::read_file(entry.path().string());
    ++count;
    CHECK(file.status == "published");
    CHECK(file.node.fingerprint == "published");
    for (const char* code : {"source", "measured", "not_measured"})
      CHECK(std::any_of(file.warnings.begin(), file.warnings.end(), [&](const profile::Warning& w) {
        return w.code == code && w.message.size() > 20;
      }));
    for (const profile::Tier& tier : file.tiers)
      CHECK(tier.break_even.verdict != profile::Verdict::uncalibrated);
    CHECK(file.tool.argv.front() == "breakeven");
  }
  CHECK(count == 5);
}

TEST_CASE("every input of a published profile names its source") {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(BREAKEVEN_SOURCE_DIR "/profiles/published/inputs")) {
    const std::string path = entry.path().string();
    INFO(path);
    const nlohmann::json document =
        model::parse_json(model::read_text_file(path, model::max_json_bytes), path);
    REQUIRE(document.contains("_source"));
    CHECK(document["_source"].get<std::string>().size() > 20);
    ++count;
  }
  CHECK(count == 3);
}
