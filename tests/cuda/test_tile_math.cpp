#include "cuda/attention/tile_math.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

using namespace breakeven::cuda;

namespace {

struct Case {
  MaskShape mask;
  int tile_rows, tile_keys, splits;
};

std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, 1.5F);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return normal(generator); });
  return values;
}

/// softmax(scores) . values of one query, in double, by the definition of the mask.
double reference(const MaskShape& mask, int query, const float* scores,
                 const std::vector<float>& values, double scale) {
  const int position = mask.context + query;
  double top = -INFINITY, sum = 0, value = 0;
  const auto visible = [&](int key) {
    if (key > position) return false;
    if (mask.window == 0) return true;
    return mask.chunked != 0 ? key / mask.window == position / mask.window
                             : position - key < mask.window;
  };
  for (int key = 0; key <= position; ++key)
    if (visible(key)) top = std::max(top, scale * static_cast<double>(scores[key]));
  for (int key = 0; key <= position; ++key)
    if (visible(key)) {
      const double weight = std::exp(scale * static_cast<double>(scores[key]) - top);
      sum += weight;
      value += weight * static_cast<double>(values[static_cast<std::size_t>(key)]);
    }
  return value / sum;
}

/// The kernel's tile loop for one query of a tile, one split: what it leaves behind.
struct Partial {
  SoftmaxRow row;
  float value = 0;
};
Partial walk(const Case& c, int first_query, int query, int split, const float* scores,
             const std::vector<float>& values, float scale_log2) {
  Partial result;
  const TileRange range =
      split_of(tiles_for(c.mask, first_query, c.tile_rows, c.tile_keys), split, c.splits);
  for (int tile = range.begin; tile < range.end; ++tile) {
    const int first = tile * c.tile_keys;
    const bool masked = needs_mask(c.mask, first_query, c.tile_rows, first, c.tile_keys);
    float top = -INFINITY;
    std::vector<float> s(static_cast<std::size_t>(c.tile_keys));
    for (int i = 0; i < c.tile_keys; ++i) {
      const int key = first + i;
      float& x = s[static_cast<std::size_t>(i)];
      const bool held = key < c.mask.context + c.mask.queries;
      x = held ? scores[key] : 0.0F; // keys beyond the last are zeros in shared memory
      if (masked && !sees(c.mask, query, key)) x = -INFINITY;
      top = std::max(top, x);
    }
    const float factor = raise_max(result.row, top, scale_log2);
    result.value *= factor;
    const float bias = exponent_bias(result.row, scale_log2);
    for (int i = 0; i < c.tile_keys; ++i) {
      const float weight = exp2f(s[static_cast<std::size_t>(i)] * scale_log2 - bias);
      result.row.sum += weight;
      const auto key = static_cast<std::size_t>(first + i);
      if (key < values.size()) result.value += weight * values[key];
    }
  }
  return result;
}

void check_case(const Case& c, unsigned seed) {
  const int keys = c.mask.context + c.mask.queries;
  const auto scores = random_values(
      static_cast<std::size_t>(keys) * static_cast<std::size_t>(c.mask.queries), seed);
  const auto values = random_values(static_cast<std::size_t>(keys), seed + 1);
  const float scale = 0.37F, scale_log2 = scale * 1.4426950408889634F;
  for (int query = 0; query < c.mask.queries; ++query) {
    const int first_query = query / c.tile_rows * c.tile_rows;
    const float* row = scores.data() + query * keys;
    SoftmaxRow total;
    std::vector<Partial> parts;
    for (int split = 0; split < c.splits; ++split) {
      parts.push_back(walk(c, first_query, query, split, row, values, scale_log2));
      if (parts.back().row.sum > 0) raise_max(total, parts.back().row.max, scale_log2);
    }
    float sum = 0, value = 0;
    for (const Partial& part : parts) {
      if (!(part.row.sum > 0)) continue;
      const float weight = exp2f(part.row.max * scale_log2 - exponent_bias(total, scale_log2));
      sum += part.row.sum * weight;
      value += part.value * weight;
    }
    const double expected = reference(c.mask, query, row, values, static_cast<double>(scale));
    if (std::abs(static_cast<double>(value * normaliser(sum)) - expected) > 2e-5)
      FAIL("query " << query << " of " << c.mask.queries << " after " << c.mask.context
                    << ", window " << c.mask.window << ": " << value * normaliser(sum)
                    << " instead of " << expected);
  }
}

} // namespace

