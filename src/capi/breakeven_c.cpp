#include "breakeven/breakeven.h"

#include "breakeven/observe.hpp"
#include "breakeven/policy_file.hpp"

#include <cstring>
#include <new>

struct breakeven_policy {
  breakeven::PolicyFile file;
};

struct breakeven_observer {
  breakeven_observer(const breakeven::PolicyFile& source, breakeven::ObserverOptions options)
      : file(source), observer(*file.policy, options) {}
  breakeven::PolicyFile file;
  breakeven::Observer observer;
};

static_assert(BREAKEVEN_MAX_SEGMENTS == breakeven::max_segments, "documented in both headers");

namespace {

using breakeven::Seconds;
using breakeven::TierId;
using breakeven::Tokens;

void copy_message(const char* from, char* message, size_t size) noexcept {
  if (message == nullptr || size == 0) return;
  const size_t length = std::min(size - 1, std::strlen(from));
  std::memcpy(message, from, length);
  message[length] = '\0';
}

/// Calls `read`, which may throw, and turns what it throws into `message`.
template <class Read>
breakeven_policy* guarded(Read read, char* message, size_t size) noexcept {
  copy_message("", message, size);
  try {
    return new breakeven_policy{read()};
  } catch (const std::exception& error) {
    copy_message(error.what(), message, size);
  } catch (...) {
    copy_message("the break-even file could not be read", message, size);
  }
  return nullptr;
}

const breakeven::Policy& policy_of(const breakeven_policy* policy) noexcept {
  static const breakeven::Policy none;
  return policy == nullptr ? none : *policy->file.policy;
}

breakeven::Query to_query(const breakeven_query& from) noexcept {
  breakeven::Query query{Tokens(from.prompt_tokens)};
  query.resident = Tokens(from.resident_tokens);
  query.block = Tokens(from.block_tokens);
  query.queue_wait = Seconds(from.queue_wait_s);
  query.compute_price = from.compute_price;
  query.margin = from.margin;
  for (size_t i = 0; from.segments != nullptr && i < from.segment_count; ++i)
    if (!query.add(TierId(from.segments[i].tier), Tokens(from.segments[i].end_tokens),
                   from.segments[i].in_flight))
      break;
  return query;
}

breakeven_decision from_decision(const breakeven::Decision& from) noexcept {
  breakeven_decision decision;
  decision.load = from.load ? 1 : 0;
  decision.extrapolated = from.extrapolated ? 1 : 0;
  decision.load_tokens = from.load_tokens.value;
  decision.load_s = from.load_s;
  decision.recompute_s = from.recompute_s;
  decision.margin_s = from.margin_s;
  decision.reason = breakeven::to_string(from.reason);
  return decision;
}

} // namespace

int breakeven_abi_version(void) {
  return BREAKEVEN_ABI_VERSION;
}
const char* breakeven_version(void) {
  return BREAKEVEN_VERSION;
}

breakeven_policy* breakeven_policy_load(const char* path, char* message, size_t message_size) {
  return guarded([&] { return breakeven::load_policy(path == nullptr ? "" : path); }, message,
                 message_size);
}
breakeven_policy* breakeven_policy_parse(const char* text, size_t size, char* message,
                                         size_t message_size) {
  return guarded(
      [&] { return breakeven::parse_policy(text == nullptr ? "" : std::string(text, size)); },
      message, message_size);
}
void breakeven_policy_free(breakeven_policy* policy) {
  delete policy;
}

const char* breakeven_policy_model(const breakeven_policy* policy) {
  return policy == nullptr ? "" : policy->file.facts.model.c_str();
}
const char* breakeven_policy_kv_dtype(const breakeven_policy* policy) {
  return policy == nullptr ? "" : policy->file.facts.kv_dtype.c_str();
}
const char* breakeven_policy_fingerprint(const breakeven_policy* policy) {
  return policy == nullptr ? "" : policy->file.facts.fingerprint.c_str();
}
int64_t breakeven_policy_chunk_tokens(const breakeven_policy* policy) {
  return policy == nullptr ? 0 : policy->file.facts.chunk_tokens;
}

