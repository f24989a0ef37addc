// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/multiplier.hpp"

#include <stdexcept>

#include "kernels/shapes/table.hpp"
#include "kernels/sm90/gemm.hpp"

namespace weft::kernels {
namespace {

calibration::Kernel describe(const LibraryKernel& seen) {
  calibration::Kernel kernel;
  kernel.name = seen.name.empty() ? "cublaslt" : seen.name;
  if (seen.tile_rows > 0) {
    kernel.tile = {seen.tile_rows, seen.tile_columns, seen.tile_depth};
    kernel.cluster = {seen.cluster_rows, seen.cluster_columns};
  }
  kernel.stages = seen.stages;
  kernel.split_k = seen.split_k;
  kernel.grid = seen.grid;
  kernel.threads = seen.threads;
  return kernel;
}

Multiplier by_library(Stage& stage, int rank, const Operands& operands, const GemmChoice& choice) {
  const int sms = (choice.sms > 0 ? choice.sms : stage.memory().sms(rank)) - choice.margin;
  const Stage::Proposal& proposal =
      stage.propose(rank, {operands.m, operands.n, operands.k, sms}, choice.proposal, operands.x,
                    operands.w, operands.y);
  const CublasLt* library = &stage.library();
  Multiplier made;
  made.kernel = describe(proposal.kernel);
  made.run = [library, gemm = proposal.gemm, operands](cudaStream_t on) {
    library->run(*gemm, operands.x, operands.w, operands.y, on);
  };
  return made;
}

}  // namespace

calibration::Kernel describe(int tile, int grid, std::string_view name, Scheduler scheduler) {
  const shapes::Tile& shape = shapes::tiles.at(static_cast<std::size_t>(tile));
  calibration::Kernel kernel;
  kernel.name = std::string(name) + (scheduler == Scheduler::counter ? "/counter" : "");
  kernel.tile = {shape.m(), shape.n(), shapes::Tile::k()};
  kernel.cluster = {shape.cluster_m, shape.cluster_n};
  kernel.stages = shape.stages;
  kernel.split_k = shape.parts();
  kernel.grid = grid;
  kernel.threads = shape.threads();
  return kernel;
}

Multiplier make_multiplier(Stage& stage, int rank, const Operands& operands,
                           const GemmChoice& choice) {
  if (operands.m == 0) return {[](cudaStream_t) {}, {}};
  stage.memory().enter(rank);
  if (choice.library == "cublaslt") return by_library(stage, rank, operands, choice);
  if (choice.library != "weft") throw std::invalid_argument("no library " + choice.library);
  Options options;
  options.tile = choice.tile;
  options.sms = choice.sms > 0 ? choice.sms : stage.memory().sms(rank);
  options.margin = choice.margin;
  options.scheduler = choice.scheduler;
  const Product product{static_cast<int>(operands.m),
                        static_cast<int>(operands.n),
                        static_cast<int>(operands.k),
                        operands.x,
                        0,
                        operands.w,
                        0};
  const Plan plan = plan_gemm(product, {operands.y, 0}, options, stage.workspace(rank));
  return {[plan](cudaStream_t stream) { plan.launch(stream); },
          describe(plan.tile(), plan.grid(), plan.name(), choice.scheduler)};
}

}  // namespace weft::kernels
