#include "predict/capacity.hpp"

#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::predict {
namespace {

constexpr double day_s = 86400, days_per_year = 365;
constexpr double warranty_years = 5; // of data-centre drives; their rated endurance is over it

std::int64_t hit_tokens_of(double hit_rate, std::int64_t context) {
  return std::min(context - 1,
                  static_cast<std::int64_t>(std::floor(hit_rate * static_cast<double>(context))));
}

/// Prefill and KV bytes of the whole model, all ranks of an instance together.
class Planner {
public:
  Planner(const Inputs& inputs, const Load& load, const Store& store)
      : m_inputs(inputs), m_load(load), m_store(store), m_roofline(inputs.roofline()),
        m_ranks(static_cast<double>(inputs.model.tensor_parallel)) {
    m_plan.devices = inputs.node.count;
    m_plan.instances = inputs.node.count / inputs.model.tensor_parallel;
  }

  CapacityPlan run() {
    sizes();
    traffic();
    rates();
    device_memory();
    if (m_store.host_memory_bytes > 0)
      add_tier("host memory", m_store.host_memory_bytes, host_Bps());
    for (const Drives& drives : m_store.drives)
      add_drives(drives);
    return std::move(m_plan);
  }

private:
  double kv_bytes(std::int64_t tokens) const {
    return m_ranks * static_cast<double>(m_inputs.model.kv_bytes(tokens));
  }
  double prefill_s(std::int64_t context, std::int64_t fresh) const {
    return m_roofline.prefill_s(context, fresh, m_inputs.request.chunk_tokens);
  }

  void sizes() {
    const std::int64_t context = m_load.context_tokens;
    m_plan.hit_tokens = hit_tokens_of(m_load.hit_rate, context);
    m_plan.kv_bytes_per_token =
        kv_bytes(1) - m_ranks * static_cast<double>(m_inputs.model.state_bytes());
    m_plan.context_bytes = kv_bytes(context);
    m_plan.hit_bytes = m_plan.hit_tokens > 0 ? kv_bytes(m_plan.hit_tokens) : 0;
    if (m_plan.hit_tokens > 0) {
      m_plan.saved_s =
          prefill_s(0, context) - prefill_s(m_plan.hit_tokens, context - m_plan.hit_tokens);
      if (m_plan.saved_s > 0) m_plan.break_even_Bps = m_plan.hit_bytes / m_plan.saved_s;
    }
  }

  void traffic() {
    m_plan.users = static_cast<double>(m_load.users);
    m_plan.requests_per_day = m_load.requests_per_day;
    if (m_plan.requests_per_day == 0 && m_load.reuse_interval_s > 0)
      m_plan.requests_per_day = m_plan.users * day_s / m_load.reuse_interval_s;
    if (m_plan.users == 0 && m_load.reuse_interval_s > 0)
      m_plan.users = std::ceil(m_plan.requests_per_day * m_load.reuse_interval_s / day_s);
    m_plan.requests_per_s = m_plan.requests_per_day / day_s;
    m_plan.working_set_bytes = m_plan.users * m_plan.context_bytes;
    const double fresh = static_cast<double>(m_load.context_tokens - m_plan.hit_tokens);
    m_plan.written_bytes_per_day =
        m_plan.requests_per_day * (m_plan.context_bytes - m_plan.hit_bytes);
    if (m_plan.hit_tokens == 0)
      m_plan.written_bytes_per_day = m_plan.requests_per_day * m_plan.context_bytes;
    if (m_plan.requests_per_day > 0)
      m_plan.notes.push_back(fmt::format("each prompt adds {} new tokens; replies are not counted",
                                         format_tokens(static_cast<std::int64_t>(fresh))));
  }

  void rates() {
    std::vector<double> hits = {0, 0.25, 0.5, 0.75, 0.9, 0.95, m_load.hit_rate};
    std::sort(hits.begin(), hits.end());
    hits.erase(std::unique(hits.begin(), hits.end()), hits.end());
    const std::int64_t context = m_load.context_tokens;
    for (const double hit : hits) {
      const std::int64_t cached = hit_tokens_of(hit, context);
      PrefillRate rate;
      rate.hit_rate = hit;
      rate.requests_per_s =
          static_cast<double>(m_plan.instances) / prefill_s(cached, context - cached);
      rate.prompt_tokens_per_s = rate.requests_per_s * static_cast<double>(context);
      rate.hit_Bps = cached > 0 ? rate.requests_per_s * kv_bytes(cached) : 0;
      m_plan.rates.push_back(rate);
      if (hit == 0)
        m_plan.most_written_bytes_per_day = written_bytes_per_day(
            rate.prompt_tokens_per_s, m_plan.context_bytes / static_cast<double>(context));
      if (hit == m_load.hit_rate) m_plan.load_share = m_plan.requests_per_s / rate.requests_per_s;
    }
  }

