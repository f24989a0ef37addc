// SPDX-License-Identifier: Apache-2.0
// Where a number of a profile comes from, and what a result that was built from several of them may claim.
#pragma once

#include "configs/reader/sourced.hpp"

namespace weft::model {

using config::Source;
using config::Sourced;
using config::SourceKind;

/// How far a kind of source is from a measurement of the thing itself: 0 is closest.
constexpr int distance(SourceKind kind) {
  switch (kind) {
    case SourceKind::measured:
      return 0;
    case SourceKind::fitted:
      return 1;
    case SourceKind::datasheet:
      return 2;
    case SourceKind::published:
      return 3;
    case SourceKind::assumed:
      break;
  }
  return 4;
}

/// The weaker of two kinds: what a result built from both may claim.
constexpr SourceKind weaker(SourceKind a, SourceKind b) {
  return distance(a) < distance(b) ? b : a;
}

}  // namespace weft::model
