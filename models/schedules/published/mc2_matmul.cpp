// SPDX-License-Identifier: Apache-2.0
// Ascend MC2: a product of the AI cores and a collective of the HCCL server, which runs turn t of the communication
// while the cores compute turn t-1 (or t+1). Turns cut M; the local block of an all-gather comes first. A turn of an
// all-reduce scatters its sums, meets and gathers them before the next turn does. The server is an engine of its own (a
// CCU; an AICPU that drives SDMA before): no AI core communicates.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/beside.hpp"
#include "models/schedules/graph_writer.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

struct Mc2Form {
  std::string name;
  std::string api;
  CollectiveOp op;
  std::string what;
};

class Mc2Matmul final : public PairSchedule {
 public:
  explicit Mc2Matmul(const Mc2Form& form) : op_(form.op) {
    using std::int64_t;
    info_ = {
        .name = form.name,
        .system = "Ascend MC2",
        .summary = form.what + " in turns of M between the AI cores and the HCCL server",
        .citation = "hiascend.com, aclnn" + form.api + "; gitcode.com/cann/ops-transformer",
        .knobs = {{"turns",
                   "turns that M is cut into; the API takes commTurn 0 only and cuts by its tiling",
                   {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{8}},
                   int64_t{4},
                   "commTurn"}},
        .applies_to = form.what + " on Ascend",
        .order = "turns of M, sliced from every rank's rows; the local block first (all-gather)",
        .edges = "messages between the cores and the HCCL server, as events",
        .resources = "the HCCL server (CCU, or AICPU and SDMA); all AI cores compute",
        .buffers = "the gathered or partial rows in the communication window",
        .rules = {"Ascend", "2, 4 or 8 ranks", "fp16 or bf16, two dimensions, x1 not transposed",
                  "gatherIndex 0"}};
  }
  const ScheduleInfo& info() const override { return info_; }

