#include "predict/import_readers.hpp"
#include "predict/import_text.hpp"

#include <fmt/format.h>

namespace breakeven::predict {
namespace {

using nlohmann::json;

bool is_list(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_array() && !found->empty();
}

/// Per request, as --save-detailed writes them: tokens, time to first token in seconds, error.
void read_detailed(const json& result, const std::string& origin, Import& import) {
  const json& lengths = result["input_lens"];
  const json& times = result["ttfts"];
  if (lengths.size() != times.size())
    refuse_import(origin, "'input_lens' and 'ttfts' differ in length");
  const bool has_errors = is_list(result, "errors") && result["errors"].size() == times.size();
  std::size_t failed = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool error_said = has_errors && result["errors"][i].is_string() &&
                            !result["errors"][i].get<std::string>().empty();
    const bool good = lengths[i].is_number_integer() && times[i].is_number() &&
                      lengths[i].get<double>() >= 1 &&
                      lengths[i].get<double>() <= static_cast<double>(most_tokens) &&
                      is_time(times[i].get<double>());
    if (error_said || !good) {
      ++failed;
      continue;
    }
    import.add(0, lengths[i].get<std::int64_t>(), times[i].get<double>());
  }
  if (failed > 0)
    import.warn(fmt::format("{} of {} requests failed or have no time to first token: left out",
                            failed, times.size()));
}

void read_summary(const json& result, const std::string& origin, Import& import) {
  const std::int64_t completed = tokens_at(result, "completed", 1, origin);
  const auto total = result.find("total_input_tokens");
  const auto ttft = result.find("median_ttft_ms");
  if (total == result.end() || !total->is_number() || ttft == result.end() || !ttft->is_number() ||
      !is_time(ttft->get<double>() / 1e3))
    refuse_import(origin, "has neither 'ttfts' with 'input_lens' nor 'median_ttft_ms' with "
                          "'total_input_tokens': run vllm bench serve with --save-result "
                          "--save-detailed");
  const double length = total->get<double>() / static_cast<double>(completed);
  if (!(length >= 1 && length <= static_cast<double>(most_tokens)))
    refuse_import(origin, "'total_input_tokens' over 'completed' is no prompt length");
  import.add(0, std::llround(length), ttft->get<double>() / 1e3);
  import.warn("only the median time to first token is in the file, taken as that of a prompt of "
              "average length: --save-detailed gives one time per request");
}

} // namespace

bool is_vllm(std::string_view text) {
  return looks_like_json(text, {"completed", "total_input_tokens"});
}

void read_vllm(std::string_view text, const std::string& origin, Import& import) {
  for (const json& result : json_objects(text, origin)) {
    if (is_list(result, "input_lens") && is_list(result, "ttfts"))
      read_detailed(result, origin, import);
    else
      read_summary(result, origin, import);
    const auto concurrency = result.find("max_concurrency");
    const bool alone =
        concurrency != result.end() && concurrency->is_number() && concurrency->get<double>() == 1;
    if (!alone)
      import.warn(
          "requests were not sent one at a time (--max-concurrency 1): times to first token "
          "include waiting for each other");
    if (const auto id = result.find("model_id"); id != result.end() && id->is_string())
      import.model = printable(id->get<std::string>());
  }
  import.warn("a time to first token holds the engine's own overhead, and no prefix cache may have "
              "answered: run the server with --no-enable-prefix-caching");
}

} // namespace breakeven::predict
