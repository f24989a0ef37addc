// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/delivery.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "models/schedules/rows.hpp"

namespace weft::model {
namespace {

constexpr std::size_t most_faults = 20;

// What one rank holds of one cell: the addends that its sum has, and whether it is the finished value.
struct Holding {
  std::set<int> addends;
  bool final = false;
};

// The matrix cut along every edge of every block: on a cell, each transfer is all or nothing.
class Cells {
 public:
  Cells(const BoundaryCollective& collective, const std::vector<Transfer>& transfers)
      : c_(collective) {
    std::set<std::int64_t> rows = {0, c_.extent.rows}, columns = {0, c_.extent.columns};
    for (const Transfer& transfer : transfers) {
      rows.insert({transfer.block.row, transfer.block.row + transfer.block.rows});
      columns.insert({transfer.block.column, transfer.block.column + transfer.block.columns});
    }
    for (int rank = 0; rank < c_.group; ++rank) {
      for (const Block& block : {initial(rank), wanted(rank)}) {
        rows.insert({block.row, block.row + block.rows});
        columns.insert({block.column, block.column + block.columns});
      }
    }
    rows_.assign(rows.begin(), rows.end());
    columns_.assign(columns.begin(), columns.end());
    holdings_.resize((rows_.size() - 1) * (columns_.size() - 1) *
                     static_cast<std::size_t>(c_.group));
    for (int rank = 0; rank < c_.group; ++rank) {
      each(initial(rank), [&](std::size_t cell) {
        Holding& holding = at(cell, rank);
        if (reduces()) {
          holding.addends = {rank};
          holding.final = c_.group == 1;
        } else {
          holding.final = true;
        }
      });
    }
  }

  bool reduces() const {
    return c_.op == CollectiveOp::reduce_scatter || c_.op == CollectiveOp::all_reduce;
  }

  void apply_step(const std::vector<const Transfer*>& step) {
    const std::vector<Holding> before = holdings_;
    for (const Transfer* transfer : step) {
      each(transfer->block, [&](std::size_t cell) { apply(*transfer, before, cell); });
    }
  }

  void check_end() {
    for (int rank = 0; rank < c_.group; ++rank) {
      each(wanted(rank), [&](std::size_t cell) {
        if (!at(cell, rank).final) fault(fmt::format("rank {} never gets {}", rank, name(cell)));
      });
    }
  }

  const std::vector<std::string>& faults() const { return faults_; }

 private:
  Block whole() const { return {0, c_.extent.rows, 0, c_.extent.columns}; }
  Block cut(MatrixDim dim, int rank) const {
    Block block = whole();
    if (dim == MatrixDim::rows) {
      const RowRange rows = shard_of(c_.extent.rows, c_.group, rank);
      block.row = rows.begin;
      block.rows = rows.rows();
    } else if (dim == MatrixDim::columns) {
      const RowRange columns = shard_of(c_.extent.columns, c_.group, rank);
      block.column = columns.begin;
      block.columns = columns.rows();
    }
    return block;
  }
  // What a rank starts with: addends of everything in a reduction, else its part.
  Block initial(int rank) const { return reduces() ? whole() : cut(c_.from, rank); }
  Block wanted(int rank) const { return cut(c_.to, rank); }