  double weight_bytes() const {
    if (m_store.weight_bytes > 0) return m_store.weight_bytes;
    if (m_inputs.model.parameters == 0)
      throw error(error_kind::usage, m_inputs.model.name +
                                         ": the number of parameters is not known, so give "
                                         "--weights, the size of its weights");
    return static_cast<double>(m_inputs.model.parameters) *
           model::bits_of(m_inputs.model.weight_dtype) / 8;
  }

  void device_memory() {
    const auto devices = static_cast<double>(m_plan.devices);
    double each = m_store.device_memory_bytes;
    if (each == 0) each = m_inputs.node.device.value("memory");
    if (each == 0) {
      m_plan.notes.push_back(m_inputs.node.device.name +
                             " has no published memory of its own: no device tier is counted");
      return;
    }
    const double weights = weight_bytes() * static_cast<double>(m_plan.instances);
    const double usable =
        devices * (each * m_store.device_memory_share - m_store.device_reserve_bytes);
    if (usable <= weights)
      throw error(error_kind::usage,
                  fmt::format("{} of weights do not fit into {} of device memory: more devices "
                              "(--node {}:N), fewer instances (--tp) or smaller weights",
                              format_bytes_si(weights), format_bytes_si(usable),
                              printable(m_inputs.node.device.name)));
    m_plan.notes.push_back(
        fmt::format("device memory: {:.3g} % of {} x {} less {} of weights{}",
                    100 * m_store.device_memory_share, m_plan.devices, format_bytes_si(each),
                    format_bytes_si(weights),
                    m_store.device_reserve_bytes > 0
                        ? fmt::format(" and {} x {} of reserve", m_plan.devices,
                                      format_bytes_si(m_store.device_reserve_bytes))
                        : ""));
    add_tier("device memory", usable - weights, 0);
    TierCapacity& tier = m_plan.tiers.back();
    tier.pays = true;
    tier.verdict =
        tier.share_of_users >= 1 || m_plan.users == 0
            ? "pays: nothing needs loading"
            : fmt::format("pays, but holds {:.3g} % of the working set", 100 * tier.share_of_users);
  }

  /// What reaches all devices together over their links.
  double links_Bps() const {
    double each = 0.85 * m_inputs.link_Bps();
    return each * static_cast<double>(m_plan.devices);
  }
  double host_Bps() const {
    const double memory = m_inputs.node.device.value("host_memory_bandwidth");
    if (links_Bps() > 0) return memory > 0 ? std::min(memory, links_Bps()) : links_Bps();
    return 0.85 * m_inputs.node.device.value("memory_bandwidth") / 2; // a copy reads and writes
  }

  void add_tier(const std::string& name, double bytes, double bandwidth_Bps) {
    TierCapacity tier;
    tier.name = name;
    tier.bytes = bytes;
    tier.prefixes = std::floor(bytes / m_plan.context_bytes);
    tier.tokens = std::floor(tier.prefixes * static_cast<double>(m_load.context_tokens) +
                             (bytes - tier.prefixes * m_plan.context_bytes) /
                                 std::max(1.0, m_plan.kv_bytes_per_token));
    if (m_plan.working_set_bytes > 0)
      tier.share_of_users = std::min(1.0, bytes / m_plan.working_set_bytes);
    tier.bandwidth_Bps = bandwidth_Bps;
    if (bandwidth_Bps > 0 && m_plan.hit_bytes > 0) {
      // One hit has its instance's share of the links; the others do not load at that moment.
      const double alone = std::min(bandwidth_Bps, instance_links_Bps(bandwidth_Bps));
      tier.load_s = m_inputs.request.fixed_s + m_plan.hit_bytes / alone;
      tier.demand_Bps = m_plan.requests_per_s * m_plan.hit_bytes;
    }
    m_plan.tiers.push_back(tier);
    if (bandwidth_Bps > 0) judge(m_plan.tiers.back());
  }
  double instance_links_Bps(double otherwise) const {
    const double links = links_Bps() / static_cast<double>(m_plan.instances);
    return links > 0 ? links : otherwise;
  }

