#include "fit/fit.hpp"

#include "fit/load_regression.hpp"
#include "support/checked.hpp"
#include "support/error.hpp"

#include <algorithm>

namespace breakeven::fit {

namespace {

LoadFit require_fit(const std::optional<LoadFit>& fit) {
  if (fit) return *fit;
  throw error(
      error_kind::measurement,
      "the load times do not determine a bandwidth: they do not grow with the bytes loaded");
}

} // namespace

std::int64_t loadable_tokens(const profile::Model& model, std::int64_t tokens) {
  if (model.checkpoint_tokens <= 1) return tokens;
  return tokens - tokens % model.checkpoint_tokens;
}

std::int64_t kv_bytes(const profile::Model& model, std::int64_t tokens) {
  if (tokens <= 0) return 0;
  const char* what = "the size of the KV cache in bytes";
  std::int64_t bytes =
      checked_add(checked_mul(model.kv_bytes_per_token, tokens, what), model.state_bytes, what);
  for (const profile::WindowTerm& term : model.kv_windows)
    bytes = checked_add(
        bytes, checked_mul(std::min(tokens, term.window_tokens), term.bytes_per_token, what), what);
  return bytes;
}

std::int64_t pieces(const profile::Layout& layout, std::int64_t tokens) {
  if (tokens <= 0) return 0;
  if (layout.chunk_tokens < 1)
    throw error(error_kind::bad_input, "layout '" + layout.name + "' has no chunk_tokens");
  const std::int64_t chunks = (tokens - 1) / layout.chunk_tokens + 1;
  return checked_mul(chunks, layout.pieces_per_chunk, "the number of pieces of a load");
}

double LoadFit::load_s(std::int64_t bytes, std::int64_t piece_count) const {
  if (!(bandwidth_Bps > 0)) throw error(error_kind::bad_input, "a load model has no bandwidth");
  return seconds(static_cast<double>(bytes), static_cast<double>(piece_count));
}

LoadFit fit_load(const std::vector<profile::SweepPoint>& points) {
  return require_fit(LoadRegression(points).central());
}

LoadFit fit_load(const std::vector<profile::SweepPoint>& points, measure::Random& random) {
  return require_fit(LoadRegression(points).replicate(random));
}

} // namespace breakeven::fit