int32_t breakeven_tier_count(const breakeven_policy* policy) {
  return policy_of(policy).tier_count();
}
int32_t breakeven_find_tier(const breakeven_policy* policy, const char* name) {
  return policy_of(policy).find_tier(name).index;
}
const char* breakeven_tier_name(const breakeven_policy* policy, int32_t tier) {
  return policy_of(policy).tier_name(TierId(tier));
}

int breakeven_should_load(const breakeven_policy* policy, int32_t tier, int64_t cached_tokens) {
  return policy != nullptr && policy->file.policy->should_load(TierId(tier), Tokens(cached_tokens));
}

breakeven_decision breakeven_decide(const breakeven_policy* policy, const breakeven_query* query) {
  if (query == nullptr) {
    breakeven::Decision refused;
    refused.reason = breakeven::Reason::bad_query;
    return from_decision(refused);
  }
  return from_decision(breakeven::decide(policy_of(policy), to_query(*query)));
}

void breakeven_plan(const breakeven_policy* policy, const breakeven_query* queries, size_t count,
                    breakeven_decision* decisions) {
  if (queries == nullptr || decisions == nullptr) return;
  breakeven::Planner planner(policy_of(policy));
  for (size_t i = 0; i < count; ++i)
    decisions[i] = from_decision(planner.next(to_query(queries[i])));
}

breakeven_store_decision breakeven_should_store(const breakeven_policy* policy,
                                                const breakeven_store_query* query) {
  breakeven::StoreDecision decision;
  decision.reason = breakeven::StoreReason::bad_query;
  if (query != nullptr) {
    breakeven::StoreQuery asked;
    asked.tier = TierId(query->tier);
    asked.tokens = Tokens(query->tokens);
    asked.expected_reuses = query->expected_reuses;
    asked.in_flight = query->in_flight;
    asked.budget_bytes_per_day = query->budget_bytes_per_day;
    asked.written_bytes_today = query->written_bytes_today;
    decision = breakeven::should_store(policy_of(policy), asked);
  }
  return {decision.store ? 1 : 0, decision.saving_s, decision.write_s, decision.bytes,
          breakeven::to_string(decision.reason)};
}

breakeven_observer* breakeven_observer_create(const breakeven_policy* policy, double max_factor) {
  if (policy == nullptr) return nullptr;
  breakeven::ObserverOptions options;
  if (max_factor > 1) options.max_factor = max_factor;
  return new (std::nothrow) breakeven_observer(policy->file, options);
}
void breakeven_observer_free(breakeven_observer* observer) {
  delete observer;
}

void breakeven_observe_load(breakeven_observer* observer, int32_t tier, double bytes, double pieces,
                            double in_flight, double seconds) {
  if (observer != nullptr)
    observer->observer.load(TierId(tier), bytes, pieces, in_flight, Seconds(seconds));
}
void breakeven_observe_prefill(breakeven_observer* observer, int64_t context_tokens,
                               int64_t new_tokens, double seconds) {
  if (observer != nullptr)
    observer->observer.prefill(Tokens(context_tokens), Tokens(new_tokens), Seconds(seconds));
}
double breakeven_observer_factor(const breakeven_observer* observer, int32_t tier) {
  if (observer == nullptr) return 1;
  return tier < 0 ? observer->observer.prefill_factor()
                  : observer->observer.load_factor(TierId(tier));
}
int breakeven_observer_calibration_due(const breakeven_observer* observer) {
  return observer != nullptr && observer->observer.calibration_due();
}
breakeven_policy* breakeven_policy_corrected(const breakeven_observer* observer) {
  if (observer == nullptr) return nullptr;
  return guarded(
      [&] {
        breakeven::PolicyFile file = observer->file;
        auto corrected = std::make_shared<breakeven::Policy>();
        observer->observer.corrected(*corrected);
        file.policy = std::move(corrected);
        return file;
      },
      nullptr, 0);
}
