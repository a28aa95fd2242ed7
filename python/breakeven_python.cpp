// The Python module: a thin layer over the C++ headers. No call releases the GIL: each is shorter
// than releasing it.
#include "breakeven/match.hpp"
#include "breakeven/observe.hpp"
#include "breakeven/reload.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <filesystem>

namespace nb = nanobind;
using namespace nb::literals;
using namespace breakeven;

namespace {

/// What Python calls a Policy: the policy with its facts.
struct PyPolicy {
  PolicyFile file;
  const Policy* policy; ///< file.policy, one indirection less on the path of should_load
  explicit PyPolicy(PolicyFile source) : file(std::move(source)), policy(file.policy.get()) {}
};

/// A tier as Python names it: the int of find_tier, or its name.
using TierName = std::variant<int, std::string>;
using SegmentTuple = std::tuple<TierName, std::int64_t, double>;

TierId resolve(const Policy& policy, const TierName& tier) {
  if (const int* index = std::get_if<int>(&tier)) return TierId(*index);
  return policy.find_tier(std::get<std::string>(tier).c_str());
}

/// A query whose tiers may still be names, because it is made before the policy is known.
struct PyQuery {
  Query query;
  std::vector<SegmentTuple> named; ///< all segments, when any of them is named
};

void add_segments(const Policy& policy, PyQuery& query) {
  for (const auto& [tier, end, in_flight] : query.named)
    query.query.add(resolve(policy, tier), Tokens(end), in_flight);
}

PyQuery make_query(std::int64_t prompt, std::optional<TierName> tier, std::int64_t cached,
                   std::vector<SegmentTuple> segments, std::int64_t resident, std::int64_t block,
                   double in_flight, double queue_wait_s, double compute_price, double margin) {
  PyQuery result{Query(Tokens(prompt)), std::move(segments)};
  result.query.resident = Tokens(resident);
  result.query.block = Tokens(block);
  result.query.queue_wait = Seconds(queue_wait_s);
  result.query.compute_price = compute_price;
  result.query.margin = margin;
  if (tier) result.named.insert(result.named.begin(), {*tier, cached, in_flight});
  return result;
}

Decision decide_query(const PyPolicy& self, PyQuery query) {
  add_segments(*self.policy, query);
  return decide(*self.policy, query.query);
}

PyPolicy load(const nb::object& path) {
  const nb::object text = nb::module_::import_("os").attr("fspath")(path);
  return PyPolicy(load_policy(nb::cast<std::string>(text)));
}

std::optional<std::string>
mismatch(const PyPolicy& self, std::optional<std::string> fingerprint,
         std::optional<std::string> device_name, std::optional<std::string> model,
         std::optional<std::string> kv_dtype, std::optional<std::int64_t> tensor_parallel,
         std::optional<std::int64_t> chunk_tokens, std::optional<std::int64_t> block_tokens,
         std::vector<std::string> tiers) {
  const Match result =
      match(self.file.facts,
            {std::move(fingerprint), std::move(device_name), std::move(model), std::move(kv_dtype),
             tensor_parallel, chunk_tokens, block_tokens, std::move(tiers)});
  if (result.matches) return std::nullopt;
  return result.message;
}

/// Owns the policy that the observer watches.
struct PyObserver {
  PolicyFile file;
  Observer observer;
  PyObserver(const PyPolicy& policy, ObserverOptions options)
      : file(policy.file), observer(*file.policy, options) {}
};

PyPolicy corrected(const PyObserver& self) {
  PolicyFile file = self.file;
  auto policy = std::make_shared<Policy>();
  self.observer.corrected(*policy);
  file.policy = std::move(policy);
  return PyPolicy(std::move(file));
}

struct PyReloader {
  PolicyReloader reloader;
  std::string message;
};

/// Numbers are written by Python, which knows no locale.
nb::str describe(const Decision& d) {
  return nb::str("Decision({}, load_tokens={}, load_s={!r}, recompute_s={!r}, reason={!r})")
      .format(d.load ? "load" : "recompute", d.load_tokens.value, d.load_s, d.recompute_s,
              to_string(d.reason));
}

void bind_answers(nb::module_& m) {
  nb::class_<Decision>(m, "Decision", "Load the first `load_tokens` tokens and compute the rest.")
      .def_ro("load", &Decision::load)
      .def_ro("extrapolated", &Decision::extrapolated, "An input lies outside what was calibrated.")
      .def_prop_ro(
          "load_tokens", [](const Decision& d) { return d.load_tokens.value; },
          "Counted from the start of the prompt; 0 when not load.")
      .def_ro("load_s", &Decision::load_s)
      .def_ro("recompute_s", &Decision::recompute_s, "Device time that the load saves.")
      .def_ro("margin_s", &Decision::margin_s, "What loading gains.")
      .def_prop_ro("reason", [](const Decision& d) { return to_string(d.reason); })
      .def("__bool__", [](const Decision& d) { return d.load; })
      .def("__repr__", &describe);
  nb::class_<StoreDecision>(m, "StoreDecision", "Whether a prefix is worth writing.")
      .def_ro("store", &StoreDecision::store)
      .def_ro("saving_s", &StoreDecision::saving_s)
      .def_ro("write_s", &StoreDecision::write_s)
      .def_ro("bytes", &StoreDecision::bytes)
      .def_prop_ro("reason", [](const StoreDecision& d) { return to_string(d.reason); })
      .def("__bool__", [](const StoreDecision& d) { return d.store; });
}

void bind_policy(nb::module_& m) {
  nb::class_<PyPolicy>(m, "Policy", "A break-even file, ready to decide. Immutable.")
      .def_static("load", &load, "path"_a, "Reads a break-even file; raises PolicyFileError.")
      .def_static(
          "parse", [](const std::string& text) { return PyPolicy(parse_policy(text)); }, "text"_a)
      .def(
          "find_tier",
          [](const PyPolicy& p, const std::string& name) {
            return p.policy->find_tier(name.c_str()).index;
          },
          "name"_a, "The number of a tier; -1 when there is none. Look it up once.")
      .def(
          "should_load",
          [](const PyPolicy& p, int tier, std::int64_t cached) {
            return p.policy->should_load(TierId(tier), Tokens(cached));
          },
          "tier"_a, "cached"_a, "The precomputed threshold of a tier.")
      .def(
          "should_load",
          [](const PyPolicy& p, const std::string& tier, std::int64_t cached) {
            return p.policy->should_load(p.policy->find_tier(tier.c_str()), Tokens(cached));
          },
          "tier"_a, "cached"_a)
      .def(
          "threshold",
          [](const PyPolicy& p, const TierName& tier) -> std::optional<std::int64_t> {
            const Tokens tokens = p.policy->threshold(resolve(*p.policy, tier));
            if (tokens.value == Policy::never) return std::nullopt;
            return tokens.value;
          },
          "tier"_a, "What should_load compares with, in tokens; None = never load.")
      .def("decide", &decide_query, "query"_a)
      .def(
          "decide",
          [](const PyPolicy& p, std::int64_t prompt, const TierName& tier, std::int64_t cached,
             std::int64_t resident, std::int64_t block, double in_flight, double queue_wait_s,
             double compute_price, double margin) {
            Query query{Tokens(prompt)};
            query.resident = Tokens(resident);
            query.block = Tokens(block);
            query.queue_wait = Seconds(queue_wait_s);
            query.compute_price = compute_price;
            query.margin = margin;
            query.add(resolve(*p.policy, tier), Tokens(cached), in_flight);
            return decide(*p.policy, query);
          },
          "prompt"_a, "tier"_a, "cached"_a, nb::kw_only(), "resident"_a = 0, "block"_a = 0,
          "in_flight"_a = 1.0, "queue_wait_s"_a = 0.0, "compute_price"_a = 0.0, "margin"_a = 0.0,
          "The best prefix length to load for one request.")
      .def(
          "plan",
          [](const PyPolicy& p, std::vector<PyQuery> queue) {
            Planner planner(*p.policy);
            std::vector<Decision> decisions;
            for (PyQuery& query : queue) {
              add_segments(*p.policy, query);
              decisions.push_back(planner.next(query.query));
            }
            return decisions;
          },
          "queue"_a, "Decides a waiting queue in its order; loads share their tiers.")
      .def(
          "should_store",
          [](const PyPolicy& p, const TierName& tier, std::int64_t tokens, double expected_reuses,
             double in_flight, double budget_bytes_per_day, double written_bytes_today) {
            return should_store(*p.policy,
                                {resolve(*p.policy, tier), Tokens(tokens), expected_reuses,
                                 in_flight, budget_bytes_per_day, written_bytes_today});
          },
          "tier"_a, "tokens"_a, "expected_reuses"_a, nb::kw_only(), "in_flight"_a = 1.0,
          "budget_bytes_per_day"_a = 0.0, "written_bytes_today"_a = 0.0)
      .def(
          "observe",
          [](const PyPolicy& p, double max_factor) {
            ObserverOptions options;
            if (max_factor > 1) options.max_factor = max_factor;
            return new PyObserver(p, options);
          },
          "max_factor"_a = 2.0, nb::rv_policy::take_ownership,
          "An observer that learns from real transfers.")
      .def("mismatch", &mismatch, nb::kw_only(), "fingerprint"_a = nb::none(),
           "device_name"_a = nb::none(), "model"_a = nb::none(), "kv_dtype"_a = nb::none(),
           "tensor_parallel"_a = nb::none(), "chunk_tokens"_a = nb::none(),
           "block_tokens"_a = nb::none(), "tiers"_a = std::vector<std::string>(),
           "Why the file does not belong to this deployment; None when it does.")
      .def_prop_ro("tiers", [](const PyPolicy& p) { return p.file.facts.tiers; })
      .def_prop_ro("status", [](const PyPolicy& p) { return p.file.facts.status; })
      .def_prop_ro("model", [](const PyPolicy& p) { return p.file.facts.model; })
      .def_prop_ro("kv_dtype", [](const PyPolicy& p) { return p.file.facts.kv_dtype; })
      .def_prop_ro("fingerprint", [](const PyPolicy& p) { return p.file.facts.fingerprint; })
      .def_prop_ro("chunk_tokens", [](const PyPolicy& p) { return p.file.facts.chunk_tokens; });
}

void bind_rest(nb::module_& m) {
  nb::class_<PyQuery>(m, "Query", "One request of a queue; segments are (tier, end, in_flight).")
      .def(
          "__init__",
          [](PyQuery* self, std::int64_t prompt, std::optional<TierName> tier, std::int64_t cached,
             std::vector<SegmentTuple> segments, std::int64_t resident, std::int64_t block,
             double in_flight, double queue_wait_s, double compute_price, double margin) {
            new (self)
                PyQuery(make_query(prompt, std::move(tier), cached, std::move(segments), resident,
                                   block, in_flight, queue_wait_s, compute_price, margin));
          },
          "prompt"_a, "tier"_a = nb::none(), "cached"_a = 0, nb::kw_only(),
          "segments"_a = std::vector<SegmentTuple>(), "resident"_a = 0, "block"_a = 0,
          "in_flight"_a = 1.0, "queue_wait_s"_a = 0.0, "compute_price"_a = 0.0, "margin"_a = 0.0);
  nb::class_<PyObserver>(m, "Observer", "Learns how far the node has drifted; bounded and robust.")
      .def(
          "load",
          [](PyObserver& o, const TierName& tier, double bytes, double pieces, double seconds,
             double in_flight) {
            o.observer.load(resolve(*o.file.policy, tier), bytes, pieces, in_flight,
                            Seconds(seconds));
          },
          "tier"_a, "bytes"_a, "pieces"_a, "seconds"_a, "in_flight"_a = 1.0)
      .def(
          "prefill",
          [](PyObserver& o, std::int64_t context, std::int64_t fresh, double seconds) {
            o.observer.prefill(Tokens(context), Tokens(fresh), Seconds(seconds));
          },
          "context"_a, "new"_a, "seconds"_a)
      .def(
          "load_factor",
          [](const PyObserver& o, const TierName& tier) {
            return o.observer.load_factor(resolve(*o.file.policy, tier));
          },
          "tier"_a)
      .def_prop_ro("prefill_factor",
                   [](const PyObserver& o) { return o.observer.prefill_factor(); })
      .def_prop_ro("calibration_due",
                   [](const PyObserver& o) { return o.observer.calibration_due(); })
      .def("corrected", &corrected, "A policy with the corrections of now.");
  nb::class_<PyReloader>(m, "Reloader", "Follows a break-even file that is replaced.")
      .def(
          "__init__",
          [](PyReloader* self, const nb::object& path) {
            const nb::object text = nb::module_::import_("os").attr("fspath")(path);
            new (self) PyReloader{PolicyReloader(nb::cast<std::string>(text)), ""};
          },
          "path"_a)
      .def(
          "check", [](PyReloader& r) { return r.reloader.check(r.message); },
          "Reads the file again when it changed; True when there is a new policy.")
      .def_ro("message", &PyReloader::message, "Why the last check kept the old policy, or ''.")
      .def_prop_ro("policy", [](const PyReloader& r) {
        return PyPolicy({r.reloader.live().snapshot(), r.reloader.facts()});
      });
}

} // namespace

NB_MODULE(_breakeven, m) {
  nb::exception<policy_file_error>(m, "PolicyFileError", PyExc_ValueError);
  m.attr("__version__") = "0.1.0";
  m.def(
      "_empty_call", [](int, std::int64_t) { return false; },
      "The floor of a call, for benchmarks.");
  bind_answers(m);
  bind_policy(m);
  bind_rest(m);
}
