#include "compute/memory_plan.hpp"
#include "models.hpp"
#include "support/catch.hpp"
#include "support/error.hpp"

using namespace breakeven;

namespace {
constexpr std::uint64_t mib = 1 << 20, gib = 1 << 30;

compute::MemoryRequest default_request(std::uint64_t limit) {
  compute::MemoryRequest r;
  r.max_context_tokens = 32768;
  r.chunk_tokens = 2048;
  r.limit_bytes = limit;
  r.last_level_cache_bytes = 32 * mib;
  r.threads = 2;
  return r;
}
} // namespace

TEST_CASE("a default calibration of llama-3.2-1b stays within 1.3 GiB and keeps several layers") {
  for (const std::uint64_t cache : {32 * mib, 260 * mib}) {
    auto request = default_request(64 * gib);
    request.last_level_cache_bytes = cache;
    const auto plan = compute::plan_memory(test::llama_3_2_1b(), request);
    CHECK(plan.bytes < 13 * gib / 10);
    CHECK(plan.kinds[0].layers >= 2);
    CHECK(plan.head_rows == 128256);
    CHECK(plan.warnings.empty());
  }
}

TEST_CASE("little memory reduces what is kept, says so, and never exceeds the limit") {
  std::int64_t layers = 1000;
  bool warned = false, refused = false;
  for (std::uint64_t limit = 1500 * mib; limit > mib; limit = limit * 9 / 10) {
    try {
      const auto plan = compute::plan_memory(test::llama_3_2_1b(), default_request(limit));
      CHECK_FALSE(refused); // less memory never helps
      CHECK(plan.bytes <= limit);
      layers = plan.kinds[0].layers;
      warned = warned || !plan.warnings.empty();
    } catch (const error& e) {
      CHECK(e.kind() == error_kind::environment);
      refused = true;
    }
  }
  CHECK(layers == 1);
  CHECK(warned);
  CHECK(refused);
}

TEST_CASE("more layers than the memory allows is reduced with a warning") {
  auto request = default_request(900 * mib);
  request.measured_layers = 16;
  const auto plan = compute::plan_memory(test::llama_3_2_1b(), request);
  CHECK(plan.kinds[0].layers < 16);
  CHECK(plan.warnings.size() == 1);
}

TEST_CASE("asked-for layers are kept where they fit, at most as many as the model has") {
  auto request = default_request(64 * gib);
  request.measured_layers = 100;
  CHECK(compute::plan_memory(test::llama_3_2_1b(), request).kinds[0].layers == 16);
}