  template <class Visit>
  void each(const Block& block, Visit&& visit) {
    if (block.empty()) return;
    const auto index = [](const std::vector<std::int64_t>& edges, std::int64_t value) {
      return static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), value) -
                                      edges.begin());
    };
    for (std::size_t r = index(rows_, block.row); rows_[r] < block.row + block.rows; ++r) {
      for (std::size_t c = index(columns_, block.column);
           columns_[c] < block.column + block.columns; ++c) {
        visit(r * (columns_.size() - 1) + c);
      }
    }
  }

  Holding& at(std::size_t cell, int rank) {
    return holdings_[cell * static_cast<std::size_t>(c_.group) + static_cast<std::size_t>(rank)];
  }

  void apply(const Transfer& t, const std::vector<Holding>& before, std::size_t cell) {
    const std::size_t base = cell * static_cast<std::size_t>(c_.group);
    const Holding& source = before[base + static_cast<std::size_t>(t.from)];
    Holding& target = at(cell, t.to);
    if (t.kind == Transfer::Kind::gather) {
      if (!source.final) {
        fault(
            fmt::format("rank {} sends {} to {} before it has it whole", t.from, name(cell), t.to));
      }
      if (target.final)
        fault(fmt::format("rank {} gets {} twice (from {})", t.to, name(cell), t.from));
      target.final = true;
      return;
    }
    for (const int addend : t.addends) {
      if (!source.addends.contains(addend)) {
        fault(fmt::format("rank {} sends an addend of {} of {} that it does not hold", t.from,
                          addend, name(cell)));
      }
      if (!target.addends.insert(addend).second) {
        fault(fmt::format("the addend of {} enters {} at rank {} twice", addend, name(cell), t.to));
      }
    }
    if (static_cast<int>(target.addends.size()) == c_.group) target.final = true;
  }

  std::string name(std::size_t cell) const {
    const std::size_t r = cell / (columns_.size() - 1);
    const std::size_t c = cell % (columns_.size() - 1);
    return fmt::format("rows {}..{} x columns {}..{}", rows_[r], rows_[r + 1], columns_[c],
                       columns_[c + 1]);
  }
  void fault(std::string text) {
    if (faults_.size() < most_faults) faults_.push_back(std::move(text));
  }

  const BoundaryCollective& c_;
  std::vector<std::int64_t> rows_, columns_;
  std::vector<Holding> holdings_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> delivery_faults(const BoundaryCollective& collective,
                                         const std::vector<Transfer>& transfers) {
  Cells cells(collective, transfers);
  std::map<std::pair<int, int>, std::vector<const Transfer*>> steps;
  for (const Transfer& transfer : transfers)
    steps[{transfer.chunk, transfer.step}].push_back(&transfer);
  for (const auto& [place, step] : steps) cells.apply_step(step);
  cells.check_end();
  return cells.faults();
}

std::vector<PortBytes> port_bytes(const BoundaryCollective& collective,
                                  const std::vector<Transfer>& transfers) {
  std::vector<PortBytes> ports(static_cast<std::size_t>(collective.group));
  // What a switch copies or sums crosses the single port once: the same block, chunk and step. It serves the rank
  // itself too: its own addend goes out with the others, once for however many get the sum; its own copy comes back
  // with theirs.
  std::set<std::tuple<int, int, int, Block>> multicast, reduced, given;
  for (const Transfer& t : transfers) {
    const Bytes bytes = bytes_of(collective.format, t.block.elements());
    const bool gather = t.kind == Transfer::Kind::gather;
    const bool out = !t.in_network ||
                     (gather ? multicast : given).emplace(t.chunk, t.step, t.from, t.block).second;
    const bool in =
        !t.in_network || gather || reduced.emplace(t.chunk, t.step, t.to, t.block).second;
    PortBytes& source = ports[static_cast<std::size_t>(t.from)];
    PortBytes& target = ports[static_cast<std::size_t>(t.to)];
    if (out) source.egress += bytes;
    if (in) target.ingress += bytes;
    if (t.in_network && gather && out) source.ingress += bytes;
    if (t.in_network && !gather && in && given.emplace(t.chunk, t.step, t.to, t.block).second) {
      target.egress += bytes;
    }
  }
  return ports;
}

Bytes cut_bound(const BoundaryCollective& collective, int rank) {
  const std::int64_t rows = collective.extent.rows, columns = collective.extent.columns;
  const auto part = [&](MatrixDim dim) {
    if (dim == MatrixDim::rows) return shard_of(rows, collective.group, rank).rows() * columns;
    if (dim == MatrixDim::columns) return shard_of(columns, collective.group, rank).rows() * rows;
    return rows * columns;
  };
  std::int64_t elements = 0;
  switch (collective.op) {
    case CollectiveOp::all_gather:
      elements = rows * columns - part(collective.from);
      break;
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_reduce:
      elements = collective.group > 1 ? part(collective.to) : 0;
      break;
    case CollectiveOp::all_to_all: {
      const std::int64_t own = shard_of(rows, collective.group, rank).rows() *
                               shard_of(columns, collective.group, rank).rows();
      elements = part(collective.to) - own;
      break;
    }
  }
  return bytes_of(collective.format, elements);
}

}  // namespace weft::model
