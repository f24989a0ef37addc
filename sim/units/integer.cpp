// SPDX-License-Identifier: Apache-2.0
#include "sim/units/integer.hpp"

#include <stdexcept>
#include <string>

namespace weft::detail {

void throw_overflow(const char* operation) {
  throw std::overflow_error(std::string(operation) + " does not fit a 64-bit quantity");
}

void throw_division_by_zero() {
  throw std::domain_error("division by a quantity that is not positive");
}

}  // namespace weft::detail
