// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/interrupt.hpp"

#include <csignal>

namespace weft::tool {
namespace {

// The only state of the program that a signal handler may touch.
volatile std::sig_atomic_t came = 0;

void on_signal(int signal) {
  came = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupted() {
  return came != 0;
}

}  // namespace weft::tool
