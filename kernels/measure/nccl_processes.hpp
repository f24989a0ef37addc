// SPDX-License-Identifier: Apache-2.0
// NCCL between processes that share a GPU: ranks of this program, each a process with a host of its own
// in NCCL's eyes, so that real NCCL kernels, over loopback sockets, run beside each other and a product.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/measure/bring_up.hpp"
#include "kernels/measure/mps.hpp"
#include "kernels/measure/rank_processes.hpp"
#include "kernels/measure/suite.hpp"

namespace weft::kernels {

/// The back end's name in suites and samples.
inline constexpr std::string_view kNcclProcesses = "nccl_processes";

/// How long the ranks may take; a rank itself gives up, and says so, in half the time.
struct RankPatience {
  std::chrono::milliseconds join{180'000};
  std::chrono::milliseconds run{90'000};
};

/// What a rank is told to run: a case of a suite of `kind`.
struct RankTask {
  std::string kind;
  calibration::Case what;
  int warm_up = 0;
  int repetitions = 1;
  std::int64_t expected_ns = 0;  ///< of the product alone, for the traffic beside it
  std::int64_t patience_ms = 0;  ///< after which the rank gives up

  /// The line that tells it, and back; throws config::ConfigErrors or std::invalid_argument.
  std::string line() const;
  static RankTask parse(const std::string& line);
};

/// Groups of such ranks, started when they are needed, ended after a failure.
class NcclProcesses {
 public:
  /// `command` starts a rank; without `with_service` nothing is started beside the ranks.
  NcclProcesses(std::vector<std::string> command, bool with_service, RankPatience patience = {});

  /// Measures every case of a job; a case whose ranks failed is a refusal that names the rank.
  JobResult run(const Job& job);
  /// Proves every collective right between `ranks` processes.
  Verdicts prove(int ranks);

 private:
  RankProcesses& group(int ranks);
  calibration::Sample run_one(const Job& job, const calibration::Case& what,
                              std::int64_t expected_ns);

  std::vector<std::string> command_;
  bool with_service_;
  RankPatience patience_;
  std::unique_ptr<MpsService> service_;
  std::unique_ptr<RankProcesses> group_;
  std::map<int, std::string> refused_;  ///< by ranks: why no group of them comes to be
};

}  // namespace weft::kernels
