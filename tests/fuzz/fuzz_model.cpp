// Any bytes as a model file: they must give an Architecture or one breakeven::error, in bounded
// time.
#include "model/describe.hpp"
#include "model/read.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  breakeven::model::ReadOptions options;
  options.tensor_parallel = size % 3 == 0 ? 2 : 1;
  try {
    const auto model = breakeven::model::read_architecture_text(text, "fuzz", options);
    const auto json = breakeven::model::describe(model, {8192});
    if (model.kv_bytes(1024) < 0 || json.at("status") != "ok") std::abort();
  } catch (const breakeven::error&) {
    // A refusal is a right answer.
  }
  return 0;
}
