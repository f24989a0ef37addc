// SPDX-License-Identifier: Apache-2.0
#include "sim/units/check.hpp"

#include <fmt/format.h>

namespace weft::detail {

void fail_check(const char* file, int line, const char* condition, fmt::string_view sentence,
                fmt::format_args values) {
  throw CheckFailure(
      file, line,
      fmt::format("{}:{}: {} ({})", file, line, fmt::vformat(sentence, values), condition));
}

}  // namespace weft::detail