  bool overlaps(const Boundary& boundary, const Knobs& knobs, const Site&) const override {
    return knobs.count("turns") > 1 || has_independent_work(boundary) ||
           FusedView(boundary, *fused_pair(boundary)).gathers;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {op_}; }
  bool runs_on(std::string_view architecture) const override {
    return architecture.starts_with("ascend");
  }
  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    require_engines(broken, site);
    const int ranks = view.collective.group;
    require(broken, ranks == 2 || ranks == 4 || ranks == 8,
            fmt::format("MC2 takes 2, 4 or 8 ranks, and these are {}", ranks));
    require(broken, site.group.nodes == 1,
            fmt::format("the HCCL server reaches the ranks of one node, and these are on {}",
                        site.group.nodes));
    const DType type = view.work.x.element;
    require(broken, type == DType::fp16 || type == DType::bf16,
            fmt::format("MC2 takes fp16 or bf16, and this is {}", name_of(type)));
    require(broken, knobs.count("turns") <= rows_of_owner(view, 0).rows(),
            fmt::format("{} turns of {} rows of a rank leave turns empty", knobs.count("turns"),
                        rows_of_owner(view, 0).rows()));
  }
  std::vector<Transfer> moves(const FusedView& view, const Knobs& knobs,
                              const Site&) const override {
    const ChunkPlan plan = turns(view, knobs);
    std::vector<Transfer> all = direct_transfers(view, plan);
    if (op_ != CollectiveOp::all_reduce) return all;
    // Sums go back turn by turn, not once all turns are in.
    std::erase_if(all, [](const Transfer& each) { return each.kind == Transfer::Kind::gather; });
    for (int turn = 0; turn < plan.size(); ++turn) {
      for (const Piece& piece : plan.pieces(0, turn)) {
        for (int to = 0; to < plan.ranks(); ++to) {
          if (to == piece.owner) continue;
          all.push_back({Transfer::Kind::gather, piece.owner, to, view.block(piece), {}, turn, 1});
        }
      }
    }
    return all;
  }
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const ChunkPlan plan = turns(view, knobs);
    const bool both_ways = view.collective.op == CollectiveOp::all_reduce;
    const RankSignals ready = graph.signals(), done = graph.signals();
    std::vector<RankSignals> summed;  // [turn]: every rank's part of its rows is in
    for (int turn = 0; both_ways && turn < plan.size(); ++turn) summed.push_back(graph.signals());
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      const sim::StreamId cores = graph.compute(rank), server = graph.communication(rank);
      graph.barrier(rank, server, ready);
      if (view.gathers) graph.product(rank, cores, {graph.shard_rows(rank)}, 0);
      for (int turn = 0; turn < plan.size(); ++turn) {
        if (view.gathers) {
          communicate(graph, plan, rank, turn);
          graph.join(rank, cores, server, turn);
          graph.product(rank, cores, {rows_of(view, plan, rank, turn)}, turn);
        } else {
          graph.product(rank, cores, {rows_of(view, plan, rank, turn)}, turn);
          graph.join(rank, server, cores, turn);
          communicate(graph, plan, rank, turn);
          // The server adds as it writes; a turn's sums go back under the next turn's product.
          if (!both_ways) continue;
          graph.barrier(rank, server, summed[static_cast<std::size_t>(turn)], turn);
          bring(graph, plan, rank, turn);
        }
      }
      graph.barrier(rank, server, done, plan.size() - 1);
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs& knobs,
                         const Site& site) const override {
    const ChunkPlan plan = turns(view, knobs);
    Duration work;
    for (int turn = 0; turn < plan.size(); ++turn) {
      work += tile_work(view, rows_of(view, plan, 0, turn), view.work.rank.n, GemmLibrary::cublaslt,
                        0, site);
    }
    return work;
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return whole_bytes(view);
  }

 private:
  static constexpr sim::EngineKind server_kind = sim::EngineKind::ccu;

  static ChunkPlan turns(const FusedView& view, const Knobs& knobs) {
    return view.plan(static_cast<int>(knobs.count("turns")), ChunkOrder::sliced);
  }
  // Rows that the cores compute in a turn: those that come (all-gather), all that leave, or its own (all-to-all).
  static std::int64_t rows_of(const FusedView& view, const ChunkPlan& plan, int rank, int turn) {
    std::int64_t rows = 0;
    for (const Piece& piece : plan.pieces(rank, turn)) {
      const bool own = piece.owner == rank;
      if (view.gathers ? !own : view.collective.op != CollectiveOp::all_to_all || own)
        rows += piece.rows.rows();
    }
    return rows;
  }
  static void communicate(GraphWriter& graph, const ChunkPlan& plan, int rank, int turn) {
    const FusedView& view = graph.view();
    const sim::StreamId server = graph.communication(rank);
    for (const Piece& piece : plan.pieces(rank, turn)) {
      if (view.collective.op == CollectiveOp::all_to_all) {
        if (piece.owner != rank) continue;
        for (int step = 1; step < graph.ranks(); ++step) {
          const int to = graph.peer(rank, step);
          graph.copy(rank, server, rank, to, view.bytes(view.exchanged(rank, piece.rows, to)), turn,
                     server_kind);
        }
      } else if (!view.gathers && piece.owner != rank) {
        graph.copy(rank, server, rank, piece.owner, view.bytes(view.block(piece)), turn,
                   server_kind);
      }
    }
    if (view.gathers) bring(graph, plan, rank, turn);
  }
  // What the rank needs of a turn's rows, from their owners.
  static void bring(GraphWriter& graph, const ChunkPlan& plan, int rank, int turn) {
    for (const Piece& piece : plan.pieces(rank, turn)) {
      if (piece.owner == rank) continue;
      graph.copy(rank, graph.communication(rank), piece.owner, rank,
                 graph.view().bytes(graph.view().block(piece)), turn, server_kind);
    }
  }

  ScheduleInfo info_;
  CollectiveOp op_;
};

const Registration mc2_gather(std::make_unique<Mc2Matmul>(Mc2Form{
    "mc2.all_gather_matmul", "AllGatherMatmul", CollectiveOp::all_gather, "all-gather + product"}));
const Registration mc2_scatter(std::make_unique<Mc2Matmul>(Mc2Form{
    "mc2.matmul_reduce_scatter", "MatmulReduceScatter", CollectiveOp::reduce_scatter,
    "product + reduce-scatter"}));
const Registration mc2_reduce(std::make_unique<Mc2Matmul>(Mc2Form{
    "mc2.matmul_all_reduce", "MatmulAllReduce", CollectiveOp::all_reduce, "product + all-reduce"}));
const Registration mc2_exchange(std::make_unique<Mc2Matmul>(Mc2Form{
    "mc2.matmul_all_to_all", "MatmulAlltoAll", CollectiveOp::all_to_all, "product + all-to-all"}));

}  // namespace
}  // namespace weft::model