TEST_CASE("The tile loop with its masks and online softmax is attention") {
  unsigned seed = 1;
  for (const int context : {0, 1, 47, 48, 63, 200})
    for (const int queries : {1, 16, 63, 64, 130})
      for (const auto& [window, chunked] : std::array<std::array<int, 2>, 7>{
               {{0, 0}, {1, 0}, {16, 0}, {50, 0}, {96, 0}, {32, 1}, {100, 1}}})
        for (const auto& [rows, keys, splits] : std::array<std::array<int, 3>, 4>{
                 {{128, 48, 1}, {64, 64, 1}, {128, 48, 3}, {64, 64, 2}}})
          check_case({{context, queries, window, chunked}, rows, keys, splits}, ++seed);
  SUCCEED("all within 2e-5 of the double-precision reference");
}

TEST_CASE("Tile ranges leave out tiles that no query sees, and nothing else") {
  for (const int window : {0, 40, 64})
    for (const int first : {0, 128}) {
      const MaskShape mask{300, 200, window, 0};
      const TileRange range = tiles_for(mask, first, 128, 64);
      for (int tile = 0; tile < 9; ++tile) {
        bool seen = false;
        for (int q = first; q < std::min(first + 128, 200); ++q)
          for (int key = tile * 64; key < std::min(tile * 64 + 64, 500); ++key)
            seen = seen || sees(mask, q, key);
        CHECK(seen == (tile >= range.begin && tile < range.end));
      }
    }
}

TEST_CASE("Splits cover a range once") {
  for (const int tiles : {0, 1, 7, 100})
    for (const int count : {1, 2, 3, 64}) {
      int next = 5;
      for (int i = 0; i < count; ++i) {
        const TileRange part = split_of({5, 5 + tiles}, i, count);
        CHECK(part.begin == next);
        CHECK(part.end - part.begin <= tiles / count + 1);
        next = part.end;
      }
      CHECK(next == 5 + tiles);
    }
}

TEST_CASE("Swizzled tiles keep every word and read eight rows from different banks") {
  for (const int row_bytes : {128, 256, 384, 512}) {
    const int words = row_bytes / 16;
    std::vector<bool> used(static_cast<std::size_t>(64 * words));
    for (int row = 0; row < 64; ++row)
      for (int word = 0; word < words; ++word) {
        const std::uint32_t at = tile_offset(row_bytes, row, word) / 16;
        CHECK_FALSE(used[at]);
        used[at] = true;
      }
    for (int row = 0; row < 64; row += 8)
      for (int word = 0; word < words; ++word) {
        unsigned banks = 0;
        for (int i = 0; i < 8; ++i)
          banks |= 1U << (tile_offset(row_bytes, row + i, word) / 16 % 8);
        CHECK(banks == 0xffU);
      }
    for (int row = 0; row < 16; ++row)
      for (int start = 0; start < 2; ++start)
        for (int more = 0; start + more < words; more += 2)
          CHECK(advanced(tile_offset(row_bytes, row, start), more) ==
                tile_offset(row_bytes, row, start + more));
  }
}

namespace {

/// One warp's ldmatrix.x4 and mma.m16n8k16, by the fragment tables of the PTX ISA (9.7.14 and
/// 9.7.15): what a lane holds, with float elements in the place of bf16.
using Fragment = std::array<std::array<std::array<float, 2>, 4>, 32>; // [lane][register][element]

Fragment load_matrices(const std::vector<float>& shared,
                       const std::array<std::uint32_t, 32>& addresses, bool transposed) {
  Fragment r{};
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t m = 0; m < 4; ++m)
      for (std::size_t e = 0; e < 2; ++e) {
        const std::size_t row = transposed ? lane % 4 * 2 + e : lane / 4;
        const std::size_t column = transposed ? lane / 4 : lane % 4 * 2 + e;
        r[lane][m][e] = shared[addresses[m * 8 + row] / 2 + column];
      }
  return r;
}

