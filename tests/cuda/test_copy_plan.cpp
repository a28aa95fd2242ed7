#include "support/catch.hpp"

#include "cuda/copy/copy_plan.hpp"

#include <cstring>
#include <random>

using namespace breakeven::cuda;

namespace {

std::vector<std::byte> noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> data(bytes);
  for (std::byte& b : data)
    b = static_cast<std::byte>(random());
  return data;
}

template <class Work>
void run(const Work& work) {
  for (std::uint64_t unit = 0; unit < units_in(work); ++unit)
    for (unsigned lane = 0; lane < lanes_per_unit; ++lane)
      copy_unit(work, unit, lane);
}

} // namespace

TEST_CASE("lanes of a warp copy a run once, whatever its alignment, and nothing beside it") {
  const std::vector<std::byte> source = noise(4096, 1);
  for (const std::size_t from : {0U, 1U, 8U, 15U, 16U, 33U})
    for (const std::size_t to : {0U, 1U, 8U, 15U, 16U, 33U})
      for (const std::uint64_t bytes : {1U, 15U, 16U, 17U, 100U, 512U, 1024U, 2047U, 2048U}) {
        std::vector<std::byte> target(4096, std::byte{0x5a});
        for (unsigned lane = 0; lane < lanes_per_unit; ++lane)
          copy_share(source.data() + from, target.data() + to, bytes, lane);
        std::vector<std::byte> expected(4096, std::byte{0x5a});
        std::memcpy(expected.data() + to, source.data() + from, bytes);
        if (target != expected) {
          CAPTURE(from, to, bytes);
          FAIL("wrong bytes");
        }
      }
}

TEST_CASE("a table of items brings every byte to its place") {
  std::mt19937 random(2);
  const std::vector<std::byte> source = noise(300000, 3);
  std::vector<std::byte> target(300000), expected(300000);
  std::vector<CopyItem> items;
  for (std::size_t at = 0; at < 290000;) {
    const std::uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 9000 : 90);
    items.push_back({source.data() + (299999 - at - bytes), target.data() + at, bytes});
    std::memcpy(expected.data() + at, items.back().source, bytes);
    at += bytes + random() % 3;
  }
  std::vector<std::uint64_t> first(items.size() + 1);
  const std::uint64_t units = fill_first_units(items, first.data());
  const ItemsWork work{items.data(), first.data(), items.size()};
  CHECK(units == units_in(work));
  for (std::uint64_t unit = 0; unit < units; ++unit) {
    const std::uint64_t item = item_of(work, unit);
    if (first[item] > unit || unit >= first[item + 1]) FAIL("unit " << unit << " of item " << item);
  }
  run(work);
  CHECK(target == expected);
}

TEST_CASE("a map of slots says the same as the runs it was made from") {
  for (const std::uint64_t piece : {1u, 16u, 100u, 2048u, 5000u, 16384u}) {
    const std::uint64_t pieces = 37;
    const std::vector<std::byte> source = noise(pieces * piece, 4);
    std::vector<std::byte> target(pieces * piece + 64), expected = target;
    std::vector<CopyItem> runs;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      runs.push_back(
          {source.data() + i * piece, target.data() + 32 + i * 5 % pieces * piece, piece});
      std::memcpy(expected.data() + 32 + i * 5 % pieces * piece, runs.back().source, piece);
    }
    const std::vector<SlotSegment> segments = slot_segments(runs);
    REQUIRE(segments.size() == 1);
    CHECK(segments[0].count == pieces);
    CHECK(segments[0].base == target.data() + 32);
    std::vector<std::uint32_t> slots(pieces);
    fill_slots(runs, segments[0], slots.data());
    run(SlotsWork{source.data(), segments[0].base, slots.data(), pieces, piece});
    CHECK(target == expected);
  }
}

TEST_CASE("lists are cut where one number no longer tells them") {
  std::vector<std::byte> source(1000), target(1000);
  const auto item = [&](std::size_t from, std::size_t to, std::uint64_t bytes) {
    return CopyItem{source.data() + from, target.data() + to, bytes};
  };
  // The ring wraps after two pieces; the last piece is longer; the one before lies askew.
  const std::vector<CopyItem> runs = {item(900, 50, 50), item(950, 0, 50),   item(0, 150, 50),
                                      item(50, 100, 50), item(100, 205, 50), item(150, 255, 70)};
  const std::vector<SlotSegment> slots = slot_segments(runs);
  REQUIRE(slots.size() == 4);
  CHECK(slots[0].count == 2);
  CHECK(slots[0].base == target.data());
  CHECK(slots[1].count == 2);
  CHECK(slots[1].base == target.data() + 100);
  CHECK(slots[2].count == 1);
  CHECK(slots[3].piece_bytes == 70);
  const std::vector<SourceSegment> sources = source_segments(runs, 1000);
  REQUIRE(sources.size() == 2);
  CHECK(sources[0].bytes == 100);
  CHECK(sources[1].bytes == 220);
  CHECK(sources[1].count == 4);
  const std::vector<SourceSegment> small = source_segments(runs, 100);
  REQUIRE(small.size() == 4);
  CHECK(small[1].bytes == 100);
  CHECK(small[3].bytes == 70);
  CHECK(source_segments(runs, 10).size() == runs.size()); // larger runs stay whole
  CHECK(slot_segments({}).empty());
  CHECK(source_segments({}, 10).empty());
  CHECK(total_bytes(runs) == 320);
}
