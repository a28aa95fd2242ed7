#include "support/catch.hpp"

#include "model/files.hpp"

#include <cstring>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;

namespace {

/// Writes a GGUF file's metadata as the format describes it.
class Writer {
public:
  explicit Writer(std::uint32_t version = 3) : m_version(version) {}

  void text(const std::string& key, const std::string& value) {
    begin(key, 8);
    string(m_pairs, value);
  }
  void number(const std::string& key, std::uint32_t value) {
    begin(key, 4);
    put(m_pairs, value);
  }
  void texts(const std::string& key, std::uint64_t count) {
    begin(key, 9);
    put(m_pairs, std::uint32_t{8});
    put(m_pairs, count);
    for (std::uint64_t i = 0; i < count; ++i)
      string(m_pairs, "token");
  }
  void numbers(const std::string& key, const std::vector<std::uint32_t>& values) {
    begin(key, 9);
    put(m_pairs, std::uint32_t{4});
    put(m_pairs, std::uint64_t{values.size()});
    for (const std::uint32_t value : values)
      put(m_pairs, value);
  }
  void tensor(const std::string& name) {
    string(m_tensors, name);
    put(m_tensors, std::uint32_t{1});
    put(m_tensors, std::uint64_t{32});
    put(m_tensors, std::uint32_t{0});
    put(m_tensors, std::uint64_t{0});
    ++m_tensor_count;
  }
  [[nodiscard]] std::string bytes() const {
    std::string file = "GGUF";
    put(file, m_version);
    put(file, m_tensor_count);
    put(file, m_pair_count);
    return file + m_pairs + m_tensors;
  }

private:
  template <class T>
  static void put(std::string& target, T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    target.append(raw, sizeof(T));
  }
  static void string(std::string& target, const std::string& value) {
    put(target, std::uint64_t{value.size()});
    target += value;
  }
  void begin(const std::string& key, std::uint32_t type) {
    string(m_pairs, key);
    put(m_pairs, type);
    ++m_pair_count;
  }

  std::uint32_t m_version;
  std::uint64_t m_pair_count = 0, m_tensor_count = 0;
  std::string m_pairs, m_tensors;
};

Writer llama() {
  Writer file;
  file.text("general.architecture", "llama");
  file.number("llama.block_count", 32);
  file.number("llama.embedding_length", 4096);
  file.number("llama.feed_forward_length", 14336);
  file.number("llama.attention.head_count", 32);
  file.number("llama.attention.head_count_kv", 8);
  file.number("llama.context_length", 131072);
  file.texts("tokenizer.ggml.tokens", 128256);
  return file;
}

model::Architecture read_bytes(const std::string& bytes) {
  const Folder folder;
  return model::read_architecture(folder.write("model.gguf", bytes));
}

} // namespace

TEST_CASE("a GGUF file's metadata gives the same model as its config") {
  Writer file = llama();
  file.tensor("token_embd.weight");
  file.tensor("output.weight");
  const model::Architecture m = read_bytes(file.bytes());
  const model::Architecture config = model::read_architecture("llama-3.1-8b");
  CHECK(m.full_bytes_per_token() == config.full_bytes_per_token());
  CHECK(m.parameters == config.parameters);
  CHECK(m.kv_dtype == model::DType::fp16);
  CHECK(m.max_position_tokens == 131072);
}

TEST_CASE("a GGUF file without an output matrix has a tied head") {
  Writer file = llama();
  file.tensor("token_embd.weight");
  CHECK(read_bytes(file.bytes()).vocabulary.tied_head);
}

TEST_CASE("latent attention and experts from GGUF") {
  Writer file;
  file.text("general.architecture", "deepseek2");
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::uint32_t>>{{"block_count", 61},
                                                          {"embedding_length", 7168},
                                                          {"feed_forward_length", 18432},
                                                          {"attention.head_count", 128},
                                                          {"attention.head_count_kv", 1},
                                                          {"vocab_size", 129280},
                                                          {"expert_count", 256},
                                                          {"expert_used_count", 8},
                                                          {"expert_feed_forward_length", 2048},
                                                          {"expert_shared_count", 1},
                                                          {"leading_dense_block_count", 3},
                                                          {"attention.q_lora_rank", 1536},
                                                          {"attention.kv_lora_rank", 512},
                                                          {"attention.key_length", 576},
                                                          {"attention.value_length", 512},
                                                          {"attention.key_length_mla", 192},
                                                          {"attention.value_length_mla", 128},
                                                          {"rope.dimension_count", 64}})
    file.number("deepseek2." + key, value);
  file.tensor("output.weight");
  const model::Architecture m = read_bytes(file.bytes());
  CHECK(m.full_bytes_per_token() == 70272);
  CHECK(m.parameters == 671026419200);
}

TEST_CASE("what a GGUF file does not determine is refused") {
  Writer unknown;
  unknown.text("general.architecture", "whisper");
  CHECK_THROWS_WITH(read_bytes(unknown.bytes()), Contains("'whisper' is not known"));
  CHECK_THROWS_WITH(read_bytes(Writer().bytes()), Contains("no 'general.architecture'"));
  Writer partial;
  partial.text("general.architecture", "llama");
  CHECK_THROWS_WITH(read_bytes(partial.bytes()), Contains("is missing"));
  Writer lists;
  lists.text("general.architecture", "llama");
  lists.number("llama.block_count", 2);
  lists.number("llama.embedding_length", 512);
  lists.number("llama.attention.head_count", 8);
  lists.numbers("llama.attention.head_count_kv", {2, 8});
  CHECK_THROWS_WITH(read_bytes(lists.bytes()), Contains("differs between layers"));
}

TEST_CASE("damaged GGUF files are refused") {
  const std::string whole = llama().bytes();
  for (const std::size_t length :
       {std::size_t{4}, std::size_t{10}, std::size_t{30}, std::size_t{200}, whole.size() - 1})
    CHECK_THROWS_WITH(read_bytes(whole.substr(0, length)), Contains("cut off"));
  CHECK_THROWS_WITH(read_bytes(Writer(1).bytes()), Contains("version 1"));
  CHECK_THROWS_WITH(read_bytes(Writer(0x03000000).bytes()), Contains("versions 2 and 3"));
  std::string many = whole;
  many.replace(16, 8, 8, '\x7f'); // a count of pairs
  CHECK_THROWS_WITH(read_bytes(many), Contains("which no model has"));
  std::string longest = whole;
  longest.replace(24, 8, 8, '\x7f'); // the length of the first key
  CHECK_THROWS_AS(read_bytes(longest), error);
  Writer twice = llama();
  twice.number("llama.block_count", 4);
  CHECK_THROWS_WITH(read_bytes(twice.bytes()), Contains("twice"));
}
