// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/slot_sums.hpp"

#include "models/schedules/one_process.hpp"
#include "models/schedules/transport_knobs.hpp"

namespace weft::model {
namespace {

Bytes bytes_of_shard(const FusedView& view, int ranks, int owner) {
  return view.bytes(view.block({owner, shard_of(view.collective.extent.rows, ranks, owner)}));
}

void fetch_sums(const FusedView& view, int rank, int chunk, LayerProgram& program) {
  const int ranks = program.ranks();
  const auto& routes = program.site().built.unicast;
  for (int step = 1; step < ranks; ++step) {
    const int peer = (rank + step) % ranks;
    const Bytes bytes = bytes_of_shard(view, ranks, peer);
    if (bytes == Bytes()) continue;
    program.tag(rank, chunk, sim::Purpose::communication);
    program.host(rank)
        .labelled(view.collective.name)
        .copy(program.communication(rank), copy_engine(rank, peer, rank, program),
              routes[static_cast<std::size_t>(peer)][static_cast<std::size_t>(rank)], bytes);
  }
}

}  // namespace

void add_slots(const FusedView& view, int rank, int chunk, sim::StreamId stream,
               LayerProgram& program) {
  const int ranks = program.ranks();
  program.tag(rank, chunk, sim::Purpose::communication);
  program.memory_kernel(rank, stream, view.collective.name + ".add",
                        bytes_of_shard(view, ranks, rank) * (ranks + 1),
                        sim::Purpose::communication);
}

void share_sums(const FusedView& view, int chunk, LayerProgram& program) {
  if (view.collective.op != CollectiveOp::all_reduce) return;
  if (in_one_process(program.site())) await_peers(program);
  for (int rank = 0; rank < program.running(); ++rank) fetch_sums(view, rank, chunk, program);
}

}  // namespace weft::model
