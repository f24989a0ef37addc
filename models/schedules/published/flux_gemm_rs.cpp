// SPDX-License-Identifier: Apache-2.0
// FLUX's product + reduce-scatter.
//
// Hopper, NVLink: the epilogue stores tiles locally and sets a flag for each; a warp of the same CTA fetches the tile
// of its place that a peer has made for this rank, and another adds it up. At step t rank r works with rank r XOR t,
// so that pairs of ranks swap and no port is hit twice. Without fuse_reduction the fetched tiles land in slots, and a
// kernel adds them at the end. A tile is fetched in parts of the epilogue's tile, 128 x 32, one at a time (the DMA has
// one stage): a part is asked for and comes, 64 bytes a row, and only when one warp has passed it on is the next asked
// for. The CTAs of a wave go in step, so that the link rests while they ask.
// Rows of a rank that are no whole tiles are padded first: the input is copied, and the rest is done for padding, too.
// Ampere and Ada, NVLink: the epilogue stores each tile straight into its owner's slots; a kernel adds them. With
// fuse_reduction (fp16 only) it adds them there.
// PCIe: partial sums go round a ring by copy engine, a kernel of few CTAs adds each to the rank's own.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "models/schedules/demands.hpp"
#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

constexpr int most_reducing_ranks = 8;

// What is fetched at a time: CUTLASS's epilogue tile of cooperative kernels (sm90_builder.inl).
constexpr std::int64_t part_rows = 128, part_columns = 32;

// A packet of NVLink is a header of 16 bytes and at most 256 of data (D. Foley and J. Danskin, IEEE Micro 37(2), 2017).
// A read is a request one way and an answer the other; where all ranks read, a port carries both.
constexpr std::int64_t packet_header = 16;
constexpr std::int64_t line = 128;  // that copying CTAs read at a time: of the L2

bool hopper(const Site& site) {
  return architecture_number(site) >= 90;
}

// Rows of a rank as its kernel sees them: on Hopper they are padded to whole tiles (pad_m_to_TPxTile).
std::int64_t padded_rows(const FusedView& view, const GemmCost& cost) {
  return divide_up(view.work.rank.m / view.collective.group, cost.kernel.tile_m) *
         cost.kernel.tile_m;
}

// Rows of a rank (before Hopper) and columns are whole numbers of tiles: the least cost of those of our table that
// suit; none: no tile.
std::optional<GemmCost> cost_of(const FusedView& view, const Site& site, int rank = 0) {
  const std::int64_t ranks = view.collective.group, rows = view.work.rank.m / ranks;
  if (view.work.rank.m % ranks != 0) return std::nullopt;
  if (!hopper(site)) {
    const GemmCost cost = flagged_cost(view, site, 0, rank);
    const bool whole = rows % cost.kernel.tile_m == 0 && view.work.rank.n % cost.kernel.tile_n == 0;
    return whole ? std::optional(cost) : std::nullopt;
  }
  std::optional<GemmCost> best;
  for (const GemmTile& tile : gemm_tiles(site.profile, GemmLibrary::ours)) {
    if (view.work.rank.n % tile.tile_n != 0 ||
        site.sms(rank).resident_ctas(tile.cluster_m * tile.cluster_n) == 0)
      continue;
    const GemmProblem problem{divide_up(rows, tile.tile_m) * tile.tile_m * ranks,
                              view.work.rank.n,
                              view.work.rank.k,
                              view.work.x.element,
                              view.work.y.element,
                              GemmLibrary::ours};
    const GemmCost cost = gemm_cost(site.profile, problem, site.sms(rank), tile);
    if (!best || cost.time < best->time) best = cost;
  }
  return best;
}

// What a tile takes that one CTA of so many fetches: over the link, and asking for part after part.
struct Fetch {
  Duration link;
  Duration ask;
};

Fetch fetch_of(const FusedView& view, const Site& site, Bytes tile, std::int64_t ctas) {
  const SmCopyCosts& copies = site.profile.sm_copy(CopyPath::from_peer);
  const Bytes row = bytes_of(view.collective.format, part_columns);
  const Bytes part = row * part_rows;
  // The port's rate for whole lines, less what shorter rows spend on headers.
  const auto payload = [](std::int64_t bytes, std::int64_t times) {
    return bytes * times / (bytes + 2 * packet_header);
  };
  constexpr std::int64_t parts = 1'000'000;
  const Bandwidth port =
      Bandwidth::from_bytes_per_second(narrow(Int128{copies.cap.value.bytes_per_second()} *
                                              payload(row.count(), parts) / payload(line, parts)));
  const Bandwidth own = std::min(copies.per_cta.value,
                                 Bandwidth::from_bytes_per_second(port.bytes_per_second() / ctas));
  // There and back for each part; the stores of the warp that passes it on are posted and cost next to nothing.
  const Duration each = site.fabric.gpu_latency * 2;
  return {tile / own, each * divide_up(tile.count(), part.count())};
}

