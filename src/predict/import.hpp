#pragma once

#include "predict/predict.hpp"
#include "support/registry.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Break-even files from what was measured elsewhere: in the user's own engine, or by another tool.
namespace breakeven::predict {

/// Times of computing `new_tokens` that attend to `context_tokens` cached ones; more new tokens
/// than fit one step are several steps.
struct PrefillSamples {
  std::int64_t context_tokens = 0, new_tokens = 0;
  std::vector<double> seconds;
};

/// What a file of another tool says.
struct Import {
  std::string format;
  std::vector<PrefillSamples> prefill; ///< one per shape, see add()
  /// Time of a whole load by prefix length, by tier name.
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> loads;
  /// Prefix length from which loading pays, by tier name; 0 = from any.
  std::map<std::string, std::int64_t> thresholds;
  std::int64_t chunk_tokens = 0;       ///< 0 = the file does not say
  std::int64_t kv_bytes_per_token = 0; ///< 0 = the file does not say
  std::string device, model;           ///< as the file names them; may be empty
  std::vector<profile::Warning> warnings;

  void add(std::int64_t context_tokens, std::int64_t new_tokens, double seconds);
  void warn(const std::string& message) { warnings.push_back({"import", message}); }
};

struct ImportFormat {
  const char* summary;
  bool (*recognises)(std::string_view text);
  /// Adds to `import`. Throws error::bad_input naming `origin` and what is wrong.
  void (*read)(std::string_view text, const std::string& origin, Import& import);
};
/// csv, vllm, llama-bench, py-kvcache.
const registry<ImportFormat>& import_formats();

/// Reads all `paths` as `format` ("auto": the first that recognises the text). Throws
/// error::bad_input and error::usage.
Import read_imports(const std::vector<std::string>& paths, const std::string& format);

/// The cost model fitted to imported times: seconds = steps * step_s + linear FLOP * linear_s +
/// attention FLOP * attention_s, none negative, least squares of relative errors.
struct PrefillFit {
  double step_s = 0, linear_s = 0, attention_s = 0;
  double median_error = 0, worst_error = 0; ///< relative
};
/// Throws error::bad_input when the samples determine nothing.
PrefillFit fit_prefill(const std::vector<PrefillSamples>& samples, const Roofline& work,
                       std::int64_t chunk_tokens);

/// A file of status "imported". `request.node` may be empty when the import has a prefill curve:
/// then nothing is checked against a roofline. `request.tiers` give tiers by rate; py-kvcache's
/// thresholds need a node and rates, from which the fixed cost follows. Rates above the device's
/// roofline are left out and flagged.
profile::BreakEvenFile import_file(Import import, Request request);

/// Marks a file as other people's figures: status "published", with what is measured and what not.
struct Published {
  std::string source;
  std::vector<std::string> measured, not_measured;
};
void mark_published(profile::BreakEvenFile& file, const Published& published);

} // namespace breakeven::predict
