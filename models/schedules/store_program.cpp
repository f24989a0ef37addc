// SPDX-License-Identifier: Apache-2.0
// Tiles are stored in a slot of their owner and count there; once all that a cut of an owner's rows needs has landed,
// its communication CTAs add it. Own rows come last. The sums of an all-reduce are stored at every rank as they come,
// and a launch ends when everybody's are there. An exchange needs no sums, and so no CTAs but the product's.
#include "models/schedules/store_program.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/schedules/communication_kernel.hpp"
#include "models/schedules/demands.hpp"
#include "models/schedules/flag_parts.hpp"
#include "models/schedules/tile_walk.hpp"
#include "models/schedules/transport_knobs.hpp"

namespace weft::model {
namespace {

std::size_t at_index(int index) {
  return static_cast<std::size_t>(index);
}

/// A cut of an owner's rows.
struct Landing {
  int owner = 0, cut = 0;
  friend auto operator<=>(const Landing&, const Landing&) = default;
};

/// A stretch of tiles, what they store at whom, and where they count.
struct StorePart {
  std::int64_t tiles = 0, rows = 0;
  std::vector<std::pair<int, Bytes>> stores;  ///< by owner, in the order of the rank's walk
  std::vector<Landing> landings;
  void store(int owner, Bytes bytes) {
    const auto known = std::find_if(stores.begin(), stores.end(),
                                    [owner](const auto& each) { return each.first == owner; });
    if (known == stores.end()) {
      stores.emplace_back(owner, bytes);
    } else {
      known->second += bytes;
    }
  }
  /// Bytes that do not divide go with a tile of their own.
  [[nodiscard]] bool splits() const {
    return tiles > 1 && std::any_of(stores.begin(), stores.end(), [this](const auto& store) {
             return store.second.count() % tiles > 0;
           });
  }
};

class StoreProgram {
 public:
  StoreProgram(const FusedView& view, const Knobs& knobs, std::string_view label,
               LayerProgram& program)
      : view_(view),
        knobs_(knobs),
        label_(label),
        program_(program),
        ranks_(program.ranks()),
        plan_(view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs))) {
    for (int rank = 0; rank < ranks_; ++rank) cuts_.push_back(cuts_of(rank));
    for (int rank = 0; rank < ranks_; ++rank) {
      auto& signals = landed_.emplace_back();
      for (std::size_t cut = 0; cut < std::max<std::size_t>(1, cuts_[at_index(rank)].size()); ++cut)
        signals.push_back(program.builder().signal(program.memory(rank)));
      counts_.emplace_back(signals.size(), 0);
      summed_.push_back(program.builder().signal(program.memory(rank)));
    }
    alike_ = ranks_are_alike();
    for (int rank = 0; rank < (alike_ ? 1 : ranks_); ++rank) parts_.push_back(parts_of(rank));
    for (int rank = 0; rank < ranks_; ++rank) {
      for (const StorePart& part : parts(rank)) {
        for (const Landing& landing : part.landings) {
          counts_[at_index(turned(rank, landing.owner))][at_index(landing.cut)] +=
              part.splits() ? 2U : 1U;
        }
      }
    }
  }

