#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace breakeven::model {

/// Largest layer count that is believed; a larger one is a damaged file, not a model.
inline constexpr std::int64_t max_layers = 10'000;

/// Typed access to one JSON object of a config. `keys` are alternative names separated by '|'; the
/// first that is present counts. Null always means absent. Every getter throws
/// error_kind::bad_input, naming the file and the key, for a value of the wrong type or sign.
class Config {
public:
  /// `where` names the file; `prefix` is the path of this object in it ("text_config.").
  Config(const nlohmann::json& object, std::string where, std::string prefix = "");

  [[nodiscard]] bool has(std::string_view keys) const;
  /// Present, null included: for the few keys whose null differs from their absence.
  [[nodiscard]] bool contains(const char* key) const { return m_object->contains(key); }
  /// A required positive whole number.
  [[nodiscard]] std::int64_t count(std::string_view keys) const;
  /// The same with the value that the architecture's definition gives when the key is absent.
  [[nodiscard]] std::int64_t count(std::string_view keys, std::int64_t definition) const;
  /// A whole number that may be zero ("shared experts: 0").
  [[nodiscard]] std::int64_t size(std::string_view keys, std::int64_t definition) const;
  [[nodiscard]] bool flag(std::string_view keys, bool definition) const;
  [[nodiscard]] double real(std::string_view keys, double definition) const;
  [[nodiscard]] std::string text(std::string_view keys, const std::string& definition) const;
  [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view keys) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view keys) const;
  /// The nested object under the key, or nothing when it is absent.
  [[nodiscard]] std::optional<Config> object(std::string_view keys) const;
  [[nodiscard]] std::vector<Config> objects(std::string_view keys) const;
  [[nodiscard]] const nlohmann::json* find(std::string_view keys) const;

  [[nodiscard]] const std::string& where() const { return m_where; }
  [[nodiscard]] const std::string& prefix() const { return m_prefix; }
  /// Throws error_kind::bad_input "WHERE: what".
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_missing(std::string_view keys) const;

private:
  struct Found {
    std::string key;
    const nlohmann::json* value = nullptr;
  };
  [[nodiscard]] Found lookup(std::string_view keys) const;
  [[noreturn]] void refuse_type(const Found& found, const std::string& expected) const;
  [[nodiscard]] std::int64_t whole(const Found& found, std::int64_t least) const;

  const nlohmann::json* m_object;
  std::string m_where;
  std::string m_prefix;
};

} // namespace breakeven::model
