// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/delivery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/schedules/algorithm_transfers.hpp"
#include "models/schedules/rows.hpp"

namespace weft::model {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

BoundaryCollective collective_of(CollectiveOp op, int ranks, std::int64_t rows) {
  BoundaryCollective collective;
  collective.op = op;
  collective.group = ranks;
  collective.extent = {rows, 16};
  collective.from = op == CollectiveOp::all_gather || op == CollectiveOp::all_to_all
                        ? MatrixDim::rows
                        : MatrixDim::none;
  collective.to = op == CollectiveOp::reduce_scatter ? MatrixDim::rows
                  : op == CollectiveOp::all_to_all   ? MatrixDim::columns
                                                     : MatrixDim::none;
  return collective;
}

ChunkGeometry geometry_of(const BoundaryCollective& collective, int nodes) {
  ChunkGeometry geometry;
  geometry.op = collective.op;
  geometry.ranks = collective.group;
  for (int rank = 0; rank < collective.group; ++rank)
    geometry.node_of_rank.push_back(rank * nodes / collective.group);
  const auto rows = [=](int rank) {
    return shard_of(collective.extent.rows, collective.group, rank);
  };
  geometry.owned = [=](int rank) {
    return Block{rows(rank).begin, rows(rank).rows(), 0, collective.extent.columns};
  };
  geometry.exchanged = [=](int from, int to) {
    const RowRange columns = shard_of(collective.extent.columns, collective.group, to);
    return Block{rows(from).begin, rows(from).rows(), columns.begin, columns.rows()};
  };
  return geometry;
}

TEST(Algorithms, DeliverEveryOperation) {
  for (const CollectiveAlgorithm algorithm : every_collective_algorithm) {
    for (const CollectiveOp op : every_collective_op) {
      if (algorithm == CollectiveAlgorithm::tree && op != CollectiveOp::all_reduce) continue;
      for (const int ranks : {2, 3, 4, 7, 8, 16}) {
        for (const std::int64_t rows : {1, 5, 64}) {
          const int nodes = ranks % 4 == 0 ? ranks / 4 : 1;
          const BoundaryCollective collective = collective_of(op, ranks, rows);
          EXPECT_THAT(delivery_faults(collective, algorithm_transfers(
                                                      algorithm, geometry_of(collective, nodes))),
                      IsEmpty())
              << name_of(algorithm) << " " << name_of(op) << " of " << rows << " rows on " << ranks;
        }
      }
    }
  }
}

// Ring all-reduce: 2(p-1)/p of the message leaves each rank; all-gather and reduce-scatter half of it.
TEST(Algorithms, RingPortsCarryTheWireBytes) {
  for (const int ranks : {2, 4, 8, 16}) {
    for (const CollectiveOp op :
         {CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::all_reduce}) {
      const BoundaryCollective collective = collective_of(op, ranks, 16L * ranks);
      const Bytes message =
          bytes_of(collective.format, collective.extent.rows * collective.extent.columns);
      for (const PortBytes& port :
           port_bytes(collective,
                      algorithm_transfers(CollectiveAlgorithm::ring, geometry_of(collective, 1)))) {
        EXPECT_EQ(port.egress, wire_bytes(op, message, ranks));
        EXPECT_EQ(port.ingress, wire_bytes(op, message, ranks));
      }
    }
  }
}

// In the network a rank sends its addends once and its sum once: (p+1)/p of the message each way.
TEST(Algorithms, NvlsPortsCarryOneMessageAndOneShard) {
  const int ranks = 8;
  const BoundaryCollective collective = collective_of(CollectiveOp::all_reduce, ranks, 64);
  const Bytes message = bytes_of(collective.format, 64 * 16);
  const Bytes shard = bytes_of(collective.format, 64 / ranks * 16);
  for (const PortBytes& port :
       port_bytes(collective,
                  algorithm_transfers(CollectiveAlgorithm::nvls, geometry_of(collective, 1)))) {
    // Out: an addend of each block, its own included, then its own sum. In: its sum, then every block.
    EXPECT_EQ(port.egress, message + shard);
    EXPECT_EQ(port.ingress, message + shard);
  }
}

TEST(Delivery, NamesWhatIsMissingDoubledOrSentTooEarly) {
  const BoundaryCollective collective = collective_of(CollectiveOp::all_gather, 2, 2);
  const Block first{0, 1, 0, 16}, second{1, 1, 0, 16};
  EXPECT_THAT(
      delivery_faults(collective, {{Transfer::Kind::gather, 0, 1, first, {}, 0, 0, false}}).at(0),
      HasSubstr("rank 0 never gets rows 1..2"));
  EXPECT_THAT(delivery_faults(collective, {{Transfer::Kind::gather, 0, 1, first, {}, 0, 0, false},
                                           {Transfer::Kind::gather, 0, 1, first, {}, 0, 1, false},
                                           {Transfer::Kind::gather, 1, 0, second, {}, 0, 0, false}})
                  .at(0),
              HasSubstr("rank 1 gets rows 0..1"));
  EXPECT_THAT(
      delivery_faults(collective, {{Transfer::Kind::gather, 0, 1, second, {}, 0, 0, false}}).at(0),
      HasSubstr("before it has it whole"));
}

}  // namespace
}  // namespace weft::model
