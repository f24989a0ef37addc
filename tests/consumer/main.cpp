// SPDX-License-Identifier: Apache-2.0
// Uses an installed weft as another project would.

#include <cstdio>

#include "sim/units/format.hpp"
#include "sim/units/time.hpp"

int main() {
  std::puts(weft::human(weft::Duration{}).c_str());
  return 0;
}
