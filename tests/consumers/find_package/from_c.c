#include <breakeven/breakeven.h>

#include <stdio.h>

int main(int argc, char** argv) {
  char message[256];
  breakeven_policy* policy =
      breakeven_policy_load(argc > 1 ? argv[1] : "breakeven.json", message, sizeof message);
  if (policy == NULL) {
    fprintf(stderr, "%s\n", message);
    return 3;
  }
  const int32_t memory = breakeven_find_tier(policy, "memory");
  const breakeven_segment hit = {memory, 6000, 1};
  breakeven_query query = {0};
  query.prompt_tokens = 8192;
  query.segments = &hit;
  query.segment_count = 1;
  const breakeven_decision decision = breakeven_decide(policy, &query);
  printf("%s: load %lld tokens in %g s, recompute %g s (%s)\n", breakeven_policy_model(policy),
         (long long)decision.load_tokens, decision.load_s, decision.recompute_s, decision.reason);
  const int right = decision.load && decision.load_tokens <= 6000 &&
                    breakeven_should_load(policy, memory, 6000) &&
                    breakeven_abi_version() == BREAKEVEN_ABI_VERSION;
  breakeven_policy_free(policy);
  return right ? 0 : 1;
}
