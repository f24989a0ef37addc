// SPDX-License-Identifier: Apache-2.0
// Copies and messages: turn on the engine or queue pair, set-up, bytes, arrival.
//
//   end = turn on the engine + start cost + bytes at the rate the solver gives + route latency
//
// The engine is held until the last byte has left. Requests of the same moment go by stream
// priority, stream and command; otherwise first come, first served.
#include <algorithm>

#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

void Simulation::start_transfer(std::uint32_t index, std::uint32_t queue) {
  const CompiledCommand& command = compiled_.commands[index];
  StreamState& stream = streams_[command.stream];
  const std::uint32_t slot = transfers_.take();
  transfers_[slot] = {.command = index, .turn = stream.turn, .dispatched = now_};
  if (recording()) {
    const std::int64_t head = stall_before_dispatch(index, stream.turn, queues_[queue].head_since);
    stall(index, StallReason::hardware_queue, head, now_);
  }
  begin_on_stream(command);
  request(compiled_.shapes[command.target].server, slot);
}

void Simulation::request(std::uint32_t index, std::uint32_t slot) {
  Server& server = servers_[index];
  const Transfer& transfer = transfers_[slot];
  // Before the request itself: those that came earlier or win the tie. The back goes first.
  auto later = [&](std::uint32_t other) {
    const Transfer& its = transfers_[other];
    return its.dispatched == transfer.dispatched &&
           key(0, Phase::start, transfer.command, 0) < key(0, Phase::start, its.command, 0);
  };
  auto place = server.waiting.begin();
  while (place != server.waiting.end() && later(*place)) ++place;
  server.waiting.insert(place, slot);
  if (server.dirty) return;
  server.dirty = true;
  dirty_servers_.push_back(index);
}

void Simulation::grant(std::uint32_t index) {
  Server& server = servers_[index];
  server.dirty = false;
  while (server.free > 0 && !server.waiting.empty()) {
    const std::uint32_t slot = server.waiting.back();
    server.waiting.pop_back();
    --server.free;
    Transfer& transfer = transfers_[slot];
    transfer.granted = now_;
    if (recording()) {
      stall(transfer.command, StallReason::engine_busy, transfer.dispatched, now_);
    }
    const std::int64_t setup = compiled_.shapes[compiled_.commands[transfer.command].target].setup;
    after(setup, transfer.command, 0, {.what = What::transfer_setup_end, .of = slot});
  }
}

void Simulation::begin_bytes(std::uint32_t slot) {
  Transfer& transfer = transfers_[slot];
  const CompiledCommand& command = compiled_.commands[transfer.command];
  const FlowShape& shape = compiled_.shapes[command.target];
  transfer.first_byte = now_;
  transfer.flow = kNone;
  if (command.amount == 0 || (shape.uses.count == 0 && !shape.uses.cap)) return end_bytes(slot);
  if (shape.reads_host) ++host_reads_[compiled_.streams[command.stream].device];
  std::vector<ActivityId>& parked = parked_[command.target];
  ActivityId activity{0};
  if (parked.empty()) {
    activity = shares_.add({.uses = {compiled_.uses.data() + shape.uses.first, shape.uses.count},
                            .denominator = shape.uses.denominator,
                            .weight = static_cast<std::uint64_t>(shape.weight),
                            .weight_per = 1,
                            .cap = shape.uses.cap,
                            .multiplicity = 1});
  } else {
    activity = parked.back();
    parked.pop_back();
    shares_.set_multiplicity(activity, 1);
  }
  transfer.flow =
      start_flow(Flow::Owner::transfer, slot, activity, static_cast<std::uint64_t>(command.amount),
                 key(now_, Phase::finish, transfer.command, 0));
}

void Simulation::end_bytes(std::uint32_t slot) {
  Transfer& transfer = transfers_[slot];
  const CompiledCommand& command = compiled_.commands[transfer.command];
  const FlowShape& shape = compiled_.shapes[command.target];
  if (transfer.flow != kNone) {
    const ActivityId activity = flows_[transfer.flow].activity;
    shares_.set_multiplicity(activity, 0);
    parked_[command.target].push_back(activity);
    stop_flow(transfer.flow);
    if (shape.reads_host) --host_reads_[compiled_.streams[command.stream].device];
  }
  Server& server = servers_[shape.server];
  ++server.free;
  if (!server.dirty && !server.waiting.empty()) {
    server.dirty = true;
    dirty_servers_.push_back(shape.server);
  }
  if (command.op == Op::message) {
    after(shape.latency, transfer.command, 0,
          {.what = What::message_arrival, .of = transfer.command});
    end_transfer(slot);
  } else {
    after(shape.latency, transfer.command, 0, {.what = What::transfer_arrival, .of = slot});
  }
}

void Simulation::end_transfer(std::uint32_t slot) {
  const Transfer transfer = transfers_[slot];
  transfers_.give_back(slot);
  if (recording()) {
    span(transfer.command, transfer.turn, transfer.dispatched, transfer.granted, now_);
  }
  complete_on_stream(transfer.command);
}

}  // namespace weft::sim::engine
