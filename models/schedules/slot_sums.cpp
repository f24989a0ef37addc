// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/slot_sums.hpp"

#include "models/schedules/transport_knobs.hpp"

namespace weft::model {
namespace {

Bytes bytes_of_shard(const FusedView& view, int ranks, int owner) {
  return view.bytes(view.block({owner, shard_of(view.collective.extent.rows, ranks, owner)}));
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

}  // namespace weft::model
