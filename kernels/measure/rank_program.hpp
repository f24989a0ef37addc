// SPDX-License-Identifier: Apache-2.0
// What a rank that another process started does: joins NCCL, runs what it is told, and says what it saw.
#pragma once

#include "kernels/measure/rank_processes.hpp"

namespace weft::kernels {

/// Serves until the other end hangs up; returns the status to exit with.
int serve_rank(RankSeat seat);

}  // namespace weft::kernels
