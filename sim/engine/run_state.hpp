// SPDX-License-Identifier: Apache-2.0
// All that a run keeps, so that the memory of one can be that of the next.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/engine/compiled.hpp"
#include "sim/engine/state.hpp"
#include "sim/run.hpp"

namespace weft::sim::engine {

struct RunState {
  Compiled compiled_;

  EventQueue<EventKey, Happening> queue_;
  std::vector<Happening> soon_;  // at this very moment, in order
  std::int64_t now_ = 0;
  std::int64_t end_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t activities_ = 0;
  std::uint64_t commands_done_ = 0;

  std::vector<SegmentState> segments_;
  std::size_t segments_active_ = 0;
  std::vector<std::uint32_t> segment_next_;
  std::vector<std::uint32_t> segment_calls_;  // its first host call
  std::vector<RecordState> records_;
  std::vector<StreamState> streams_;
  std::vector<QueueState> queues_;
  std::vector<std::uint32_t> lane_position_;
  std::vector<std::vector<std::uint32_t>> thread_queues_;
  std::vector<std::uint32_t> dirty_queues_;

  std::vector<Server> servers_;
  std::vector<std::uint32_t> dirty_servers_;
  SlotPool<Transfer> transfers_;
  std::vector<std::vector<ActivityId>> parked_;  // activities of a flow shape, not in use

  SlotPool<KernelRun> runs_;
  SlotPool<RoleRun> roles_;
  SlotPool<Crew> crews_;
  SlotPool<Batch> batches_;
  SlotPool<Pool> pools_;
  std::vector<std::uint32_t>
      rank_pool_;  // [rank], [rank][purpose] with exclusive engines; then [device]
  std::vector<std::uint32_t> dirty_pools_;
  std::vector<std::uint32_t> dirty_roles_;

  SlotPool<GangRun> gang_runs_;
  std::vector<std::vector<std::uint32_t>> gang_open_;  // gang runs not yet complete, by gang

  std::vector<ViewState> views_;
  SlotPool<Arrival> arrivals_;
  std::vector<std::uint32_t> signalled_;    // crews whose signal has come, within one arrival
  std::vector<std::uint32_t> working_set_;  // crews of the role that advances

  FairShare shares_;
  SlotPool<Flow> flows_;
  std::vector<std::uint32_t> flow_of_;  // by activity
  bool shares_touched_ = false;
  std::vector<ResourceUse> scratch_uses_;

  bool shares_sms_ = false;                     // any SM's pipes can be asked for too much
  std::vector<std::array<int, kPipes>> peaks_;  // by kernel
  std::map<int, std::vector<std::uint32_t>> free_pipes_;  // by SMs
  std::vector<std::uint32_t> changed_pools_;
  bool any_terms_ = false;              // of interference that can come into force
  std::vector<bool> has_terms_;         // by device
  std::vector<std::int64_t> slowdown_;  // by device, thousandths
  std::vector<Duration> launch_delay_;  // by device
  std::vector<int> host_reads_;         // by device: copies from host memory that are under way
  std::vector<RaceMet> races_;

  /// As new, but for the memory: nothing of a run that was ended by its result is left.
  void clear();
};

}  // namespace weft::sim::engine