  void judge(TierCapacity& tier) const {
    if (m_plan.hit_tokens == 0) {
      tier.verdict = "does not pay: nothing is cached at a hit rate of 0";
    } else if (tier.load_s >= m_plan.saved_s) {
      tier.verdict = fmt::format("does not pay: loading a hit takes {}, computing it {}",
                                 format_seconds(tier.load_s), format_seconds(m_plan.saved_s));
    } else if (tier.demand_Bps > tier.bandwidth_Bps) {
      tier.verdict = fmt::format("does not pay for all: hits ask for {}, it delivers {}",
                                 format_rate(tier.demand_Bps), format_rate(tier.bandwidth_Bps));
    } else {
      tier.pays = true;
      tier.verdict = fmt::format("pays: loading a hit takes {}, computing it {}",
                                 format_seconds(tier.load_s), format_seconds(m_plan.saved_s));
      if (m_plan.working_set_bytes > 0 && tier.share_of_users < 1)
        tier.verdict +=
            fmt::format("; holds {:.3g} % of the working set", 100 * tier.share_of_users);
    }
  }

  void add_drives(const Drives& drives) {
    const double links = links_Bps();
    double rate = drives.count * drives.read_Bps;
    if (links > 0) rate = std::min(rate, links);
    add_tier(drives.title, drives.count * drives.capacity_bytes, rate);
    TierCapacity& tier = m_plan.tiers.back();
    if (rate == 0) tier.verdict = "cannot be judged: its read rate is not known";
    const double written = m_plan.written_bytes_per_day;
    if (written > 0 && drives.write_Bps > 0 && written > drives.count * drives.write_Bps * day_s) {
      tier.pays = false;
      tier.verdict = "does not pay for all: new tokens come faster than it writes";
    }
    if (written <= 0 || drives.endurance_bytes <= 0) return;
    tier.endurance_years = drives.count * drives.endurance_bytes / (written * days_per_year);
    if (tier.endurance_years < warranty_years) {
      tier.pays = false;
      tier.verdict += fmt::format("; but is worn out in {:.2g} years by {} a day: write only what "
                                  "is reused",
                                  tier.endurance_years, format_bytes_si(written));
    }
  }

  const Inputs& m_inputs;
  const Load& m_load;
  const Store& m_store;
  Roofline m_roofline;
  double m_ranks;
  CapacityPlan m_plan;
};

} // namespace

double written_bytes_per_day(double tokens_per_s, double bytes_per_token) {
  return tokens_per_s * bytes_per_token * day_s;
}

Drives parse_drives(const std::string& text) {
  const Multiple multiple = parse_multiple(text, "--nvme");
  Drives drives;
  drives.count = multiple.count;
  const bool is_size = !multiple.of.empty() &&
                       multiple.of.find_first_not_of("0123456789.TGPiB") == std::string::npos;
  if (is_size) {
    drives.capacity_bytes = parse_size(multiple.of, "--nvme");
    drives.title = fmt::format("{:g} x {}", drives.count, format_bytes_si(drives.capacity_bytes));
    return drives;
  }
  const Hardware device = find_hardware(multiple.of, {"drive"});
  drives.capacity_bytes = device.value("capacity");
  drives.read_Bps = device.value("read");
  drives.write_Bps = device.value("write");
  drives.endurance_bytes = device.value("endurance");
  drives.title = fmt::format("{:g} x {}", drives.count, device.name);
  if (drives.capacity_bytes <= 0)
    throw error(error_kind::usage, "--nvme '" + printable(text) + "': " + device.name +
                                       " has no published capacity; name a drive that has one");
  return drives;
}

CapacityPlan plan_capacity(const Inputs& inputs, const Load& load, const Store& store) {
  if (load.context_tokens < 2)
    throw error(error_kind::usage, "--context must be at least 2 tokens");
  if (load.users == 0 && load.requests_per_day == 0)
    throw error(error_kind::usage,
                "the load is not known: give --users, or --requests-per-day (with "
                "--reuse-interval the other follows)");
  if (inputs.node.count % inputs.model.tensor_parallel != 0)
    throw error(error_kind::usage, fmt::format("{} devices cannot be divided into instances of {}",
                                               inputs.node.count, inputs.model.tensor_parallel));
  return Planner(inputs, load, store).run();
}

} // namespace breakeven::predict
