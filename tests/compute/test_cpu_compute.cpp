#include "compute/cpu_compute.hpp"
#include "fixture.hpp"
#include "support/catch.hpp"
#include "support/error.hpp"

#include <cmath>
#include <set>

using namespace breakeven;

namespace {

compute::ComputeOptions small_options() {
  compute::ComputeOptions options;
  options.threads = 2;
  options.max_context_tokens = 512;
  options.chunk_tokens = 64;
  return options;
}

const compute::WorkDone& work(const measure::Workload& workload) {
  return dynamic_cast<const compute::CpuWorkload&>(workload).work_done();
}

template <class F>
error_kind kind_thrown(F&& f) {
  try {
    f();
  } catch (const error& e) {
    return e.kind();
  }
  FAIL("nothing was thrown");
  return error_kind::usage;
}

} // namespace

TEST_CASE("the registry offers the CPU and names what it does not know") {
  CHECK(compute::resolve_device("cpu") == "cpu");
  CHECK_FALSE(compute::resolve_device("auto").empty());
  CHECK(kind_thrown([] { compute::resolve_device("tpu"); }) == error_kind::usage);
  CHECK(kind_thrown([] { compute::resolve_device("cpu:7"); }) == error_kind::usage);
}

TEST_CASE("facts say what runs") {
  const auto c = compute::create("cpu", test::tiny_llama(), small_options());
  CHECK(c->facts().id == "cpu");
  CHECK(c->facts().threads == 2);
  CHECK_FALSE(c->facts().kernel_source.empty());
  CHECK((c->facts().compute_dtype == "bf16" || c->facts().compute_dtype == "fp32"));
  CHECK(c->architecture().name == "tiny");
}

TEST_CASE("an fp32 model runs in fp32 everywhere") {
  model::Architecture a = test::tiny_llama();
  a.activation_dtype = model::DType::fp32;
  const auto c = compute::create("cpu", a, small_options());
  CHECK(c->facts().compute_dtype == "fp32");
  CHECK(c->step(100, 33)->run().seconds > 0);
}

TEST_CASE("sampled layers scale to the work of the whole model") {
  model::Architecture a = test::tiny_llama();
  a.kinds.push_back(a.kinds.front());
  a.kinds[0].count = 5;
  a.kinds[1].count = 3;
  a.kinds[1].name = "window";
  a.kinds[1].attention.kind = model::AttentionKind::sliding_window;
  a.kinds[1].attention.window_tokens = 40;
  double full_pairs = 0;
  std::vector<double> kind_pairs;
  for (const model::LayerKind& kind : a.kinds) {
    const auto shape = compute::attention_shape(kind.attention);
    kind_pairs.push_back(compute::visible_pairs(shape, 300, 64) *
                         static_cast<double>(shape.heads * kind.count));
    full_pairs += kind_pairs.back();
  }
  for (const std::int64_t layers : {1, 2, 5}) {
    auto options = small_options();
    options.measured_layers = layers;
    compute::CpuCompute c(a, options);
    for (int run = 0; run < 3; ++run) {
      const auto step = c.step(300, 64);
      step->run();
      CHECK(work(*step).layers == std::vector<double>{5, 3});
      CHECK(work(*step).heads == 1);
      CHECK(work(*step).pairs == Approx(full_pairs));
      const auto dense = c.dense(64);
      dense->run();
      CHECK(work(*dense).layers == std::vector<double>{5, 3});
      CHECK(work(*dense).pairs == 0);
      for (std::size_t kind = 0; kind < 2; ++kind) {
        const auto attention = c.attention(kind, 300, 64);
        attention->run();
        CHECK(work(*attention).pairs == Approx(kind_pairs[kind]));
      }
    }
  }
}

TEST_CASE("workloads give positive finite seconds at the edges of the grid") {
  compute::CpuCompute c(test::tiny_llama(), small_options());
  for (const std::int64_t context : {0, 1, 31, 512})
    for (const std::int64_t tokens : {1, 2, 63, 64}) {
      for (const double s :
           {c.step(context, tokens)->run().seconds, c.attention(0, context, tokens)->run().seconds,
            c.dense(tokens)->run().seconds}) {
        CHECK(s > 0);
        CHECK(std::isfinite(s));
      }
    }
}

TEST_CASE("lengths outside the set-up are refused") {
  compute::CpuCompute c(test::tiny_llama(), small_options());
  CHECK(kind_thrown([&] { c.dense(65); }) == error_kind::usage);
  CHECK(kind_thrown([&] { c.dense(0); }) == error_kind::usage);
  CHECK(kind_thrown([&] { c.step(513, 1); }) == error_kind::usage);
  CHECK(kind_thrown([&] { c.attention(1, 0, 1); }) == error_kind::usage);
}

TEST_CASE("the KV buffer holds what is copied in, is kept, and grows") {
  compute::CpuCompute c(test::tiny_llama(), small_options());
  compute::DeviceBuffer& buffer = c.kv_buffer(5 << 20);
  CHECK(&c.kv_buffer(1 << 20) == &buffer);
  CHECK(buffer.size_bytes() >= (5U << 20));
  std::vector<std::byte> data((3 << 20) + 17), back(data.size());
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>(i * 31 + i / 256);
  buffer.copy_in(12345, data.data(), data.size());
  buffer.synchronize();
  buffer.copy_out(12345, back.data(), back.size());
  CHECK(back == data);
  CHECK(std::memcmp(buffer.host_address() + 12345, data.data(), data.size()) == 0);
  CHECK(kind_thrown([&] { buffer.copy_in(5 << 20, data.data(), 1); }) == error_kind::measurement);
  CHECK(kind_thrown([&] { buffer.copy_in(~std::uint64_t{0}, data.data(), 2); }) ==
        error_kind::measurement);
  CHECK(c.kv_buffer(9 << 20).size_bytes() >= (9U << 20));
  CHECK(kind_thrown([&] { c.kv_buffer(std::uint64_t{1} << 55); }) == error_kind::environment);
}

TEST_CASE("buffers hold varied values") {
  for (const test::Precision& p : test::precisions()) {
    const auto rows = test::random_rows(p.runtime, 100000, 7);
    const auto values = test::read(p.runtime, rows.data(), 100000);
    double sum = 0, squares = 0;
    for (const double x : values) {
      sum += x;
      squares += x * x;
      REQUIRE(std::abs(x) <= 1);
    }
    CHECK(std::abs(sum / 1e5) < 0.02);
    CHECK(squares / 1e5 == Approx(1.0 / 3).epsilon(0.05));
    CHECK(std::set<double>(values.begin(), values.end()).size() > 300);
  }
}
