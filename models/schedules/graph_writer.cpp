// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/graph_writer.hpp"

#include "models/schedules/rows.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

// One warp of few registers fits beside whatever a schedule makes resident; it polls with a hundredth of an SM.
constexpr sim::Footprint one_warp{32, 32 * 16, {}};
constexpr int warp_issue_milli = 10;

std::size_t index_of(int rank) {
  return static_cast<std::size_t>(rank);
}

}  // namespace

Knobs cta_knobs(std::int64_t ctas) {
  Knobs knobs;
  knobs.set("ctas", ctas);
  knobs.set("pace", "free");
  return knobs;
}

GraphWriter::GraphWriter(const FusedView& view, std::string_view label, LayerProgram& program)
    : view_(&view),
      collective_(view.collective),
      label_(label),
      program_(program),
      ranks_(program.ranks()) {}

GraphWriter::GraphWriter(const BoundaryCollective& collective, LayerProgram& program)
    : view_(nullptr), collective_(collective), program_(program), ranks_(program.ranks()) {}

RankSignals GraphWriter::signals() {
  RankSignals result;
  for (int rank = 0; rank < ranks_; ++rank)
    result.push_back(program_.builder().signal(program_.memory(rank)));
  return result;
}

void GraphWriter::join(int rank, sim::StreamId waiter, sim::StreamId producer, int chunk) {
  if (waiter == producer) return;
  program_.tag(rank, chunk, sim::Purpose::synchronisation);
  program_.join(rank, waiter, producer);
}

void GraphWriter::barrier(int rank, sim::StreamId stream, const RankSignals& signals, int chunk) {
  std::vector<sim::SignalId> peers;
  for (int step = 1; step < ranks_; ++step) peers.push_back(signals[index_of(peer(rank, step))]);
  program_.tag(rank, chunk, sim::Purpose::synchronisation);
  program_.post_all(rank, stream, "barrier", peers);
  program_.host(rank).labelled("barrier").wait(stream, signals[index_of(rank)],
                                               static_cast<std::uint64_t>(ranks_ - 1));
}

void GraphWriter::post(int rank, sim::StreamId stream, sim::SignalId signal, int chunk) {
  program_.tag(rank, chunk, sim::Purpose::synchronisation);
  program_.host(rank).labelled("flag").post(stream, {sim::SignalPost::Kind::add, signal, 1, {}});
}

void GraphWriter::wait(int rank, sim::StreamId stream, sim::SignalId signal, std::uint64_t at_least,
                       int chunk) {
  program_.tag(rank, chunk, sim::Purpose::synchronisation);
  program_.host(rank).labelled("flag").wait(stream, signal, at_least);
}

void GraphWriter::post_kernel(int rank, sim::StreamId stream, sim::SignalId signal, int chunk) {
  program_.tag(rank, chunk, sim::Purpose::synchronisation);
  program_.post_all(rank, stream, "signal", {signal});
}

void GraphWriter::wait_kernel(int rank, sim::StreamId stream, sim::SignalId signal,
                              std::uint64_t at_least, int chunk) {
  program_.tag(rank, chunk, sim::Purpose::synchronisation);
  sim::KernelWriter kernel = program_.builder().kernel("spin", 1);
  kernel.footprint(one_warp)
      .role(sim::Purpose::synchronisation, sim::TileOrder::static_shares)
      .spin(warp_issue_milli)
      .range(1, Duration())
      .wait(signal, at_least);
  program_.host(rank).labelled("spin").launch(stream, kernel.id());
}

void GraphWriter::pause(int rank, sim::StreamId stream, int chunk) {
  program_.tag(rank, chunk, sim::Purpose::synchronisation);
  sim::KernelWriter kernel = program_.builder().kernel("pause", 1);
  kernel.footprint(one_warp)
      .role(sim::Purpose::synchronisation, sim::TileOrder::static_shares)
      .range(1, Duration());
  program_.host(rank).labelled("pause").launch(stream, kernel.id());
}

void GraphWriter::copy(int rank, sim::StreamId stream, int from, int to, Bytes bytes, int chunk,
                       std::optional<sim::EngineKind> kind) {
  if (bytes == Bytes()) return;
  std::optional<std::uint32_t> engine;
  const sim::Machine& machine = program_.site().built.machine;
  const auto& engines = machine.device(machine.ranks.at(index_of(rank)).device).engines;
  for (std::uint32_t i = 0; kind && i < engines.size() && !engine; ++i) {
    if (engines[i].kind == *kind && engines[i].direction == sim::EngineDirection::any) engine = i;
  }
  if (!engine)
    engine = program_.engine(rank, from == to   ? sim::EngineDirection::local
                                   : to == rank ? sim::EngineDirection::inbound
                                                : sim::EngineDirection::outbound);
  WEFT_CHECK(engine.has_value(), "rank {} has no copy engine from {} to {}", rank, from, to);
  program_.tag(rank, chunk, sim::Purpose::communication);
  program_.host(rank).labelled(collective_.name).copy(stream, *engine, route(from, to), bytes);
}

CommunicationKernel GraphWriter::copies(int rank, int ctas) {
  return CommunicationKernel(program_, rank, cta_knobs(ctas), collective_.name);
}

void GraphWriter::launch(int rank, sim::StreamId stream, CommunicationKernel& kernel, int chunk) {
  program_.tag(rank, chunk, sim::Purpose::communication);
  kernel.launch(stream);
}

void GraphWriter::product(int rank, sim::StreamId stream, const ProductCall& call, int chunk) {
  program_.tag(rank, chunk, sim::Purpose::compute);
  program_.gemm(rank, stream,
                {&view_->work, call.rows, call.library, call.margin, label_, call.columns});
}

void GraphWriter::add(int rank, sim::StreamId stream, Bytes bytes, int chunk,
                      sim::Purpose purpose) {
  program_.tag(rank, chunk, purpose);
  program_.memory_kernel(rank, stream, collective_.name + ".add", bytes, purpose);
}

Bytes GraphWriter::shard_bytes(int owner) const {
  return bytes_of(collective_.format, shard_rows(owner) * collective_.extent.columns);
}

std::int64_t GraphWriter::shard_rows(int owner) const {
  return shard_of(collective_.extent.rows, ranks_, owner).rows();
}

sim::RouteId GraphWriter::route(int from, int to) const {
  return program_.site().built.unicast[index_of(from)][index_of(to)];
}

}  // namespace weft::model
