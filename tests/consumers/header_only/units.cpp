// Compiled with CASE = 0 (must compile) and CASE = 1, 2, ... (must not): mixed-up units.
#include <breakeven/admission.hpp>

using namespace breakeven;

bool right(const Policy& policy, TierId tier) {
  Query query(Tokens(100), tier, Tokens(50));
  query.queue_wait = Seconds(0.1);
  return policy.should_load(tier, Tokens(50)) && decide(policy, query).load;
}

bool wrong(const Policy& policy, TierId tier) {
  Query query(Tokens(100), tier, Tokens(50));
#if CASE == 1
  return policy.should_load(tier, 50); // a bare number
#elif CASE == 2
  return policy.should_load(Tokens(50), tier); // swapped
#elif CASE == 3
  return policy.should_load(0, Tokens(50)); // a bare index
#elif CASE == 4
  query.queue_wait = Tokens(3); // tokens for seconds
#elif CASE == 5
  query.queue_wait = 0.1; // a number without unit
#elif CASE == 6
  query.prompt = Seconds(1); // seconds for tokens
#elif CASE == 7
  query.add(tier, 0.5); // a fraction for a length
#elif CASE == 8
  return decide(policy, {100, tier, 50}).load; // bare lengths
#elif CASE == 9
  return Tokens(5) < Seconds(6); // no order between them
#endif
  return decide(policy, query).load && right(policy, tier);
}
