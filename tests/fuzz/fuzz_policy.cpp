// libFuzzer target: the text of a break-even file, and a query against it.
//   clang++ -std=c++17 -g -O1 -fsanitize=fuzzer,address,undefined -I include
//   tests/fuzz/fuzz_policy.cpp
// The input is a file, followed by up to 160 bytes that make the query (none: a fixed one).
#include "breakeven/observe.hpp"
#include "breakeven/policy_file.hpp"

#include <cstdlib>
#include <cstring>

namespace {

using namespace breakeven;

/// Takes raw values from bytes; zeros when they run out.
class Bytes {
public:
  Bytes(const std::uint8_t* data, std::size_t size) : m_data(data), m_size(size) {}
  template <class Value>
  Value take() {
    Value value{};
    if (m_size >= sizeof value) {
      std::memcpy(&value, m_data, sizeof value);
      m_data += sizeof value;
      m_size -= sizeof value;
    }
    return value;
  }
  /// Mostly a plausible length, sometimes anything.
  std::int64_t tokens() {
    const auto raw = take<std::int64_t>();
    return raw % 4 == 0 ? raw : (raw >> 2) & 0xffff;
  }
  bool empty() const { return m_size == 0; }

private:
  const std::uint8_t* m_data;
  std::size_t m_size;
};

Query make_query(Bytes& bytes) {
  Query query{Tokens(bytes.tokens())};
  query.resident = Tokens(bytes.tokens() / 8);
  query.block = Tokens(bytes.take<std::uint8_t>());
  query.queue_wait = Seconds(bytes.take<double>());
  query.compute_price = bytes.take<float>();
  query.margin = bytes.take<std::int8_t>() / 100.0;
  while (!bytes.empty() && query.segment_count() < max_segments)
    query.add(TierId(bytes.take<std::int8_t>() % 20), Tokens(bytes.tokens()), bytes.take<float>());
  return query;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Policy& policy, const Query& query) {
  const Decision decision = decide(policy, query);
  require(!decision.load || (decision.load_tokens > query.resident &&
                             decision.load_tokens < query.prompt && decision.margin_s > 0));
  require(decision.load || decision.load_tokens.value == 0);
  require(decision.load_s == decision.load_s && decision.recompute_s == decision.recompute_s);
  for (int i = -1; i <= max_tiers; ++i)
    (void)policy.should_load(TierId(i), query.prompt);
  const Query queue[2] = {query, query};
  Decision planned[2];
  plan(policy, queue, 2, planned);
  StoreQuery store;
  store.tokens = query.prompt;
  store.tier = TierId(0);
  store.expected_reuses = query.compute_price;
  (void)should_store(policy, store);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* end = static_cast<const std::uint8_t*>(
      size == 0 ? nullptr : std::memchr(data, '\0', size)); // JSON text holds no zero byte
  const std::size_t text_size = end == nullptr ? size : static_cast<std::size_t>(end - data);
  try {
    const PolicyFile file =
        parse_policy(std::string(reinterpret_cast<const char*>(data), text_size), "fuzz");
    require(file.policy != nullptr && !file.policy->empty());
    Bytes bytes(data + text_size, size - text_size);
    check(*file.policy, make_query(bytes));
    check(*file.policy, {Tokens(9001), TierId(0), Tokens(9000)});
  } catch (const policy_file_error&) {
  }
  return 0;
}
