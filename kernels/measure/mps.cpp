// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/mps.hpp"

#include <cstdlib>
#include <stdexcept>
#include <sys/wait.h>
#include <utility>

namespace weft::kernels {
namespace {

/// Seconds that the control program may take for one command.
constexpr int kPatience = 20;

int status_of(const std::string& command) {
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

bool MpsService::here(const std::string& control) {
  return status_of("command -v '" + control + "' >/dev/null 2>&1") == 0;
}

std::vector<std::string> MpsService::environment() const {
  return {"CUDA_MPS_PIPE_DIRECTORY=" + folder_.string(),
          "CUDA_MPS_LOG_DIRECTORY=" + folder_.string()};
}

int MpsService::shell(const std::string& command) const {
  std::string line;
  for (const std::string& setting : environment()) line += "export '" + setting + "'; ";
  return status_of(line + command);
}

MpsService::MpsService(std::filesystem::path folder, std::string control)
    : folder_(std::move(folder)), control_(std::move(control)) {
  if (!here(control_))
    throw std::runtime_error(control_ +
                             " is not on the path: kernels of two processes would take turns");
  std::filesystem::create_directories(folder_);
  const std::string bound = "timeout " + std::to_string(kPatience) + " '" + control_ + "' ";
  if (const int status = shell(bound + "-d >/dev/null 2>&1"); status != 0)
    throw std::runtime_error(control_ + " -d ended with status " + std::to_string(status) +
                             "; its log is in " + folder_.string());
  if (shell("echo get_server_list | " + bound + ">/dev/null 2>&1") != 0) {
    static_cast<void>(shell("echo quit | " + bound + ">/dev/null 2>&1"));
    throw std::runtime_error(control_ + " does not answer; its log is in " + folder_.string());
  }
}

MpsService::~MpsService() {
  static_cast<void>(shell("echo quit | timeout " + std::to_string(kPatience) + " '" + control_ +
                          "' >/dev/null 2>&1"));
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace weft::kernels
