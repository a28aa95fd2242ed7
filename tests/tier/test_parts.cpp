#include "support/catch.hpp"

#include "support/error.hpp"
#include "tier/pattern.hpp"
#include "tier/piece_map.hpp"
#include "tier/source_ring.hpp"
#include "tier/stream_copy.hpp"
#include "tier/thread_team.hpp"

#include <atomic>
#include <cstring>
#include <set>
#include <stdexcept>
#include <vector>

using namespace breakeven;
using namespace breakeven::tier;

TEST_CASE("any part of the pattern equals the same part of the whole") {
  std::vector<std::byte> whole(4096);
  fill_pattern(whole.data(), whole.size(), 7, 0);
  for (std::size_t offset : {0u, 1u, 7u, 8u, 13u, 1000u})
    for (std::size_t bytes : {0u, 1u, 3u, 8u, 9u, 64u, 1023u}) {
      std::vector<std::byte> part(bytes + 1, std::byte{0x5A});
      fill_pattern(part.data(), bytes, 7, offset);
      CHECK(std::memcmp(part.data(), whole.data() + offset, bytes) == 0);
      CHECK(part[bytes] == std::byte{0x5A});
      CHECK(pattern_mismatch(part.data(), bytes, 7, offset) == bytes);
    }
}

TEST_CASE("one wrong byte is found wherever it is") {
  std::vector<std::byte> data(2000);
  for (std::size_t wrong : {0u, 1u, 6u, 7u, 8u, 777u, 1998u, 1999u}) {
    fill_pattern(data.data(), data.size(), 3, 5);
    data[wrong] ^= std::byte{1};
    CHECK(pattern_mismatch(data.data(), data.size(), 3, 5) == wrong);
  }
  fill_pattern(data.data(), data.size(), 3, 5);
  CHECK(pattern_mismatch(data.data(), data.size(), 4, 5) < 2);
  CHECK(pattern_mismatch(data.data(), data.size(), 3, 6) < 2);
}

TEST_CASE("the streaming copy copies everything and nothing else") {
  std::vector<std::byte> from(40000), to(40000);
  fill_pattern(from.data(), from.size(), 1, 0);
  for (std::size_t shift : {0u, 1u, 15u, 63u})
    for (std::size_t bytes : {0u, 1u, 63u, 64u, 127u, 129u, 4096u, 8192u, 8300u, 33000u}) {
      std::memset(to.data(), 0, to.size());
      stream_copy(to.data() + shift, from.data() + 3, bytes);
      CHECK(std::memcmp(to.data() + shift, from.data() + 3, bytes) == 0);
      CHECK((shift == 0 || to[shift - 1] == std::byte{0}));
      CHECK(to[shift + bytes] == std::byte{0});
    }
}

TEST_CASE("pieces cover the load once, out of order") {
  for (const auto& [bytes, pieces] :
       {std::pair{1000u, 1u}, {1000u, 7u}, {1000u, 1000u}, {4096u, 4u}}) {
    const PieceMap map(bytes, pieces, 1);
    std::vector<int> hit(bytes, 0);
    std::uint64_t next = 0;
    map.for_each(0, bytes, [&](std::uint64_t from, std::uint64_t to, std::uint64_t part) {
      CHECK(from == next);
      next = from + part;
      for (std::uint64_t i = 0; i < part; ++i)
        ++hit.at(to + i);
    });
    CHECK(next == bytes);
    CHECK(std::count(hit.begin(), hit.end(), 1) == static_cast<int>(bytes));
  }
  std::uint64_t in_place = 0;
  const PieceMap map(1u << 20, 256, 1);
  map.for_each(0, map.bytes(), [&](std::uint64_t from, std::uint64_t to, std::uint64_t) {
    in_place += from == to ? 1 : 0;
  });
  CHECK(in_place < 16);
  CHECK_THROWS_AS(PieceMap(10, 11, 1), error);
  CHECK_THROWS_AS(PieceMap(10, 0, 1), error);
}

TEST_CASE("parts of a piece map agree with the whole") {
  const PieceMap map(10000, 13, 5);
  std::vector<std::uint64_t> place(10000);
  map.for_each(0, 10000, [&](std::uint64_t from, std::uint64_t to, std::uint64_t part) {
    for (std::uint64_t i = 0; i < part; ++i)
      place[from + i] = to + i;
  });
  map.for_each(1234, 5678, [&](std::uint64_t from, std::uint64_t to, std::uint64_t part) {
    for (std::uint64_t i = 0; i < part; ++i)
      CHECK(place[from + i] == to + i);
  });
  std::uint64_t seen = 0;
  map.inverse().for_each(0, 10000, [&](std::uint64_t at, std::uint64_t from, std::uint64_t part) {
    for (std::uint64_t i = 0; i < part; ++i)
      CHECK(place[from + i] == at + i);
    seen += part;
  });
  CHECK(seen == 10000);
}

TEST_CASE("the source ring goes through everything before it returns, and returns elsewhere") {
  SourceRing ring(100, 10);
  CHECK(ring.take(30) == 0);
  CHECK(ring.take(25) == 30);
  CHECK(ring.take(40) == 60);
  CHECK(ring.take(10) == 10); // a round later one granule further on
  SourceRing full(100, 10);
  std::set<std::uint64_t> starts;
  for (int i = 0; i < 10; ++i)
    starts.insert(full.take(100));
  CHECK(starts.size() == 10);
}

TEST_CASE("a team does every task once and passes on failures") {
  for (int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    CHECK(team.threads() == threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> done(17);
      team.run(done.size(), [&](std::size_t i) { ++done[i]; });
      for (const auto& count : done)
        REQUIRE(count == 1);
    }
    CHECK_THROWS_AS(team.run(9,
                             [](std::size_t i) {
                               if (i == 4) throw std::runtime_error("four");
                             }),
                    std::runtime_error);
    int after = 0;
    team.run(1, [&](std::size_t) { ++after; });
    CHECK(after == 1);
  }
}
