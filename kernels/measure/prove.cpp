// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/prove.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/measure/collective_case.hpp"
#include "kernels/measure/cut.hpp"
#include "kernels/measure/runner.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;

/// Rows, columns and depth that no tile divides; fewer rows than ranks leave owners empty.
constexpr calibration::Shape kShapes[] = {
    {1, 264, 200}, {7, 520, 264}, {129, 776, 328}, {1'000, 1'032, 520}, {2'048, 1'280, 1'024}};

std::string text(const Case& what) {
  std::string line = what.operation + " by " + what.library + ", " + what.schedule;
  if (what.shape)
    line += " [" + std::to_string(what.shape->m) + ", " + std::to_string(what.shape->n) + ", " +
            std::to_string(what.shape->k) + "]";
  if (!what.variant.empty()) line += ", " + what.variant;
  if (what.chunks) line += ", " + std::to_string(*what.chunks) + " chunks";
  return line + ", moved by " + what.transport;
}

class Prover {
 public:
  explicit Prover(Stage& stage) : stage_(stage) {}

  void boundaries(const std::string& operation, const std::string& library) {
    for (const calibration::Shape& shape : kShapes) {
      stage_.reset();
      GemmChoice choice;
      choice.library = library;
      const auto boundary = operation == "ag_gemm"
                                ? make_gather_case(stage_, shape, choice)
                                : make_scatter_case(stage_, shape, choice, operation);
      Case what;
      what.operation = operation;
      what.library = library;
      what.shape = shape;
      what.figure = "C";
      what.schedule = "serial";
      for (const char* transport : {"copy_engine", "sm", "library"}) {
        what.transport = transport;
        what.ctas = 4;
        if (what.transport == "library" && !nccl_serves(operation, shape)) continue;
        note(what, [&] { return boundary->check(work_of(*boundary, what)); });
      }
      what.figure = "D";
      for (const char* schedule : {"chunked", "device_flag"})
        for (const char* transport : {"copy_engine", "sm"})
          for (const int chunks : {1, 3}) {
            what.schedule = schedule;
            what.transport = transport;
            what.chunks = chunks;
            what.margin = what.transport == "sm" ? 4 : 0;
            if (what.schedule == "device_flag" && !flags_serve(library, what.transport)) continue;
            for (const char* variant : {"", "epilogue"}) {
              what.variant = variant;
              const bool sums = operation == "gemm_rs" || operation == "gemm_ar";
              if (*variant != '\0' && !(sums && what.schedule == "device_flag")) continue;
              note(what, [&] { return boundary->check(work_of(*boundary, what)); });
            }
            what.variant = "";
          }
    }
  }

  void collectives() {
    for (const char* operation : {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"})
      for (const char* transport : {"sm", "copy_engine", "library"})
        for (const std::int64_t bytes : {std::int64_t{4'096}, std::int64_t{3} << 20}) {
          Case what;
          what.operation = operation;
          what.transport = transport;
          what.library = what.transport == "library" ? "nccl" : "weft";
          what.schedule = std::to_string(bytes) + " bytes";
          what.bytes = bytes;
          what.ctas = 4;
          const bool reduces = what.operation.find("reduce") != std::string::npos;
          if (what.transport == "copy_engine" && reduces) continue;
          if (what.transport == "library" && !nccl_here()) continue;
          stage_.reset();
          note(what, [&] {
            double check = 0;
            static_cast<void>(run_collective(stage_, what, 0, 1, check));
            return check;
          });
        }
  }

  Verdicts verdicts() { return found_; }

 private:
  bool nccl_here() const { return stage_.memory().backend() == Backend::peer_gpus; }
  bool nccl_serves(const std::string& operation, const calibration::Shape& shape) const {
    return nccl_here() && operation != "gemm_a2a" && shape.m % stage_.memory().ranks() == 0;
  }
  /// Only kernels of our own know flags; inside one device copies may need the SMs of who waits for them.
  bool flags_serve(const std::string& library, const std::string& transport) const {
    return library == "weft" &&
           !(stage_.memory().backend() == Backend::virtual_ranks && transport == "copy_engine");
  }
  template <class Check>
  void note(const Case& what, const Check& check) {
    try {
      found_.worst = std::max(found_.worst, check());
      ++found_.right;
    } catch (const std::exception& error) {
      found_.wrong.push_back(text(what) + ": " + error.what());
    }
  }

  Stage& stage_;
  Verdicts found_;
};

}  // namespace

Verdicts prove(Stage& stage) {
  Prover prover(stage);
  for (const char* operation : {"ag_gemm", "gemm_rs", "gemm_ar", "gemm_a2a"}) {
    prover.boundaries(operation, "weft");
    prover.boundaries(operation, "cublaslt");
  }
  prover.collectives();
  return prover.verdicts();
}

}  // namespace weft::kernels
