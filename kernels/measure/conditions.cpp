// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/conditions.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <dlfcn.h>
#include <mutex>
#include <thread>

#include <cuda_runtime.h>

namespace weft::kernels {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(10);
constexpr std::size_t kKept = 1 << 16;

// NVML's C interface (nvml.h of the CUDA toolkit), as far as it is used here.
using NvmlDevice = struct nvmlDevice_st*;
enum NvmlClock : unsigned int { kSmClock = 1, kMemoryClock = 2 };
struct Nvml {
  int (*init)() = nullptr;
  int (*handle)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, unsigned int, unsigned int*) = nullptr;
  int (*power)(NvmlDevice, unsigned int*) = nullptr;
  int (*temperature)(NvmlDevice, unsigned int, unsigned int*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  int (*driver)(char*, unsigned int) = nullptr;

  bool load() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto find = [library](const char* symbol, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      return function != nullptr;
    };
    return find("nvmlInit_v2", init) && find("nvmlDeviceGetHandleByPciBusId_v2", handle) &&
           find("nvmlDeviceGetClockInfo", clock) && find("nvmlDeviceGetPowerUsage", power) &&
           find("nvmlDeviceGetTemperature", temperature) &&
           find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons) &&
           find("nvmlSystemGetDriverVersion", driver) && init() == 0;
  }
};

struct Reason {
  std::uint64_t bit;
  const char* name;
  bool spoils;
};
// Bits of nvmlClocksEventReasons (NVML reference), in the order of their names.
constexpr std::array<Reason, 7> kReasons{{{0x80, "hw_power_brake", true},
                                          {0x08, "hw_slowdown", true},
                                          {0x40, "hw_thermal", true},
                                          {0x04, "sw_power_cap", false},
                                          {0x20, "sw_thermal", true},
                                          {0x10, "sync_boost", false},
                                          {0x100, "display_clocks", false}}};

}  // namespace

std::vector<std::string> throttle_names(std::uint64_t mask) {
  std::vector<std::string> names;
  for (const Reason& reason : kReasons)
    if ((mask & reason.bit) != 0) names.emplace_back(reason.name);
  std::sort(names.begin(), names.end());
  return names;
}

bool spoils_a_time(std::uint64_t mask) {
  return std::any_of(kReasons.begin(), kReasons.end(), [mask](const Reason& reason) {
    return reason.spoils && (mask & reason.bit) != 0;
  });
}

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct ConditionWatch::State {
  Nvml nvml;
  NvmlDevice device = nullptr;
  std::string driver;
  mutable std::mutex mutex;
  std::vector<Reading> readings;
  std::jthread thread;

  Reading read() const {
    Reading reading;
    unsigned int value = 0;
    if (nvml.clock(device, kSmClock, &value) == 0) reading.sm_mhz = static_cast<int>(value);
    if (nvml.clock(device, kMemoryClock, &value) == 0) reading.memory_mhz = static_cast<int>(value);
    if (nvml.power(device, &value) == 0) reading.power_w = static_cast<int>(value / 1000);
    if (nvml.temperature(device, 0, &value) == 0) reading.temperature_c = static_cast<int>(value);
    unsigned long long reasons = 0;
    if (nvml.reasons(device, &reasons) == 0) reading.throttle = reasons;
    reading.at_ns = steady_ns();
    return reading;
  }
  void watch(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Reading reading = read();
      {
        const std::lock_guard lock(mutex);
        if (readings.size() == kKept)
          readings.erase(readings.begin(), readings.begin() + kKept / 2);
        readings.push_back(reading);
      }
      std::this_thread::sleep_for(kPeriod);
    }
  }
};

ConditionWatch::ConditionWatch(int device) : state_(std::make_unique<State>()) {
  std::array<char, 64> bus{};
  if (cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device) != cudaSuccess)
    return;
  if (!state_->nvml.load() || state_->nvml.handle(bus.data(), &state_->device) != 0) return;
  std::array<char, 96> version{};
  if (state_->nvml.driver(version.data(), static_cast<unsigned int>(version.size())) == 0)
    state_->driver = version.data();
  State* state = state_.get();
  state->thread = std::jthread([state](const std::stop_token& stop) { state->watch(stop); });
}

ConditionWatch::~ConditionWatch() {
  if (state_->thread.joinable()) {
    state_->thread.request_stop();
    state_->thread.join();
  }
}

std::vector<Reading> ConditionWatch::between(std::int64_t from_ns, std::int64_t to_ns) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Reading> found;
  const auto& all = state_->readings;
  const auto before = [](const Reading& reading, std::int64_t at) { return reading.at_ns < at; };
  auto first = std::lower_bound(all.begin(), all.end(), from_ns, before);
  if (first != all.begin() && (first == all.end() || first->at_ns > to_ns)) --first;
  for (; first != all.end() && first->at_ns <= to_ns; ++first) found.push_back(*first);
  return found;
}

std::string ConditionWatch::driver_version() const {
  return state_->driver;
}

}  // namespace weft::kernels
