// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::sim {

/// Bytes that this program has asked operator new for. For programs of one thread.
[[nodiscard]] std::size_t bytes_asked_for();

}  // namespace weft::sim
