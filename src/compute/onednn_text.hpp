#pragma once

#include "support/error.hpp"

#include <dnnl.hpp>
#include <string>

/// What the engines on oneDNN say. Only files that are built with oneDNN include this.
namespace breakeven::compute {

/// "onednn 2.6.3"
inline std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return "onednn " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
         std::to_string(v->patch);
}

/// `what`: "pack a", "multiply by an int8".
inline error onednn_refusal(const char* what, std::int64_t k, std::int64_t n,
                            const dnnl::error& cause) {
  return {error_kind::environment, std::string("oneDNN refused to ") + what + " " +
                                       std::to_string(k) + " x " + std::to_string(n) + " matrix (" +
                                       cause.what() + "): free memory, or build without oneDNN"};
}

} // namespace breakeven::compute