class FluxGemmRs final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "flux.gemm_rs",
        .system = "FLUX",
        .summary =
            "one persistent product whose tiles are fetched, or stored, tile by tile while it runs",
        .citation =
            "bytedance/flux at 19831ca: src/gemm_rs, "
            "sm90_gemm_tma_warpspecialized_cooperative_reduce_scatter.hpp, "
            "gemm_v3_reduce_scatter.hpp (one DMA stage), sm90_reduce_scatter_utils.hpp, "
            "tile_mappings.hpp; arXiv 2406.06858",
        .knobs = {{"fuse_reduction",
                   "1: a warp adds fetched tiles; 0: a kernel adds slots at the end",
                   {int64_t{0}, int64_t{1}},
                   int64_t{0},
                   "fuse_reduction"}},
        .applies_to = "product + reduce-scatter",
        .order =
            "a block of tiles for each rank, in the order r XOR t; on PCIe in the ring's order",
        .edges =
            "a flag a tile, read by the peer that fetches it; on PCIe a flag a block and stream "
            "memory operations",
        .resources =
            "warps of the product's own CTAs; on PCIe a copy engine and a kernel that adds",
        .buffers = "the product's output and a slot for every rank in symmetric memory",
        .rules = {"at most 8 ranks of one node, a power of two of them",
                  "M divides by tile_M x ranks; Hopper: by the ranks, and is padded to tiles",
                  "N divides by tile_N", "K and N in pieces of 16 bytes",
                  "fused reduction of bf16 needs Hopper"}};
    return info;
  }
  Knobs normalised(const Boundary&, const Knobs& knobs, const Site& site) const override {
    Knobs result = knobs;
    if (!nvlink_domain(site)) result.set("fuse_reduction", std::int64_t{0});
    return result;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::reduce_scatter}; }

  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    if (!nvlink_domain(site)) require_engines(broken, site);
    const int ranks = view.collective.group;
    require(
        broken, site.group.nodes == 1 && ranks <= most_reducing_ranks && (ranks & (ranks - 1)) == 0,
        fmt::format("the order r XOR t needs a power of two of at most {} ranks in one node; these "
                    "are {} on {}",
                    most_reducing_ranks, ranks, site.group.nodes));
    if (!broken.empty()) return;
    require_alignment(broken, view, hopper(site) ? "TMA" : "cp.async");
    const std::int64_t m = view.work.rank.m, n = view.work.rank.n;
    if (hopper(site)) {
      require(broken, m % ranks == 0,
              fmt::format("M must divide by the ranks, and {} rows do not by {}", m, ranks));
    } else {
      const GemmTile tile = flagged_cost(view, site).kernel;
      require(broken, m % (tile.tile_m * ranks) == 0,
              fmt::format("M must divide by tile_M x ranks = {} x {}, and is {}", tile.tile_m,
                          ranks, m));
      require(broken, n % tile.tile_n == 0,
              fmt::format("N must divide by tile_N = {}, and is {}", tile.tile_n, n));
    }
    if (!broken.empty()) return;
    require(broken, cost_of(view, site).has_value(),
            fmt::format(
                "N must divide by the tile_N of a kernel whose clusters fit a GPC, and is {}", n));
    require(
        broken,
        knobs.count("fuse_reduction") == 0 || hopper(site) || view.work.y.element != DType::bf16,
        "a fused reduction of bf16 needs the bulk adds of sm_90");
  }

  std::vector<Transfer> moves(const FusedView& view, const Knobs&,
                              const Site& site) const override {
    if (nvlink_domain(site)) return owner_transfers(view);
    return library_transfers(view.collective, site, CollectiveAlgorithm::ring);
  }

  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    if (!nvlink_domain(program.site())) {
      ring(graph, label);
    } else if (hopper(program.site())) {
      fetch(graph, label, knobs.count("fuse_reduction") == 1);
    } else {
      push(graph, label, knobs.count("fuse_reduction") == 1);
    }
  }

  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    const GemmCost cost = *cost_of(view, site);
    const std::int64_t at_once = std::max<std::int64_t>({1, cost.resident, site.sms(0).sms()});
    return Duration::from_ps(narrow(Int128{cost.tile_time().ps()} * cost.tiles / at_once));
  }
  Bytes buffers(const FusedView& view, const Knobs& knobs, const Site&) const override {
    const Bytes whole = output_bytes(view);
    return knobs.count("fuse_reduction") == 1 ? whole : whole * 2;
  }

 private:
  // Tiles of a block are fetched as they are made: in parts of one wave of the product.
  static void fetch(GraphWriter& graph, std::string_view label, bool fused) {
    LayerProgram& program = graph.program();
    const FusedView& view = graph.view();
    const int ranks = graph.ranks();
    std::vector<std::vector<sim::SignalId>> made;  // [rank][step]: tiles for rank ^ step
    for (int rank = 0; rank < ranks; ++rank) {
      auto& own = made.emplace_back();
      for (int step = 0; step < ranks; ++step)
        own.push_back(program.builder().signal(program.memory(rank)));
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const ProductShape shape;
      const GemmCost cost = *cost_of(view, program.site(), rank);
      const std::int64_t block = cost.tiles / ranks,
                         wave = std::max<std::int64_t>(1, cost.resident);
      // Rows that only fill up tiles are multiplied, stored and fetched like the others.
      const std::int64_t rows = padded_rows(view, cost);
      if (rows != graph.shard_rows(rank)) {
        program.tag(rank, 0, sim::Purpose::compute);
        program.memory_kernel(
            rank, graph.compute(rank), "pad",
            bytes_of(view.work.x, (graph.shard_rows(rank) + rows) * ranks * view.work.rank.k),
            sim::Purpose::compute);
      }
      std::vector<ProductPart> parts;
      for (int step = 1; step <= ranks; ++step) {
        const int t = step % ranks;  // its own block comes last
        for (std::int64_t begin = 0; begin < block; begin += wave) {
          const std::int64_t tiles = std::min(wave, block - begin);
          parts.push_back(
              {graph.shard_rows(rank) * tiles / block,
               tiles,
               {},
               {add_one(made[static_cast<std::size_t>(rank)][static_cast<std::size_t>(t)])},
               true});
        }
      }
      sim::KernelWriter kernel = write_flagged(graph, rank, label, shape, cost, parts);
      kernel.warp_group(sim::Purpose::communication, sim::TileOrder::static_shares, "fetch")
          .spin(10);
      const Bytes bytes = tile_bytes(view, rows, block);
      const Fetch each = fetch_of(view, program.site(), bytes, wave);
      for (int step = 1; step < ranks; ++step) {
        const int peer = rank ^ step;
        for (std::int64_t begin = 0; begin < block; begin += wave) {
          const std::int64_t tiles = std::min(wave, block - begin);
          kernel.range(tiles, each.link, copy_demand).route(graph.route(peer, rank), bytes);
          kernel.wait(made[static_cast<std::size_t>(peer)][static_cast<std::size_t>(step)],
                      static_cast<std::uint64_t>(begin + tiles));
          // Reading the sum back is the adding warp's business.
          kernel.range(tiles, each.ask, copy_demand)
              .memory(program.memory(rank), fused ? bytes * 2 : bytes);
        }
      }
      launch_product(graph, rank, label, kernel.id());
      if (!fused) {
        graph.add(rank, graph.compute(rank), graph.shard_bytes(rank) * (ranks + 1), ranks - 1);
      }
    }
  }

  // With a fused reduction a tile is added at its owner as it is stored; else it lands in a slot.
  static void push(GraphWriter& graph, std::string_view label, bool fused) {
    const int ranks = graph.ranks();
    const RankSignals done = graph.signals();
    for (int rank = 0; rank < ranks; ++rank) {
      const ProductShape shape;
      const GemmCost cost = *cost_of(graph.view(), graph.program().site(), rank);
      const std::int64_t block = cost.tiles / ranks;
      std::vector<ProductPart> parts;
      for (int step = 1; step <= ranks; ++step) {
        const int owner = rank ^ (step % ranks);
        ProductPart part{graph.shard_rows(owner), block, {}, {}, false, {}};
        if (owner != rank) {
          part.stores = {{graph.route(rank, owner), tile_bytes(graph.view(), part.rows, block)}};
        }
        parts.push_back(part);
      }
      const sim::KernelWriter kernel = write_flagged(graph, rank, label, shape, cost, parts);
      launch_product(graph, rank, label, kernel.id());
      graph.barrier(rank, graph.compute(rank), done, ranks - 1);
      if (fused) continue;
      graph.add(rank, graph.compute(rank), graph.shard_bytes(rank) * (ranks + 1), ranks - 1);
    }
  }

  // Rank r sends the sum for owner r-1 first and adds its own part to each sum that comes from r-1.
  static void ring(GraphWriter& graph, std::string_view label) {
    const int ranks = graph.ranks();
    std::vector<RankSignals> made, arrived;  // [step][rank]
    for (int step = 0; step < ranks; ++step) {
      made.push_back(graph.signals());
      arrived.push_back(graph.signals());
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const sim::StreamId main = graph.compute(rank), side = graph.communication(rank);
      std::vector<ProductPart> parts;
      for (int step = 0; step < ranks; ++step) {
        parts.push_back({graph.shard_rows(graph.peer(rank, -1 - step)),
                         0,
                         {},
                         {add_one(made[static_cast<std::size_t>(step)][at])}});
      }
      launch_rows(graph, rank, label, {}, parts, false);
      for (int step = 0; step < ranks; ++step) {
        const auto index = static_cast<std::size_t>(step);
        const int owner = graph.peer(rank, -1 - step), next = graph.peer(rank, 1);
        graph.wait(rank, side, made[index][at], 1, step);
        if (step > 0) {
          graph.wait(rank, side, arrived[index][at], 1, step);
          graph.add(rank, side, graph.shard_bytes(owner) * 3, step);
        }
        if (step + 1 == ranks) break;
        graph.copy(rank, side, rank, next, graph.shard_bytes(owner), step);
        graph.post(rank, side, arrived[index + 1][static_cast<std::size_t>(next)], step);
      }
      graph.join(rank, main, side, ranks - 1);
    }
  }
};

const Registration flux_gemm_rs(std::make_unique<FluxGemmRs>());

}  // namespace
}  // namespace weft::model
