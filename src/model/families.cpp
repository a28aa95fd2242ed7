#include "model/families/families.hpp"

namespace breakeven::model {

const registry<Family>& families() {
  static const registry<Family> table = [] {
    registry<Family> rows("model_type");
    rows.add("llama", {"llama", read_llama});
    rows.add("mistral", {"mistral", read_mistral});
    rows.add("qwen2", {"qwen2", read_qwen2});
    rows.add("qwen3", {"qwen3", read_qwen3});
    return rows;
  }();
  return table;
}

} // namespace breakeven::model
