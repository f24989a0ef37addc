// SPDX-License-Identifier: Apache-2.0
// Random machines and programs that always come to an end, drawn from a seed.
//
// A case is drawn once, in terms of logical ranks, and can then be assembled in several ways: ranks
// in another order, kernels, signals and events numbered in another order, times scaled. Waits are
// drawn only for what earlier operations post, and kernels that wait are small, so that no draw can
// deadlock.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sim/machine.hpp"
#include "sim/program.hpp"

namespace weft::sim::laws {

struct RankCase {
  std::vector<int> sms_per_gpc;
  int cta_slots = 8;
  std::int64_t hbm = 0;  ///< bytes a second
  std::int64_t l2 = 0;
  std::int64_t port = 0;  ///< bytes a second, each way, over all planes
  struct Engine {
    std::int64_t start_cost = 0;  ///< ps
    int concurrency = 1;
    std::int64_t rate = 0;  ///< 0: none of its own
    std::int64_t weight = 1000;
  };
  std::vector<Engine> engines;
  std::vector<int> stream_priorities;
  std::int64_t launch_cost = 0;
  int max_connections = 8;
};

struct RangeCase {
  std::int64_t tiles = 1;
  std::int64_t sm_time = 0;
  SmDemand demand;
  std::int64_t hbm_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::optional<int> peer;  ///< logical rank that `peer_bytes` go to
  std::int64_t peer_bytes = 0;
  std::optional<int> waits;  ///< signal
  std::uint64_t at_least = 0;
  int run_ahead = 0;
  std::optional<int> posts;  ///< signal
  bool per_tile = false;
};

struct RoleCase {
  Role::Scope scope = Role::Scope::ctas;
  TileOrder order = TileOrder::static_shares;
  int ctas = 0;
  std::vector<RangeCase> ranges;
};

struct KernelCase {
  int ctas = 0;
  int cluster = 1;
  Footprint footprint;
  std::int64_t prologue = 0;
  std::vector<RoleCase> roles;
  std::optional<std::int64_t> trigger_after;
  std::optional<int> gang;
  std::uint32_t member = 0;
};

struct GangCase {
  std::vector<int> ranks;
  std::int64_t bytes = 0;
  std::int64_t cap = 0;
  std::int64_t start_latency = 0;
  int chunks = 1;
  std::optional<int> posts;  ///< signal, one post a chunk
};

struct OperationCase {
  enum class Kind : std::uint8_t {
    launch,
    copy,
    message,
    record,
    wait_event,
    wait_signal,
    post,
    host_wait,
    host_delay,
  } kind = Kind::launch;
  int rank = 0;
  int stream = 0;  ///< of the rank
  int kernel = 0;
  bool programmatic = false;
  bool waits_for_predecessor = true;
  int peer = 0;
  bool multicast = false;
  std::uint32_t engine = 0;
  std::int64_t bytes = 0;
  int event = 0;
  int signal = 0;
  std::uint64_t value = 1;
  std::int64_t delay = 0;
  bool in_graph = false;  ///< with its neighbours that are
};

struct Case {
  std::uint64_t seed = 0;
  std::vector<RankCase> ranks;
  int planes = 1;
  std::int64_t plane_capacity = 0;  ///< of each plane's switch; 0: not a limit
  std::int64_t hop_latency = 0;
  ControlLatency control;
  std::vector<int> signal_owner;  ///< logical rank
  int events = 0;
  std::vector<KernelCase> kernels;
  std::vector<GangCase> gangs;
  std::vector<OperationCase> operations;
};

/// How a case becomes a machine and a program.
struct Assembly {
  std::vector<int> place_of_rank;    ///< empty: as drawn
  std::uint64_t numbering_seed = 0;  ///< of kernels, signals and events; 0: as drawn
  std::int64_t time_scale = 1;       ///< of durations and of bytes: rates stay
};

struct Assembled {
  Machine machine;
  Program program;
  std::vector<int> rank_of_thread;  ///< logical
};

Case draw_case(std::uint64_t seed);
Assembled assemble(const Case& drawn, const Assembly& how = {});

}  // namespace weft::sim::laws
