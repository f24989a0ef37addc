// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/published/pk_rules.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/schedules/published/nccl_carrier.hpp"

namespace weft::model {

namespace {

constexpr std::int64_t tile_columns = 256;  // COL_BLOCK
constexpr std::int64_t k_step = 64;         // RED_BLOCK
constexpr std::int64_t stages = 4;          // PIPELINE_STAGES
constexpr std::int64_t threads = 3 * 128;   // two consumer warp groups and a producer
constexpr std::int64_t registers = 65536 / threads / 8 * 8;  // 40 and 232: a whole SM
constexpr Bytes shared_memory = Bytes::from(227 * 1024);     // MAX_SHARED_MEMORY

GemmTile tile_of_kernels() {
  GemmTile tile;
  tile.tile_m = pk_tile_rows;
  tile.tile_n = tile_columns;
  tile.tile_k = k_step;
  tile.stages = stages;
  tile.threads = threads;
  tile.registers_per_thread = registers;
  tile.shared_memory = shared_memory;
  return tile;
}

}  // namespace

void pk_rules(const FusedView& view, const Site& site, std::int64_t rows, Rules& broken) {
  require(broken, view.collective.group == pk_ranks && site.group.nodes == 1,
          fmt::format(
              "the kernels are compiled for NUM_DEVICES = 8 of one node, and these are {} on {}",
              view.collective.group, site.group.nodes));
  require(broken, site.fabric.switch_reduces,
          "the kernels address a switch that multicasts and reduces, and these ranks have none");
  require(broken, architecture_number(site) == 90,
          fmt::format("the kernels are for Hopper (sm_90a), and this is {}",
                      site.profile.gpu.architecture));
  require(broken, view.work.x.element == DType::bf16 && view.work.y.element == DType::bf16,
          fmt::format("the kernels multiply bf16, and this is {}", name_of(view.work.x.element)));
  const MatmulShape& shape = view.work.rank;
  require(broken, shape.m % rows == 0,
          fmt::format("M must divide by {} (ROW_BLOCK x NUM_DEVICES), and is {}", rows, shape.m));
  require(broken, shape.n % tile_columns == 0 && shape.k % (stages * k_step) == 0,
          fmt::format("N must divide by COL_BLOCK = {} and K by four RED_BLOCKs = {}, and they are "
                      "{} and {}",
                      tile_columns, stages * k_step, shape.n, shape.k));
}

GemmCost pk_cost(const FusedView& view, const Site& site, int margin, int rank) {
  const GemmProblem problem{view.work.rank.m,    view.work.rank.n,    view.work.rank.k,
                            view.work.x.element, view.work.y.element, GemmLibrary::ours};
  return gemm_cost(site.profile, problem, site.sms(rank, margin), tile_of_kernels());
}

Duration pk_work(const FusedView& view, const Site& site, int margin) {
  const GemmCost cost = pk_cost(view, site, margin);
  const std::int64_t at_once = std::max<std::int64_t>({1, cost.resident, site.sms(0).sms()});
  return Duration::from_ps(narrow(Int128{cost.tile_time().ps()} * cost.tiles / at_once));
}

KnobSpec PkSwitchKernel::comm_sms(std::string meaning, std::vector<KnobValue> counts,
                                  std::int64_t usual) {
  return {"num_comm_sms", std::move(meaning), std::move(counts), usual, "num_comm_sms"};
}

int PkSwitchKernel::senders(const Knobs& knobs) {
  return static_cast<int>(knobs.count("num_comm_sms"));
}

std::int64_t PkSwitchKernel::sms_left_free(const Knobs& knobs, const Site&) const {
  return senders(knobs);
}

void PkSwitchKernel::rules(const FusedView& view, const Knobs&, const Site& site,
                           Rules& broken) const {
  pk_rules(view, site, rows_divide_by(), broken);
}

std::vector<Transfer> PkSwitchKernel::moves(const FusedView& view, const Knobs&,
                                            const Site& site) const {
  return part_transfers(view, site, CollectiveAlgorithm::nvls, {0, view.collective.extent.columns},
                        0);
}

Duration PkSwitchKernel::compute_bound(const FusedView& view, const Knobs& knobs,
                                       const Site& site) const {
  return pk_work(view, site, senders(knobs));
}

sim::KernelWriter PkSwitchKernel::begin(GraphWriter& graph, std::string_view label,
                                        const GemmCost& cost, int senders) {
  LayerProgram& program = graph.program();
  sim::KernelWriter kernel =
      program.builder().kernel(label, static_cast<int>(cost.resident) + senders);
  kernel.footprint(cost.footprint).prologue(program.beyond_launch(cost.start));
  return kernel;
}

void PkSwitchKernel::multiply(GraphWriter& graph, int rank, const GemmCost& cost,
                              const std::vector<ProductPart>& parts, sim::KernelWriter& kernel) {
  constexpr int waiting_issue_milli = 10;  // one polling thread: a hundredth of an SM
  kernel.role(sim::Purpose::compute, sim::TileOrder::static_shares, static_cast<int>(cost.resident))
      .spin(waiting_issue_milli);
  write_parts(graph, rank, cost, parts, kernel);
}

Duration pk_move_time(const Site& site, Bytes bytes) {
  return bytes / site.profile.sm_copy(CopyPath::to_peer).per_cta.value;
}

}  // namespace weft::model
