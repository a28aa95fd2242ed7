#include "cuda/runtime/library.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace breakeven::cuda {
namespace {

std::vector<std::string> folders() {
  std::vector<std::string> result{""};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable); root != nullptr && *root != '\0') {
      result.push_back(std::string(root) + "/lib64/");
      result.push_back(std::string(root) + "/lib/");
    }
  result.push_back("/usr/local/cuda/lib64/");
  return result;
}

} // namespace

Library::Library(const std::string& title, const std::vector<std::string>& names) : m_title(title) {
  for (const std::string& folder : folders())
    for (const std::string& name : names) {
      m_path = folder + name;
      m_handle = dlopen(m_path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (m_handle != nullptr) return;
    }
  m_path.clear();
  m_missing = title + " is not installed (" + names.front() +
              " was not found; add its folder to LD_LIBRARY_PATH, or set CUDA_HOME)";
}

void* Library::find(const char* symbol) {
  if (m_handle == nullptr) return nullptr;
  void* address = dlsym(m_handle, symbol);
  if (address == nullptr && m_missing.empty())
    m_missing = m_path + " has no " + symbol + ": " + m_title + " is too old";
  return address;
}

} // namespace breakeven::cuda