  void emit() {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (view_.reduces()) {
        with_sums(rank);
      } else {
        alone(rank);
      }
    }
  }

 private:
  bool exchanges() const { return view_.collective.op == CollectiveOp::all_to_all; }
  bool shares() const { return view_.collective.op == CollectiveOp::all_reduce; }
  const GemmCost& cost_of(int rank) const {
    return flag_cost(view_, knobs_, label_, program_, rank);
  }
  sim::SignalId landed(int owner, int cut) const { return landed_[at_index(owner)][at_index(cut)]; }
  // Whether every rank does what the first one does, with its own number added to that of each owner.
  bool ranks_are_alike() const {
    const MatrixExtent& extent = view_.collective.extent;
    const GemmCost& first = cost_of(0);
    for (int rank = 1; rank < ranks_; ++rank) {
      if (&cost_of(rank) != &first) return false;
    }
    return extent.rows % ranks_ == 0 && (!exchanges() || extent.columns % ranks_ == 0) &&
           (plan_.order() == ChunkOrder::sliced || ranks_walk_alike(extent.rows, ranks_, first));
  }
  const std::vector<StorePart>& parts(int rank) const {
    return parts_[at_index(alike_ ? 0 : rank)];
  }
  int turned(int rank, int owner) const { return alike_ ? (owner + rank) % ranks_ : owner; }
  static sim::SignalPost count_up(sim::SignalId signal) {
    return {sim::SignalPost::Kind::add, signal, 1, {}};
  }
  sim::RouteId route(int from, int to) const {
    return program_.site().built.unicast[at_index(from)][at_index(to)];
  }

  // How a rank's own rows are cut: as the rank before it sends them.
  std::vector<RowRange> cuts_of(int owner) const {
    std::vector<RowRange> cuts;
    if (exchanges()) return cuts;
    const int source = (owner + ranks_ - 1) % ranks_;
    for (int chunk = 0; chunk < plan_.size(); ++chunk) {
      plan_.each_piece(source, chunk, [&](const Piece& piece) {
        if (piece.owner == owner) cuts.push_back(piece.rows);
      });
    }
    return cuts;
  }

  // What a chunk of a rank's product stores at others, and where it counts. From the last chunk of a rotated plan on,
  // chunks are cuts of the own rows.
  StorePart chunk_of(int rank, int chunk) const {
    StorePart whole;
    // Cuts are in the order of their rows.
    const auto land = [&](int owner, RowRange rows) {
      const std::vector<RowRange>& cuts = cuts_[at_index(owner)];
      auto cut = std::partition_point(cuts.begin(), cuts.end(),
                                      [&](RowRange each) { return each.end <= rows.begin; });
      for (; cut != cuts.end() && cut->begin < rows.end; ++cut)
        whole.landings.push_back({owner, static_cast<int>(cut - cuts.begin())});
    };
    const int own = plan_.order() == ChunkOrder::rotated ? plan_.size() - 1 : plan_.size();
    if (chunk >= own) {
      whole.landings.push_back({rank, chunk - own});
      return whole;
    }
    whole.stores.reserve(at_index(ranks_));
    whole.landings.reserve(at_index(ranks_));
    plan_.each_piece(rank, chunk, [&](const Piece& piece) {
      if (!exchanges()) {
        if (piece.owner != rank) whole.store(piece.owner, view_.bytes(view_.block(piece)));
        land(piece.owner, piece.rows);
        return;
      }
      if (piece.owner != rank) return;
      for (int step = 1; step < ranks_; ++step) {
        const int to = (rank + step) % ranks_;
        const Block block = view_.exchanged(rank, piece.rows, to);
        if (block.empty()) continue;
        whole.store(to, view_.bytes(block));
        whole.landings.push_back({to, 0});
      }
    });
    return whole;
  }

  // Chunks share the tiles that straddle them evenly.
  std::vector<StorePart> parts_of(int rank) const {
    const auto nothing = [](int) { return std::vector<sim::SignalId>(); };
    const auto walk = flag_parts(
        view_, plan_, rank, cost_of(rank),
        [](int) {
          return FlagWait{sim::SignalId(0), 0};
        },
        nothing,
        plan_.order() == ChunkOrder::rotated ? cuts_[at_index(rank)] : std::vector<RowRange>());
    // What a chunk stores, and its tiles: each as many times as it has chunks.
    struct Whole {
      StorePart part;
      std::int64_t tiles = 0, before = 0;
    };
    std::vector<Whole> wholes;
    const auto weight = [](const FlagPart& part) {
      return std::max<std::int64_t>(1, part.tiles / static_cast<std::int64_t>(part.chunks.size()));
    };
    for (const FlagPart& part : walk) {
      for (const int chunk : part.chunks) {
        while (wholes.size() <= at_index(chunk))
          wholes.push_back({chunk_of(rank, static_cast<int>(wholes.size())), 0, 0});
        wholes[at_index(chunk)].tiles += weight(part);
      }
    }
    std::vector<StorePart> parts;
    parts.reserve(walk.size());
    for (const FlagPart& part : walk) {
      StorePart& made = parts.emplace_back();
      made.tiles = part.tiles;
      made.rows = part.rows;
      made.stores.reserve(at_index(ranks_));
      for (const int chunk : part.chunks) {
        Whole& whole = wholes[at_index(chunk)];
        const std::int64_t from = whole.before;
        const std::int64_t to = whole.before += weight(part);
        for (const auto& [owner, bytes] : whole.part.stores) {
          const auto upto = [&, count = bytes.count()](std::int64_t tiles) {
            return narrow(Int128{count} * tiles / whole.tiles);
          };
          made.store(owner, Bytes::from(upto(to) - upto(from)));
        }
        made.landings.insert(made.landings.end(), whole.part.landings.begin(),
                             whole.part.landings.end());
      }
    }
    return parts;
  }

  void write_tiles(int rank, sim::KernelWriter& kernel) {
    const GemmCost& cost = cost_of(rank);
    const Site& site = program_.site();
    OrderedTiles tiles = flag_tiles(view_, plan_, cost, site, rank);
    tiles.tile_time = std::max(tiles.tile_time, paced_tile(view_, cost, knobs_, site));
    const std::int64_t rows = std::max<std::int64_t>(1, view_.work.rank.m);
    const Duration fluid = program_.gemm_fluid(rank, view_.work, rows);
    const auto emit = [&](const StorePart& part, std::int64_t count, bool rest) {
      kernel.range(count, tiles.tile_time, matrix_demand)
          .fluid(
              Duration::from_ps(narrow(Int128{fluid.ps()} * part.rows * count / part.tiles / rows)))
          .l2(cost.l2_per_tile)
          .memory(program_.memory(rank), tiles.hbm_per_tile);
      for (const auto& [owner, bytes] : part.stores) {
        const std::int64_t over = rest ? bytes.count() % part.tiles : 0;
        const Bytes each = Bytes::from(bytes.count() / part.tiles + over);
        if (each > Bytes()) kernel.route(route(rank, turned(rank, owner)), each, true);
      }
      for (const Landing& landing : part.landings)
        kernel.post(count_up(landed(turned(rank, landing.owner), landing.cut)));
    };
    for (const StorePart& part : parts(rank)) {
      if (part.splits()) emit(part, 1, true);
      emit(part, part.tiles - (part.splits() ? 1 : 0), !part.splits());
    }
  }

  void alone(int rank) {
    sim::KernelWriter kernel =
        begin_flag_product(posting(view_, plan_, cost_of(rank), program_.site()), label_, program_);
    write_tiles(rank, kernel);
    program_.tag(rank, 0, sim::Purpose::compute);
    program_.host(rank).labelled(label_).launch(program_.compute(rank), kernel.id());
    program_.tag(rank, plan_.size() - 1, sim::Purpose::synchronisation);
    if (const std::uint64_t count = counts_[at_index(rank)].front(); count > 0)
      program_.host(rank).wait(program_.communication(rank), landed(rank, 0), count);
  }

  void with_sums(int rank) {
    const GemmCost cost = posting(view_, plan_, cost_of(rank), program_.site());
    CommunicationKernel kernel(program_, rank, knobs_, label_,
                               program_.site().path(rank, rank, (rank + 1) % ranks_),
                               knobs_.count("ctas"), cost);
    const std::vector<RowRange>& cuts = cuts_[at_index(rank)];
    for (std::size_t cut = 0; cut < cuts.size(); ++cut) {
      const Bytes bytes = view_.bytes(view_.block({rank, cuts[cut]}));
      std::vector<std::pair<sim::RouteId, Bytes>> sends;
      kernel.after(landed_[at_index(rank)][cut], counts_[at_index(rank)][cut]);
      for (int step = 1; step < ranks_ && shares(); ++step) {
        const int peer = (rank + step) % ranks_;
        sends.emplace_back(route(rank, peer), bytes);
        kernel.then(count_up(summed_[at_index(peer)]));
      }
      kernel.sum(bytes * (ranks_ + 1), sends, cut + 1 == cuts.size());
    }
    if (shares()) {
      std::uint64_t others = 0;
      for (int peer = 0; peer < ranks_; ++peer)
        others += peer == rank ? 0U : cuts_[at_index(peer)].size();
      kernel.after(summed_[at_index(rank)], others);
      kernel.await();
    }
    sim::KernelWriter product = kernel.product(cost);
    write_tiles(rank, product);
    program_.tag(rank, 0, sim::Purpose::compute);
    kernel.launch(program_.compute(rank));
  }

  const FusedView& view_;
  const Knobs& knobs_;
  std::string_view label_;
  LayerProgram& program_;
  int ranks_;
  ChunkPlan plan_;
  std::vector<std::vector<RowRange>> cuts_;         // [owner]
  std::vector<std::vector<sim::SignalId>> landed_;  // [owner][cut], in the owner's memory
  std::vector<std::vector<std::uint64_t>> counts_;  // posts that complete each
  std::vector<sim::SignalId> summed_;               // [rank]
  bool alike_ = false;
  std::vector<std::vector<StorePart>> parts_;  // [rank]; of the first one where they are alike
};

}  // namespace

