// SPDX-License-Identifier: Apache-2.0
// Ranks that do the same on a symmetric machine are simulated as one.
//
// A symmetry is a group of renumberings of the ranks (rotation, XOR, or rotation within and among
// equal blocks) that turns machine and program into themselves. Every transfer then has p images,
// one a rank; with O_j the images of a resource j, the load on one of them from all images of a
// flow f is
//
//   a'_fj = (p / |O_j|) x sum over i in O_j of a_fi,
//
// so that rank 0 alone, with these coefficients, moves exactly as it does among the others. The
// program keeps its routes and uses; the machine says on which resource each counts, and how often
// (Machine::link_orbits): what is not shared in a run limits an activity by its own a_fj. A post to
// a peer's signal becomes the post that the matching peer makes to rank 0's (SignalPost::from).
#pragma once

#include <string>

#include "sim/machine.hpp"
#include "sim/program.hpp"

namespace weft::sim {

struct Folded {
  Machine machine;
  Program program;      ///< of the first rank alone
  std::string refused;  ///< why nothing was folded; empty: it was
  int ranks_folded = 1;
};

/// Folds all ranks that the program uses into the first of them, or says why it cannot; then
/// machine and program are those given. A result that is no longer needed gives its memory.
[[nodiscard]] Folded fold(const Machine& machine, const Program& program, Folded spent = {});

}  // namespace weft::sim
