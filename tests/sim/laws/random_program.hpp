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
#include "sim/run.hpp"

namespace weft::sim::laws {

struct DeviceCase {
  std::vector<int> sms_per_gpc;
  int cta_slots = 8;
  std::int64_t hbm = 0;  ///< bytes a second
  std::int64_t l2 = 0;
  std::int64_t port = 0;  ///< bytes a second, each way, over all planes
  std::int64_t speed_permille = 1000;
  struct Engine {
    std::int64_t start_cost = 0;  ///< ps
    int concurrency = 1;
    std::int64_t rate = 0;  ///< 0: none of its own
    std::int64_t weight = 1000;
  };
  std::vector<Engine> engines;
  std::vector<Interference> terms;
  int nic = 0;
};

struct RankCase {
  int device = 0;
  std::vector<int> partition;  ///< empty: the whole device
  int queue_pair = 0;          ///< of its device's NIC, shared at most with ranks of that device
  std::vector<int> stream_priorities;
  std::int64_t launch_cost = 0;
  int max_connections = 8;
};

/// Where bytes of a rank go to or come from.
struct WayCase {
  enum class Over : std::uint8_t { peer, multicast, reduce, to_host, from_host } over = Over::peer;
  int peer = 0;  ///< logical rank; its own device: within the memory
};

struct RangeCase {
  std::int64_t tiles = 1;
  std::int64_t sm_time = 0;
  SmDemand demand;
  std::int64_t hbm_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::optional<WayCase> way;
  std::int64_t way_bytes = 0;
  bool posted_write = false;
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
  int spin = 0;  ///< issue thousandths of a waiting CTA
  std::vector<RangeCase> ranges;
};

struct KernelCase {
  int label = 0;  ///< kernels of one label race as one kind
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
  SmDemand demand;  ///< of a member's CTA
  int chunks = 1;
  std::vector<int> posts;  ///< signals, a post to each of them a chunk
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
  WayCase way;
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
  std::vector<DeviceCase> devices;
  std::vector<RankCase> ranks;
  std::vector<int> nics;  ///< queue pairs of each
  int planes = 1;
  std::int64_t plane_capacity = 0;  ///< of each plane's switch; 0: not a limit
  std::int64_t hop_latency = 0;
  ControlLatency control;
  std::vector<std::optional<int>> signal_owner;  ///< logical rank; none: the host's memory
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

/// Another order of the ranks: devices reversed, the ranks of a device in the order that they have,
/// which is the order in which its SMs serve them.
Assembly relabelled(const Case& drawn);

Case draw_case(std::uint64_t seed);

/// The effects that can be switched, each by its name.
struct EffectSwitch {
  const char* name;
  bool Effects::*effect;
};
inline constexpr EffectSwitch kSwitches[] = {{"chunking", &Effects::chunking},
                                             {"residency", &Effects::residency},
                                             {"sm_share", &Effects::sm_share},
                                             {"hbm_share", &Effects::hbm_share},
                                             {"link_share", &Effects::link_share},
                                             {"transport", &Effects::transport},
                                             {"launch_and_sync", &Effects::launch_and_sync},
                                             {"imbalance", &Effects::imbalance}};
Assembled assemble(const Case& drawn, const Assembly& how = {});

}  // namespace weft::sim::laws
