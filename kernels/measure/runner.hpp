// SPDX-License-Identifier: Apache-2.0
// Runs jobs on stages that it sets up as they are needed, and turns times into samples.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/measure/bring_up.hpp"
#include "kernels/measure/conditions.hpp"
#include "kernels/measure/cut.hpp"
#include "kernels/measure/prove.hpp"
#include "kernels/measure/stage.hpp"
#include "kernels/measure/suite.hpp"

namespace weft::kernels {

/// Measures on the GPUs of this machine.
class Runner {
 public:
  Runner();
  /// One rank of processes that `joined` holds together; it must outlive the runner.
  Runner(const NcclGroup& joined, int rank, int ranks);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Measures every case of a job.
  JobResult run(const Job& job);
  /// Proves the kernels right on a group of ranks.
  Verdicts prove(const Proof& proof);
  /// The GPUs here and which of them address each other.
  static MachineView view();
  /// What this machine is; the program fills in its name, start and commit.
  calibration::Run machine() const;

 private:
  struct Group;
  Stage& stage_for(const calibration::Case& what);
  void run_boundary(Stage& stage, const Job& job, JobResult& result);
  void run_gemm(Stage& stage, const Job& job, JobResult& result);
  void run_interference(Stage& stage, const Job& job, JobResult& result);
  void run_single(Stage& stage, const Job& job, JobResult& result);
  calibration::Sample sample_of(const calibration::Case& what, const Times& times) const;

  const NcclGroup* joined_ = nullptr;
  int rank_ = 0;
  int ranks_ = 0;
  std::unique_ptr<CublasLt> library_;
  std::unique_ptr<Nccl> nccl_;
  std::unique_ptr<ConditionWatch> watch_;
  std::unique_ptr<Stage> stage_;
  std::string stage_name_;
};

/// The work of one cell of a boundary; throws std::invalid_argument where there is none such.
Enqueue work_of(BoundaryCase& boundary, const calibration::Case& what);

/// The knobs that a case names.
Cut cut_of(const calibration::Case& what);

}  // namespace weft::kernels
