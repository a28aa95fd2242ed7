#include "calibrate/prefill_part.hpp"

#include "fit/fit.hpp"

#include <algorithm>

namespace breakeven::calibrate {

PrefillPart::PrefillPart(const Plan& plan, compute::Compute& compute, Catalogue& catalogue)
    : m_plan(plan), m_compute(compute) {
  for (const std::int64_t n : plan.dense_new)
    m_dense.push_back(catalogue.add(compute.dense(n)));
  for (std::size_t kind = 0; kind < plan.architecture.kinds.size(); ++kind) {
    if (!compute.attention(kind, 0, 1)) continue;
    Grid grid{plan.architecture.kinds[kind].name, {}};
    for (const std::int64_t c : plan.attention_context) {
      grid.ids.emplace_back();
      for (const std::int64_t n : plan.attention_new)
        grid.ids.back().push_back(catalogue.add(compute.attention(kind, c, n)));
    }
    m_grids.push_back(std::move(grid));
  }
  for (const GridPoint& point : plan.step_checks)
    m_checks.push_back(catalogue.add(compute.step(point.context_tokens, point.new_tokens)));
}

profile::Prefill PrefillPart::result(const Plan& plan, const Catalogue& catalogue) const {
  const compute::DeviceFacts& facts = m_compute.facts();
  profile::Prefill prefill;
  prefill.device = facts.id;
  prefill.device_name = facts.name;
  prefill.kernel_source = facts.kernel_source;
  prefill.compute_dtype = facts.compute_dtype;
  prefill.regime = "sustained"; // the whole run keeps the device busy for tens of seconds
  prefill.threads = facts.threads;
  prefill.dense.new_tokens = plan.dense_new;
  for (const Catalogue::Id id : m_dense)
    prefill.dense.seconds.push_back(catalogue.measurement(id));
  for (const Grid& grid : m_grids) {
    profile::AttentionGrid out{grid.layer_kind, plan.attention_context, plan.attention_new, {}};
    for (const auto& row : grid.ids) {
      out.seconds.emplace_back();
      for (const Catalogue::Id id : row)
        out.seconds.back().push_back(catalogue.measurement(id));
    }
    prefill.attention.push_back(std::move(out));
  }
  const fit::PrefillCurve curve(prefill, plan.request.chunk_tokens);
  for (std::size_t i = 0; i < m_checks.size(); ++i) {
    profile::StepCheck check;
    check.context_tokens = plan.step_checks[i].context_tokens;
    check.new_tokens = plan.step_checks[i].new_tokens;
    check.measured = catalogue.measurement(m_checks[i]);
    check.predicted_s = curve.step_s(check.context_tokens, check.new_tokens);
    if (check.measured.median_s > 0)
      check.relative_error = check.predicted_s / check.measured.median_s - 1;
    prefill.step_checks.push_back(std::move(check));
  }
  return prefill;
}

bool PrefillPart::decides(Catalogue::Id id, std::int64_t tokens) const {
  for (std::size_t i = 0; i < m_dense.size(); ++i)
    if (m_dense[i] == id)
      return m_plan.dense_new[i] * 4 >= std::min(tokens, m_plan.request.chunk_tokens);
  for (const Grid& grid : m_grids)
    for (std::size_t c = 0; c < grid.ids.size(); ++c)
      if (std::find(grid.ids[c].begin(), grid.ids[c].end(), id) != grid.ids[c].end())
        return m_plan.attention_context[c] <= 2 * tokens;
  return false;
}

} // namespace breakeven::calibrate
