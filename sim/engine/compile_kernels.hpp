// SPDX-License-Identifier: Apache-2.0
// What kernels and signals need before a run: tile numbers, uses of ranges, views of signals, and
// the latency of a signal's way.
#pragma once

#include <cstdint>

#include "sim/engine/compiled.hpp"

namespace weft::sim::engine {

/// Adds the view that `device` has of a signal, unless it is there.
void add_view(const Program& program, SignalId signal, std::uint32_t device, Compiled& compiled);

/// Checks kernels and gangs and compiles ranges, views and legs; the calls are compiled already.
void compile_kernels(const Machine& machine, const Program& program, const Effects& effects,
                     Compiled& compiled);

}  // namespace weft::sim::engine
