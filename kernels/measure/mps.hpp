// SPDX-License-Identifier: Apache-2.0
// The service that lets kernels of several processes run on one GPU at the same time (MPS). Without it
// processes take turns, and what one measures beside the other is the turns.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::kernels {

/// A service of our own, which ends with its owner; its settings of the GPU are none.
class MpsService {
 public:
  /// Starts it in `folder`, which is made; throws std::runtime_error that says what kept it from starting.
  explicit MpsService(std::filesystem::path folder,
                      std::string control = "nvidia-cuda-mps-control");
  ~MpsService();
  MpsService(const MpsService&) = delete;
  MpsService& operator=(const MpsService&) = delete;

  /// What a process has in its environment in order to be its client.
  std::vector<std::string> environment() const;
  /// True where the control program is on the path.
  static bool here(const std::string& control = "nvidia-cuda-mps-control");

 private:
  /// Runs a command of the shell with our environment, for as long as a service may take; its status.
  int shell(const std::string& command) const;

  std::filesystem::path folder_;
  std::string control_;
};

}  // namespace weft::kernels
