// SPDX-License-Identifier: Apache-2.0
// What samples cannot determine is refused by name, with the suite that would measure it.
#pragma once

#include <stdexcept>
#include <string>

namespace weft::calibration {

class UndeterminedFit : public std::runtime_error {
 public:
  UndeterminedFit(const std::string& what, const std::string& needs, const std::string& suite)
      : std::runtime_error(what + ": the samples do not determine them; needed are " + needs +
                           " (weft-measure " + suite + ")") {}
};

}  // namespace weft::calibration
