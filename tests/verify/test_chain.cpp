#include "support/catch.hpp"

#include "verify/chain.hpp"

using namespace breakeven;

namespace {

/// Work of a known time that counts its runs.
class Fixed final : public measure::Workload {
public:
  Fixed(double seconds, double scale, bool throttled = false)
      : Workload("fixed"), m_seconds(seconds), m_is_throttled(throttled) {
    set_scale(scale);
  }
  int runs = 0;

protected:
  void do_run() override { ++runs; }
  [[nodiscard]] double do_device_seconds() const override { return m_seconds; }
  [[nodiscard]] bool do_throttled() const override { return m_is_throttled; }

private:
  double m_seconds;
  bool m_is_throttled;
};

} // namespace

TEST_CASE("a chain takes the scaled time of all its parts") {
  const auto load = std::make_shared<Fixed>(0.5, 1);
  const auto step = std::make_shared<Fixed>(0.25, 4);
  verify::Chain chain("hit", load, {step, step});
  CHECK(chain.run().seconds == Approx(2.5));
  CHECK(step->runs == 2);
  CHECK(chain.load_seconds() == std::vector<double>{0.5});
}

TEST_CASE("a run ahead stands for the next run, once") {
  const auto step = std::make_shared<Fixed>(0.25, 1);
  verify::Chain chain("recompute", nullptr, {step});
  chain.run_ahead();
  CHECK(step->runs == 1);
  CHECK(chain.run().seconds == Approx(0.25));
  CHECK(step->runs == 1);
  CHECK(chain.run().seconds == Approx(0.25));
  CHECK(step->runs == 2);
  CHECK(chain.load_seconds().empty());
}

TEST_CASE("one throttled part marks the whole chain, for that run only") {
  const auto step = std::make_shared<Fixed>(0.25, 1);
  const auto slow = std::make_shared<Fixed>(0.25, 1, true);
  CHECK(verify::Chain("a", slow, {step}).run().throttled);
  CHECK_FALSE(verify::Chain("b", step, {step}).run().throttled);
}