bool stores_tiles(const FusedView& view, const Knobs& knobs, const Site& site) {
  return !view.gathers && transport_of(knobs) == Transport::sm && site.running() == site.ranks();
}

Duration paced_tile(const FusedView& view, const GemmCost& cost, const Knobs& knobs,
                    const Site& site) {
  const auto pace = pace_of(site);
  if (knobs.text("pace") == "free" || !pace) return {};
  return bytes_of(view.collective.format, cost.kernel.tile_m * cost.kernel.tile_n) * cost.resident /
         *pace;
}

bool stores_keep_pace(const FusedView& view, const Knobs& knobs, const Site& site) {
  Knobs paced = knobs;
  paced.set("pace", "95%");
  const ChunkPlan plan = view.plan(static_cast<int>(knobs.count("chunks")), order_of(knobs));
  const GemmCost& cost =
      site.prices->gemm(piece_of(view.work, view.work.rank.m, view.work.rank.n, GemmLibrary::ours),
                        site.sms(0, static_cast<int>(knobs.count("margin"))));
  return paced_tile(view, cost, paced, site) > flag_tiles(view, plan, cost, site, 0).tile_time;
}

void emit_store_program(const FusedView& view, const Knobs& knobs, std::string_view label,
                        LayerProgram& program) {
  StoreProgram(view, knobs, label, program).emit();
}

}  // namespace weft::model
