#include "support/catch.hpp"

#include "calibrate/contention.hpp"
#include "calibrate/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

using namespace breakeven;
using namespace breakeven::calibrate;

namespace {

class Nap : public measure::Workload {
public:
  explicit Nap(int fail_at = -1) : Workload("nap"), m_fail_at(fail_at) {}
  int runs = 0;

protected:
  void do_run() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (runs++ == m_fail_at) throw std::runtime_error("broken drive");
  }

private:
  int m_fail_at;
};

model::Architecture architecture() {
  model::Architecture a;
  a.layers = 16;
  model::LayerKind kind;
  kind.count = 16;
  kind.attention.kind = model::AttentionKind::full;
  kind.attention.heads = 32;
  kind.attention.kv_heads = 8;
  kind.attention.qk_head_dim = kind.attention.v_head_dim = 64;
  a.kinds = {kind};
  return a;
}

const tier::KvLayout layout{"one block over all layers", 32 << 10, 256, 16, 16};

} // namespace

TEST_CASE("contention compares each side with itself alone") {
  Nap load, step;
  const auto found = measure_contention({load, {1 << 20, 4, 1}, step, 64}, 0.05, {});
  REQUIRE(found);
  CHECK(found->bytes == 1 << 20);
  CHECK(found->new_tokens == 64);
  CHECK(found->load.count >= 1);
  CHECK(found->prefill.count >= 2);
  CHECK(found->load_slowdown == Approx(found->load.median_s / found->load_alone_s));
  CHECK(found->prefill_slowdown == Approx(found->prefill.median_s / found->prefill_alone_s));
}

TEST_CASE("a load that fails beside prefill is an error, a stop is no result") {
  Nap step, broken(30);
  CHECK_THROWS_WITH(measure_contention({broken, {1, 1, 1}, step, 64}, 0.3, {}), "broken drive");
  std::stop_source stop;
  stop.request_stop();
  Nap load;
  CHECK_FALSE(measure_contention({load, {1, 1, 1}, step, 64}, 0.05, stop.get_token()));
}

TEST_CASE("layouts are those of engines, and sizes from 4 KiB to 4 MiB") {
  const auto shapes = layouts_of(architecture(), layout, {32768, std::uint64_t{1} << 30});
  std::set<std::uint64_t> sizes;
  for (const LayoutShape& shape : shapes) {
    CHECK(shape.load.bytes == 32u << 20);
    CHECK(sizes.insert(shape.load.bytes / shape.load.pieces).second); // each size once
  }
  for (const std::uint64_t size : {4u << 10, 16u << 10, 64u << 10, 512u << 10, 4u << 20, 8u << 20})
    CHECK(sizes.count(size) == 1);
  const auto named = std::find_if(shapes.begin(), shapes.end(), [](const LayoutShape& shape) {
    return shape.name == "per block and layer, K and V apart";
  });
  REQUIRE(named != shapes.end());
  CHECK(named->load.bytes / named->load.pieces == 16u << 10);
}

TEST_CASE("the sweep has room for every load, each once, and holds some back from the fit") {
  for (const std::int64_t last : {1024, 2048, 8192, 32768}) {
    const SweepLimits limits{last, static_cast<std::uint64_t>(last * layout.bytes_per_token)};
    const auto sweep = sweep_of(architecture(), layout, limits);
    std::set<std::string> seen;
    for (const SweepShape& shape : sweep) {
      CHECK(shape.load.bytes * static_cast<std::uint64_t>(shape.load.in_flight) <=
            limits.kv_buffer_bytes);
      CHECK(seen.insert(std::to_string(shape.load.bytes) + "/" + std::to_string(shape.load.pieces) +
                        "/" + std::to_string(shape.load.in_flight))
                .second);
    }
    CHECK((last < 2048 || std::any_of(sweep.begin(), sweep.end(), [](const SweepShape& shape) {
             return shape.load.in_flight == 8;
           })));
    CHECK((last < 4096 || std::any_of(sweep.begin(), sweep.end(),
                                      [](const SweepShape& shape) { return shape.holdout; })));
  }
}
