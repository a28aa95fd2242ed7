#pragma once

#include <string>
#include <vector>

namespace breakeven::cuda {

/// A shared library opened at run time and kept open for the life of the process: CUDA libraries
/// do not survive being unloaded.
class Library {
public:
  /// Tries each name ("libcublasLt.so.13") by the dynamic linker's own search, then in the lib64
  /// and lib folders of CUDA_HOME and CUDA_PATH, then in /usr/local/cuda.
  Library(const std::string& title, const std::vector<std::string>& names);
  /// Null when the library or the symbol is missing; missing() then says so.
  template <class Function>
  bool get(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(find(symbol));
    return function != nullptr;
  }
  /// Empty when the library is open and every symbol asked for so far was there; else a reason.
  [[nodiscard]] const std::string& missing() const noexcept { return m_missing; }
  [[nodiscard]] const std::string& path() const noexcept { return m_path; }

private:
  void* find(const char* symbol);
  std::string m_title, m_path, m_missing;
  void* m_handle = nullptr;
};

} // namespace breakeven::cuda
