#include <breakeven/policy_file.hpp>

#include <iostream>

int main(int argc, char** argv) try {
  const auto file = breakeven::load_policy(argc > 1 ? argv[1] : "breakeven.json");
  const breakeven::Policy& policy = *file.policy;
  const breakeven::TierId memory = policy.find_tier("memory"); // look a tier up once

  // A request: 8,192 prompt tokens, of which the host-memory tier holds the first 6,000.
  breakeven::Query query(breakeven::Tokens(8192), memory, breakeven::Tokens(6000));
  query.resident = breakeven::Tokens(512);       // already in device memory
  query.queue_wait = breakeven::Seconds(0.010);  // it waits 10 ms anyway
  const breakeven::Decision decision = decide(policy, query);

  std::cout << (decision.load ? "load " : "recompute; not ") << decision.load_tokens.value
            << " tokens: load " << decision.load_s << " s, recompute " << decision.recompute_s
            << " s (" << to_string(decision.reason) << ")\n";
} catch (const breakeven::policy_file_error& error) {
  std::cerr << error.what() << '\n';
  return 3;
}