/// a: registers 0..3 are (row, k) = (g, t), (g + 8, t), (g, t + 8), (g + 8, t + 8) with
/// g = lane / 4, t = lane % 4 * 2; b: (k, n) = (t, g), (t + 8, g); c: (g, t), (g + 8, t).
void multiply(std::array<std::array<float, 4>, 32>& c, const Fragment& a, const Fragment& b,
              std::size_t first_b) {
  std::array<std::array<float, 16>, 16> a_full{};
  std::array<std::array<float, 8>, 16> b_full{};
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t e = 0; e < 2; ++e) {
      const std::size_t g = lane / 4, t = lane % 4 * 2 + e;
      a_full[g][t] = a[lane][0][e];
      a_full[g + 8][t] = a[lane][1][e];
      a_full[g][t + 8] = a[lane][2][e];
      a_full[g + 8][t + 8] = a[lane][3][e];
      b_full[t][g] = b[lane][first_b][e];
      b_full[t + 8][g] = b[lane][first_b + 1][e];
    }
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      for (std::size_t k = 0; k < 16; ++k)
        c[lane][i] += a_full[row][k] * b_full[k][column];
    }
}

} // namespace

TEST_CASE("Fragments of a warp multiply queries by keys, and weights by values") {
  constexpr std::size_t dim = 128, keys = 48;
  const auto q = random_values(16 * dim, 5), k = random_values(keys * dim, 6),
             v = random_values(keys * dim, 7);
  const auto in_shared = [](const std::vector<float>& x) {
    std::vector<float> shared(x.size());
    for (std::size_t row = 0; row < x.size() / dim; ++row)
      for (std::size_t i = 0; i < dim; ++i)
        shared[tile_offset(dim * 2, static_cast<int>(row), static_cast<int>(i / 8)) / 2 + i % 8] =
            x[row * dim + i];
    return shared;
  };
  const auto q_shared = in_shared(q), k_shared = in_shared(k), v_shared = in_shared(v);
  const auto addresses = [](bool as_a, int words, std::uint32_t more) {
    std::array<std::uint32_t, 32> result{};
    for (int lane = 0; lane < 32; ++lane) {
      const LanePlace place = as_a ? place_a(lane) : place_b(lane);
      result[static_cast<std::size_t>(lane)] =
          advanced(tile_offset(dim * 2, place.row, place.word), words) + more;
    }
    return result;
  };
  // s = q k^T, as FlashKernel::scores()
  std::vector<std::array<std::array<float, 4>, 32>> s(keys / 8), o(dim / 8);
  for (int step = 0; step < static_cast<int>(dim) / 16; ++step) {
    const Fragment a = load_matrices(q_shared, addresses(true, step * 2, 0), false);
    for (std::uint32_t n = 0; n < keys / 16; ++n) {
      const Fragment b =
          load_matrices(k_shared, addresses(false, step * 2, n * 16 * dim * 2), false);
      multiply(s[n * 2], a, b, 0);
      multiply(s[n * 2 + 1], a, b, 2);
    }
  }
  // o = s v, as FlashKernel::weighted_sum()
  for (std::uint32_t step = 0; step < keys / 16; ++step) {
    Fragment a{};
    for (std::size_t lane = 0; lane < 32; ++lane)
      for (std::size_t half = 0; half < 2; ++half) {
        const auto& c = s[step * 2 + half][lane];
        a[lane][half * 2] = {c[0], c[1]};
        a[lane][half * 2 + 1] = {c[2], c[3]};
      }
    for (std::size_t n = 0; n < dim / 16; ++n) {
      const Fragment b = load_matrices(
          v_shared, addresses(true, static_cast<int>(n) * 2, step * 16 * dim * 2), true);
      multiply(o[n * 2], a, b, 0);
      multiply(o[n * 2 + 1], a, b, 2);
    }
  }
  double worst = 0;
  for (std::size_t row = 0; row < 16; ++row) {
    std::array<double, keys> scores{};
    for (std::size_t key = 0; key < keys; ++key)
      for (std::size_t i = 0; i < dim; ++i)
        scores[key] +=
            static_cast<double>(q[row * dim + i]) * static_cast<double>(k[key * dim + i]);
    for (std::size_t i = 0; i < dim; ++i) {
      double expected = 0;
      for (std::size_t key = 0; key < keys; ++key)
        expected += scores[key] * static_cast<double>(v[key * dim + i]);
      const float got = o[i / 8][row % 8 * 4 + i % 8 / 2][row / 8 * 2 + i % 2];
      worst = std::max(worst, std::abs(static_cast<double>(got) - expected) /
                                  std::max(1.0, std::abs(expected)));
    }
  }
  CHECK(worst < 1e-3);
}
