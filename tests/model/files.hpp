#pragma once

#include "model/architecture.hpp"
#include "support/error.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace breakeven::test {

/// A folder of its own, gone at the end of the test.
class Folder {
public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "breakeven-model-XXXXXX").string();
    m_path = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (m_path / name).string(); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(m_path / name, std::ios::binary) << text;
    return path(name);
  }

private:
  std::filesystem::path m_path;
};

inline std::string config_path(const std::string& name) {
  std::string path = BREAKEVEN_TEST_DATA "/configs/";
  return path.append(name).append(".json");
}

/// A published config, to be changed by a test.
inline nlohmann::json config(const std::string& name) {
  std::ifstream file(config_path(name));
  return nlohmann::json::parse(file);
}

inline model::Architecture read_text(const std::string& text,
                                     const model::ReadOptions& options = {}) {
  const Folder folder;
  return model::read_architecture(folder.write("config.json", text), options);
}

inline model::Architecture read(const nlohmann::json& config,
                                const model::ReadOptions& options = {}) {
  return read_text(config.dump(), options);
}

/// The message with which a config is refused, or "" when it is accepted.
inline std::string refusal(const std::string& text, const model::ReadOptions& options = {}) {
  try {
    static_cast<void>(read_text(text, options));
  } catch (const error& failure) {
    return failure.what();
  }
  return "";
}

inline std::string refusal(const nlohmann::json& config, const model::ReadOptions& options = {}) {
  return refusal(config.dump(), options);
}

} // namespace breakeven::test
