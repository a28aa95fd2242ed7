#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <string>

namespace breakeven {

/// a * b for sizes and counts; throws error_kind::bad_input naming `what` when 64 bits overflow.
inline std::int64_t checked_mul(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw error(error_kind::bad_input, std::string(what) + " does not fit in 64 bits");
  return product;
}

/// a + b, with the same error as checked_mul.
inline std::int64_t checked_add(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    throw error(error_kind::bad_input, std::string(what) + " does not fit in 64 bits");
  return sum;
}

} // namespace breakeven
