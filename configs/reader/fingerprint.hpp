// SPDX-License-Identifier: Apache-2.0
// Short names for contents: equal contents have equal fingerprints, on every machine and in every
// version. They tell changes apart; they are no protection against somebody who wants a collision.
#pragma once

#include <string>
#include <string_view>

#include "configs/reader/value.hpp"

namespace weft::config {

/// Returns 16 hexadecimal digits of a text: FNV-1a, 64 bits.
std::string fingerprint(std::string_view text);

/// Returns the fingerprint of a value; white space and the order of an object's members do not
/// count.
std::string fingerprint(const Value& value);

}  // namespace weft::config
