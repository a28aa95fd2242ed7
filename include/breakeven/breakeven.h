/* Should an engine load a stored KV-cache prefix, or compute it again? The C interface of the
 * admission library, for C, Rust, Go and whatever else calls C: link with -lbreakeven.
 *
 * Units are in the names: tokens, seconds (_s), bytes. No function throws, exits or prints. Passing
 * NULL where a policy is expected is allowed and never loads. Every function may be called from any
 * thread; a policy is immutable, so any number of threads may share one. Functions that end in
 * _load, _corrected or _create return something that the function ending in _free releases.
 */
#ifndef BREAKEVEN_BREAKEVEN_H
#define BREAKEVEN_BREAKEVEN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BREAKEVEN_API __attribute__((visibility("default")))
#else
#define BREAKEVEN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a struct or function changes incompatibly; equals the soname of the library. */
#define BREAKEVEN_ABI_VERSION 1
#define BREAKEVEN_MAX_SEGMENTS 16

/* BREAKEVEN_ABI_VERSION of the library that is loaded. */
BREAKEVEN_API int breakeven_abi_version(void);
/* Release of the library, such as "0.1.0". */
BREAKEVEN_API const char* breakeven_version(void);

/* ---- Policies ------------------------------------------------------------------------------- */

typedef struct breakeven_policy breakeven_policy;

/* Reads a break-even file. NULL when it cannot be read or trusted: `message` (may be NULL) then
 * holds one sentence, cut to message_size bytes with its terminating zero. */
BREAKEVEN_API breakeven_policy* breakeven_policy_load(const char* path, char* message,
                                                      size_t message_size);
/* The same from memory: `text` of `size` bytes. */
BREAKEVEN_API breakeven_policy* breakeven_policy_parse(const char* text, size_t size, char* message,
                                                       size_t message_size);
BREAKEVEN_API void breakeven_policy_free(breakeven_policy* policy);

/* Facts of the file; "" or 0 for NULL. Strings live as long as the policy. */
BREAKEVEN_API const char* breakeven_policy_model(const breakeven_policy* policy);
BREAKEVEN_API const char* breakeven_policy_kv_dtype(const breakeven_policy* policy);
BREAKEVEN_API const char* breakeven_policy_fingerprint(const breakeven_policy* policy);
BREAKEVEN_API int64_t breakeven_policy_chunk_tokens(const breakeven_policy* policy);

/* Tiers are numbered from 0. breakeven_find_tier returns -1 for a name that is not there. */
BREAKEVEN_API int32_t breakeven_tier_count(const breakeven_policy* policy);
BREAKEVEN_API int32_t breakeven_find_tier(const breakeven_policy* policy, const char* name);
BREAKEVEN_API const char* breakeven_tier_name(const breakeven_policy* policy, int32_t tier);

/* ---- Decisions ------------------------------------------------------------------------------ */

/* The precomputed threshold: 1 = load a hit of that length, 0 = recompute it. */
BREAKEVEN_API int breakeven_should_load(const breakeven_policy* policy, int32_t tier,
                                        int64_t cached_tokens);

typedef struct breakeven_segment {
  int32_t tier;
  int64_t end_tokens; /* counted from the start of the prompt */
  double in_flight;   /* loads in that tier at the same time, this one included; 0 counts as 1 */
} breakeven_segment;

/* Zero everything, then set what is known: zero is the neutral value of each field. */
typedef struct breakeven_query {
  int64_t prompt_tokens;
  int64_t resident_tokens;
  int64_t block_tokens; /* 0 = the policy's */
  double queue_wait_s;
  double compute_price;
  double margin;
  const breakeven_segment* segments; /* in order; those after the 16th are recomputed */
  size_t segment_count;
} breakeven_query;

typedef struct breakeven_decision {
  int32_t load;         /* 1 = load load_tokens and compute the rest; 0 = compute everything */
  int32_t extrapolated; /* 1 = an input lies outside what was calibrated */
  int64_t load_tokens;  /* counted from the start of the prompt */
  double load_s;
  double recompute_s;
  double margin_s;
  const char* reason; /* a static string */
} breakeven_decision;

BREAKEVEN_API breakeven_decision breakeven_decide(const breakeven_policy* policy,
                                                  const breakeven_query* query);
/* Decides a queue in its order; loads share their tiers. `decisions` holds `count` entries. */
BREAKEVEN_API void breakeven_plan(const breakeven_policy* policy, const breakeven_query* queries,
                                  size_t count, breakeven_decision* decisions);

typedef struct breakeven_store_query {
  int32_t tier;
  int64_t tokens;
  double expected_reuses;
  double in_flight;
  double budget_bytes_per_day; /* 0 = no limit */
  double written_bytes_today;
} breakeven_store_query;

typedef struct breakeven_store_decision {
  int32_t store;
  double saving_s;
  double write_s;
  double bytes;
  const char* reason; /* a static string */
} breakeven_store_decision;

BREAKEVEN_API breakeven_store_decision breakeven_should_store(const breakeven_policy* policy,
                                                              const breakeven_store_query* query);

/* ---- Observing ------------------------------------------------------------------------------ */

/* Learns from real transfers how far the node has drifted. Feeding is lock-free. */
typedef struct breakeven_observer breakeven_observer;

/* Keeps what it needs of the policy, which may be freed first. max_factor bounds a correction
 * (0 = 2). NULL when policy is NULL. */
BREAKEVEN_API breakeven_observer* breakeven_observer_create(const breakeven_policy* policy,
                                                            double max_factor);
BREAKEVEN_API void breakeven_observer_free(breakeven_observer* observer);
BREAKEVEN_API void breakeven_observe_load(breakeven_observer* observer, int32_t tier, double bytes,
                                          double pieces, double in_flight, double seconds);
BREAKEVEN_API void breakeven_observe_prefill(breakeven_observer* observer, int64_t context_tokens,
                                             int64_t new_tokens, double seconds);
/* Factor on the calibrated times; 1 until enough was observed. tier -1 = prefill. */
BREAKEVEN_API double breakeven_observer_factor(const breakeven_observer* observer, int32_t tier);
/* 1 = the node has drifted so far that a new calibration is due. */
BREAKEVEN_API int breakeven_observer_calibration_due(const breakeven_observer* observer);
/* A policy with the corrections of now; NULL when observer is NULL or memory is short. */
BREAKEVEN_API breakeven_policy* breakeven_policy_corrected(const breakeven_observer* observer);

#ifdef __cplusplus
}
#endif

#endif
