#include "support/catch.hpp"

#include "model/describe.hpp"
#include "model/files.hpp"
#include "support/text.hpp"

#include <map>

using namespace breakeven;
using namespace breakeven::test;

namespace {

using Row = std::map<std::string, std::string>;

std::vector<Row> expected_rows() {
  std::ifstream file(std::string(BREAKEVEN_TEST_DATA) + "/configs/expected.tsv");
  std::string line;
  REQUIRE(std::getline(file, line));
  const std::vector<std::string> header = split(line, '\t');
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line, '\t');
    Row row;
    for (std::size_t i = 0; i < header.size() && i < cells.size(); ++i)
      row[header[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

/// Columns whose empty cell means that the quantity does not apply.
const std::vector<std::string> exact = {"full_bytes_per_token",     "index_bytes_per_token",
                                        "sliding_layers",           "sliding_window_tokens",
                                        "sliding_bytes_per_token",  "sliding_cap_bytes",
                                        "state_bytes_per_sequence", "kv_bytes_at_1024",
                                        "kv_bytes_at_32768",        "kv_bytes_at_131072"};
/// Columns whose empty cell means that the table's author had no certain formula.
const std::vector<std::string> where_given = {"params_total", "params_active",
                                              "block_gemm_params_per_token"};

} // namespace

TEST_CASE("published configs give the expected figures") {
  const std::vector<Row> rows = expected_rows();
  REQUIRE(rows.size() == 68);
  int accepted = 0;
  for (const Row& row : rows) {
    if (row.at("status") != "ok") continue;
    INFO(row.at("model"));
    const auto json = model::describe(model::read_architecture(config_path(row.at("model"))), {});
    CHECK(json.at("status") == "ok");
    for (const std::string& column : exact) {
      INFO(column);
      if (row.at(column).empty())
        CHECK(json.at(column).is_null());
      else
        CHECK(json.at(column).dump() == row.at(column));
    }
    for (const std::string& column : where_given)
      if (!row.at(column).empty()) CHECK(json.at(column).dump() == row.at(column));
    ++accepted;
  }
  CHECK(accepted == 65);
}

TEST_CASE("configs that do not determine the answer are refused with what is missing") {
  CHECK_THROWS_WITH(model::read_architecture(config_path("granite-4.0-h-small")),
                    Catch::Matchers::Contains("'layer_types' is missing"));
  CHECK_THROWS_WITH(model::read_architecture(config_path("deepseek-v4-flash")),
                    Catch::Matchers::Contains("compress_ratios"));
  CHECK_THROWS_WITH(model::read_architecture(config_path("rwkv5-3b")),
                    Catch::Matchers::Contains("RWKV"));
}

TEST_CASE("every bundled model is read, and says where its facts come from") {
  const std::vector<std::string> names = model::bundled_models();
  for (const char* name :
       {"llama-3.1-8b",  "llama-3.1-70b", "llama-3.1-405b",     "llama-3.2-1b",   "llama-3.2-3b",
        "llama-3.3-70b", "qwen2.5-7b",    "qwen2.5-72b",        "qwen3-4b",       "qwen3-8b",
        "qwen3-32b",     "qwen3-30b-a3b", "qwen3-235b-a22b",    "mistral-7b",     "mixtral-8x7b",
        "deepseek-v3",   "gemma-2-9b",    "gemma-3-27b",        "gpt-oss-20b",    "gpt-oss-120b",
        "glm-4.5",       "kimi-k2.5",     "qwen3-next-80b-a3b", "nemotron-3-nano"})
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  for (const std::string& name : names) {
    INFO(name);
    const model::Architecture m = model::read_architecture(name);
    CHECK(m.name == name);
    CHECK(m.source.size() > 20);
    CHECK(m.parameters > 0);
    CHECK(m.kv_bytes(8192) > 0);
    std::int64_t layers = 0;
    for (const model::LayerKind& kind : m.kinds)
      layers += kind.count;
    CHECK(layers == m.layers);
  }
}

TEST_CASE("an unknown name is a usage error that suggests the nearest one") {
  try {
    static_cast<void>(model::read_architecture("meta-llama/Llama-3.1-8B"));
    FAIL("accepted");
  } catch (const error& failure) {
    CHECK(failure.kind() == error_kind::usage);
    CHECK_THAT(failure.what(), Catch::Matchers::Contains("did you mean 'llama-3.1-8b'"));
  }
}
