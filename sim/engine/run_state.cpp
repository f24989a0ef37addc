// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/run_state.hpp"

namespace weft::sim::engine {

namespace {

template <class T>
void empty_each(std::vector<std::vector<T>>& lists) {
  for (std::vector<T>& list : lists) list.clear();
}

}  // namespace

void Compiled::clear() {
  commands.clear();
  thread_first.clear();
  segments.clear();
  thread_segment.clear();
  host_calls.clear();
  queue_order.clear();
  lanes.clear();
  queues.clear();
  streams.clear();
  records = 0;
  resources.clear();
  uses.clear();
  shapes.clear();
  server_concurrency.clear();
  posts.clear();
  views.clear();
  signal_view.clear();
  signal_in_cta.clear();
  leg.clear();
  range_uses.clear();
  use_lists.clear();
  gang_uses.clear();
  range_begin.clear();
  role_tiles.clear();
  memories = 0;
}

void RunState::clear() {
  compiled_.clear();
  queue_.clear();
  soon_.clear();
  now_ = 0;
  end_ = 0;
  events_ = 0;
  activities_ = 0;
  commands_done_ = 0;
  segments_.clear();
  segments_active_ = 0;
  segment_next_.clear();
  segment_calls_.clear();
  records_.clear();
  streams_.clear();
  queues_.clear();
  lane_position_.clear();
  empty_each(thread_queues_);
  dirty_queues_.clear();
  for (Server& server : servers_) {
    server.free = 0;
    server.dirty = false;
    server.waiting.clear();
  }
  dirty_servers_.clear();
  transfers_.free_all();
  empty_each(parked_);
  runs_.free_all();
  roles_.free_all();
  crews_.clear();
  batches_.clear();
  pools_.free_all();
  rank_pool_.clear();
  dirty_pools_.clear();
  dirty_roles_.clear();
  gang_runs_.free_all();
  empty_each(gang_open_);
  for (ViewState& view : views_) {
    view.value = 0;
    view.at = 0;
    view.last_poster = kNone;
    view.waiters.clear();
  }
  arrivals_.clear();
  signalled_.clear();
  working_set_.clear();
  shares_.clear();
  flows_.clear();
  flow_of_.clear();
  shares_touched_ = false;
  shares_sms_ = false;
  peaks_.clear();
  free_pipes_.clear();
  changed_pools_.clear();
  any_terms_ = false;
  has_terms_.clear();
  slowdown_.clear();
  races_.clear();
}

}  // namespace weft::sim::engine
