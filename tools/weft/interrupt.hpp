// SPDX-License-Identifier: Apache-2.0
// Ctrl-C ends a search between two batches, so that nothing is half written.
#pragma once

namespace weft::tool {

/// Makes SIGINT and SIGTERM set a flag; a second one ends the program at once.
void catch_interrupts();
/// Returns whether one has come.
[[nodiscard]] bool interrupted();

}  // namespace weft::tool
