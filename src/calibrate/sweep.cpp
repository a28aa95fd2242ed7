#include "calibrate/sweep.hpp"

#include "support/units.hpp"

#include <algorithm>

namespace breakeven::calibrate {
namespace {

/// Layers that keep KV per token: each is a piece of its own in a layout by layer.
std::int64_t layers_with_kv(const model::Architecture& architecture) {
  std::int64_t layers = 0;
  for (const model::LayerKind& kind : architecture.kinds)
    if (kind.attention.kv_elements_per_token() > 0) layers += kind.count;
  return std::max<std::int64_t>(layers, 1);
}

/// MLA keeps one latent vector, everything else K and V.
std::int64_t tensors_per_layer(const model::Architecture& architecture) {
  const bool latent = std::any_of(architecture.kinds.begin(), architecture.kinds.end(),
                                  [](const model::LayerKind& kind) {
                                    return kind.attention.kind == model::AttentionKind::mla;
                                  });
  return latent ? 1 : 2;
}

class Shapes {
public:
  Shapes(const tier::KvLayout& layout, const SweepLimits& limits)
      : m_layout(layout), m_limits(limits) {}

  [[nodiscard]] std::int64_t chunks(std::int64_t tokens) const {
    return std::max<std::int64_t>(tokens / m_layout.chunk_tokens, 1);
  }
  [[nodiscard]] std::int64_t chunk_bytes() const {
    return m_layout.chunk_tokens * m_layout.bytes_per_token;
  }
  /// Nothing when the buffer does not hold it or the pieces are not whole.
  bool shape(std::int64_t tokens, std::int64_t pieces_per_chunk, int in_flight,
             tier::LoadShape& found) const {
    if (pieces_per_chunk < 1 || chunk_bytes() % pieces_per_chunk != 0 ||
        chunk_bytes() / pieces_per_chunk < least_piece_bytes)
      return false;
    const auto bytes = static_cast<std::uint64_t>(chunks(tokens) * chunk_bytes());
    if (bytes > m_limits.kv_buffer_bytes / static_cast<std::uint64_t>(in_flight)) return false;
    found = {bytes, static_cast<std::uint64_t>(chunks(tokens) * pieces_per_chunk), in_flight};
    return true;
  }

private:
  static constexpr std::int64_t least_piece_bytes = 1024;
  const tier::KvLayout& m_layout;
  const SweepLimits& m_limits;
};

} // namespace

std::vector<SweepShape> sweep_of(const model::Architecture& architecture,
                                 const tier::KvLayout& layout, const SweepLimits& limits) {
  const Shapes shapes(layout, limits);
  std::vector<SweepShape> sweep;
  const auto add = [&](std::int64_t tokens, std::int64_t pieces_per_chunk, int in_flight,
                       bool holdout) {
    SweepShape shape;
    shape.holdout = holdout;
    if (!shapes.shape(tokens, pieces_per_chunk, in_flight, shape.load)) return;
    const bool known = std::any_of(sweep.begin(), sweep.end(), [&](const SweepShape& other) {
      return other.load.bytes == shape.load.bytes && other.load.pieces == shape.load.pieces &&
             other.load.in_flight == in_flight;
    });
    if (!known) sweep.push_back(shape);
  };
  const std::int64_t own = layout.pieces_per_chunk;
  const std::int64_t last = limits.max_prefix_tokens;
  for (const std::int64_t tokens :
       {layout.chunk_tokens, std::int64_t{1024}, std::int64_t{4096}, std::int64_t{16384}})
    if (tokens < last) add(tokens, own, 1, false);
  add(last, own, 1, false);
  for (const std::int64_t tokens : {std::int64_t{1024}, std::int64_t{4096}}) {
    if (tokens > last) continue;
    add(tokens, 1, 1, false);
    add(tokens, own * architecture.layers, 1, false);
  }
  for (const std::int64_t tokens : {std::int64_t{2816}, std::int64_t{11264}})
    if (tokens < last) add(tokens, own, 1, true);
  if (2048 < last) add(2048, own * 4, 1, true); // pieces of a size that the fit has not seen
  for (const int in_flight : {2, 4, 8})
    add(std::min<std::int64_t>(2048, last / in_flight), own, in_flight, false);
  return sweep;
}

std::vector<LayoutShape> layouts_of(const model::Architecture& architecture,
                                    const tier::KvLayout& layout, const SweepLimits& limits) {
  const Shapes shapes(layout, limits);
  const std::int64_t tokens = std::min<std::int64_t>(1024, limits.max_prefix_tokens);
  std::vector<LayoutShape> found;
  const auto add = [&](const std::string& name, std::int64_t pieces_per_chunk) {
    LayoutShape shape{name, {}};
    if (!shapes.shape(tokens, pieces_per_chunk, 1, shape.load)) return;
    const bool known = std::any_of(found.begin(), found.end(), [&](const LayoutShape& other) {
      return other.load.pieces == shape.load.pieces;
    });
    if (!known) found.push_back(std::move(shape));
  };
  const std::int64_t blocks = layout.chunk_tokens / layout.block_tokens;
  const std::int64_t tensors = layers_with_kv(architecture) * tensors_per_layer(architecture);
  add("a whole chunk in one piece", 1);
  add("one block over all layers", blocks);
  add(tensors_per_layer(architecture) == 1 ? "per block and layer"
                                           : "per block and layer, K and V apart",
      blocks * tensors);
  add(tensors_per_layer(architecture) == 1 ? "per chunk and layer"
                                           : "per chunk and layer, K and V apart",
      tensors);
  for (const std::int64_t bytes : {4096, 16384, 65536, 262144, 1048576, 4194304})
    if (shapes.chunk_bytes() % bytes == 0)
      add("pieces of " + format_bytes(static_cast<double>(bytes)), shapes.chunk_bytes() / bytes);
  return found;
}

} // namespace breakeven::calibrate
