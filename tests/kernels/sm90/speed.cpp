// SPDX-License-Identifier: Apache-2.0
// How fast the kernels are, on one device: against cuBLASLt's best heuristic on the same SMs, with
// CTAs that become resident late, with flags to look at, and into a host peer's memory. Contestants
// take turns; every figure is a median. Usage: speed_sm90 gemm|margin|tiles|late|gather [TILE]|host
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime.h>

#include "kernels/baseline/cublaslt.hpp"
#include "kernels/memory/check.hpp"
#include "kernels/shapes/choose.hpp"
#include "kernels/sm90/gemm.hpp"
#include "tests/kernels/sm90/blocker.hpp"
#include "tests/kernels/sm90/device.hpp"

namespace weft::kernels::test {
namespace {

struct Extents {
  int m;
  int n;
  int k;
};

// Tensor-parallel projections: Llama-3 70B at TP 8 (qkv, output, gate and up, down), 8B at TP 4 and
// 2, 405B at TP 8, Qwen2.5-72B at TP 8, GPT-3 175B at TP 8 and 70B at TP 2 (down).
constexpr std::array<Extents, 24> shapes24{
    {{4'096, 1'280, 8'192},   {4'096, 8'192, 1'024},  {4'096, 7'168, 8'192},
     {4'096, 8'192, 3'584},   {1'024, 7'168, 8'192},  {1'024, 8'192, 3'584},
     {1'024, 1'280, 8'192},   {8'192, 7'168, 8'192},  {8'192, 8'192, 3'584},
     {2'048, 7'168, 4'096},   {2'048, 4'096, 3'584},  {6'144, 4'096, 3'584},
     {2'048, 13'312, 16'384}, {2'048, 16'384, 6'656}, {4'096, 16'384, 2'048},
     {4'096, 7'392, 8'192},   {4'096, 8'192, 3'696},  {6'144, 8'192, 3'696},
     {2'048, 4'608, 12'288},  {2'048, 6'144, 12'288}, {2'048, 12'288, 6'144},
     {1'024, 12'288, 1'536},  {8'192, 14'336, 4'096}, {16'384, 8'192, 14'336}}};

// Few rows, as chunks have them: what the chooser is fitted to besides.
constexpr std::array<Extents, 14> shapes_of_few_rows{{{64, 8'192, 3'584},
                                                      {128, 1'280, 8'192},
                                                      {128, 7'168, 8'192},
                                                      {256, 1'280, 8'192},
                                                      {256, 8'192, 1'024},
                                                      {256, 8'192, 3'584},
                                                      {384, 5'120, 8'192},
                                                      {384, 16'384, 4'096},
                                                      {512, 1'280, 8'192},
                                                      {512, 7'168, 8'192},
                                                      {512, 8'192, 3'584},
                                                      {768, 1'280, 8'192},
                                                      {768, 4'096, 4'096},
                                                      {768, 8'192, 1'024}}};

std::size_t area(int a, int b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Operands for every shape, in up to four sets that together exceed the L2.
class Bench {
 public:
  Bench() : x_(area(16'384, 14'336) * 2), w_(area(16'384, 14'336) * 2), out_(area(16'384, 16'384)) {
    x_.randomise(1);
    w_.randomise(2);
    WEFT_CUDA(cudaEventCreate(&begin_));
    WEFT_CUDA(cudaEventCreate(&end_));
  }
  ~Bench() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  int sets(const Extents& e) const {
    const std::size_t most = std::min({x_.count() / area(e.m, e.k), w_.count() / area(e.n, e.k),
                                       out_.count() / area(e.m, e.n), std::size_t{4}});
    return static_cast<int>(most);
  }
  std::uint16_t* x(const Extents& e, int set) const {
    return x_.data() + static_cast<std::size_t>(set) * area(e.m, e.k);
  }
  std::uint16_t* w(const Extents& e, int set) const {
    return w_.data() + static_cast<std::size_t>(set) * area(e.n, e.k);
  }
  std::uint16_t* out(const Extents& e, int set) const {
    return out_.data() + static_cast<std::size_t>(set) * area(e.m, e.n);
  }
  Product product(const Extents& e, int set) const {
    return {e.m, e.n, e.k, x(e, set), 0, w(e, set), 0};
  }
  cudaStream_t stream() const { return stream_.get(); }
  const Workspace& workspace() const { return workspace_; }

  /// Returns the microseconds of one call of `work`, over `calls` calls back to back.
  double time(int calls, const std::function<void(int)>& work) const {
    WEFT_CUDA(cudaEventRecord(begin_, stream()));
    for (int i = 0; i < calls; ++i) work(i);
    WEFT_CUDA(cudaEventRecord(end_, stream()));
    WEFT_CUDA(cudaEventSynchronize(end_));
    float ms = 0;
    WEFT_CUDA(cudaEventElapsedTime(&ms, begin_, end_));
    return 1e3 * static_cast<double>(ms) / calls;
  }
  /// Returns the medians of contestants that take turns, after one round of warming up. Each round begins
  /// with another one, so that none keeps step with how the device rations its power.
  std::vector<double> compete(int rounds, int calls,
                              const std::vector<std::function<void(int)>>& contestants) const {
    std::vector<std::vector<double>> times(contestants.size());
    for (int round = 0; round <= rounds; ++round)
      for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
        const std::size_t i = (turn + static_cast<std::size_t>(round)) % contestants.size();
        const double us = time(calls, contestants[i]);
        if (round > 0) times[i].push_back(us);
      }
    std::vector<double> medians;
    for (auto& each : times) medians.push_back(median(std::move(each)));
    return medians;
  }

 private:
  Bf16 x_;
  Bf16 w_;
  Bf16 out_;
  OwnStream stream_;
  Workspace workspace_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// Returns calls that fill about two milliseconds.
int calls_for(const Extents& e) {
  const double us = 2e-6 * e.m * e.n * e.k / 700;
  return std::clamp(static_cast<int>(2'000 / us), 2, 8);
}

/// The best of cuBLASLt's heuristics for a shape and SM count, by a first run of each.
std::function<void(int)> library(const Bench& bench, const CublasLt& lt, const Extents& e,
                                 int sms) {
  const auto proposals = lt.propose({e.m, e.n, e.k, sms}, 8);
  if (proposals.empty()) throw std::runtime_error("cuBLASLt proposes nothing");
  const int sets = bench.sets(e);
  std::vector<std::function<void(int)>> contestants;
  for (const auto& proposal : proposals)
    contestants.push_back([&bench, &lt, e, sets, proposal](int i) {
      lt.run(*proposal, bench.x(e, i % sets), bench.w(e, i % sets), bench.out(e, i % sets),
             bench.stream());
    });
  const std::vector<double> times = bench.compete(3, calls_for(e), contestants);
  return contestants[static_cast<std::size_t>(std::min_element(times.begin(), times.end()) -
                                              times.begin())];
}

std::vector<Plan> plans(const Bench& bench, const Extents& e, const Options& options) {
  std::vector<Plan> made;
  for (int set = 0; set < bench.sets(e); ++set)
    made.push_back(
        plan_gemm(bench.product(e, set), {bench.out(e, set), 0}, options, bench.workspace()));
  return made;
}

std::function<void(int)> launches(const Bench& bench, std::vector<Plan> made, Signal sequence = 1) {
  return [&bench, made = std::move(made), sequence](int i) {
    made[static_cast<std::size_t>(i) % made.size()].launch(bench.stream(), sequence);
  };
}

/// Geometric mean and extremes of ratios.
struct Ratios {
  double logs = 0;
  double least = 1e9;
  double most = 0;
  int count = 0;
  void note(double ratio) {
    logs += std::log(ratio);
    least = std::min(least, ratio);
    most = std::max(most, ratio);
    ++count;
  }
  void print(const char* what) const {
    std::printf("%s: geometric mean %.3f, least %.3f, most %.3f of %d\n", what,
                std::exp(logs / count), least, most, count);
  }
};

std::string tile_name(int tile) {
  return std::string(shapes::tiles[static_cast<std::size_t>(tile)].name);
}

void against_library(const Bench& bench, int sms, bool every_shape) {
  const CublasLt lt;
  Ratios ratios;
  for (std::size_t i = 0; i < shapes24.size(); i += every_shape ? 1 : 3) {
    const Extents& e = shapes24[i];
    Options options;
    options.sms = sms;
    const auto made = plans(bench, e, options);
    const auto us =
        bench.compete(11, calls_for(e), {library(bench, lt, e, sms), launches(bench, made)});
    std::printf("%6d %6d %6d  cuBLASLt %8.1f us %4.0f TFLOP/s  ours %8.1f us  ratio %.3f  %s\n",
                e.m, e.n, e.k, us[0], 2e-6 * e.m * e.n * e.k / us[0], us[1], us[0] / us[1],
                tile_name(made[0].tile()).c_str());
    ratios.note(us[0] / us[1]);
  }
  ratios.print(("cuBLASLt / ours on " + std::to_string(sms == 0 ? 132 : sms) + " SMs").c_str());
}

void late_ctas(const Bench& bench) {
  const OwnStream other;
  Blocker blocker;
  constexpr std::array parts{0.0, 0.25, 0.5, 1.0};
  for (const std::size_t shape : {2u, 3u, 8u, 15u, 22u}) {
    const Extents& e = shapes24[shape];
    std::array<std::array<std::vector<double>, parts.size()>, 2> times;
    std::array<std::function<void(int)>, 2> launch;
    for (const int counter : {0, 1}) {
      Options options;
      options.scheduler = counter == 0 ? Scheduler::static_shares : Scheduler::counter;
      launch[static_cast<std::size_t>(counter)] = launches(bench, plans(bench, e, options));
    }
    const double first = bench.compete(5, 1, {launch[0]})[0];
    // All of them take turns, so that the clock is the same for all.
    for (int round = 0; round < 11; ++round)
      for (std::size_t by = 0; by < 2; ++by)
        for (std::size_t part = 0; part < parts.size(); ++part) {
          if (part > 0)
            blocker.hold(8, static_cast<std::int64_t>(parts[part] * first * 1e3), other.get());
          times[by][part].push_back(bench.time(1, launch[by]));
          WEFT_CUDA(cudaStreamSynchronize(other.get()));
        }
    for (std::size_t by = 0; by < 2; ++by) {
      const double alone = median(times[by][0]);
      std::printf("%6d %6d %6d  %-7s alone %7.1f us, 8 CTAs late by", e.m, e.n, e.k,
                  by == 1 ? "counter" : "static", alone);
      for (std::size_t part = 1; part < parts.size(); ++part)
        std::printf("  %3.0f %%: %.3f", 100 * parts[part], median(times[by][part]) / alone);
      std::printf("\n");
    }
  }
}

/// Every tile on every count of SMs: what the chooser's constants are fitted to.
void every_tile(const Bench& bench) {
  const CublasLt lt;
  std::vector<Extents> shapes(shapes24.begin(), shapes24.end());
  shapes.insert(shapes.end(), shapes_of_few_rows.begin(), shapes_of_few_rows.end());
  for (const int sms : {132, 124, 116, 108, 96, 64})
    for (const Extents& e : shapes) {
      std::vector<std::function<void(int)>> contestants{library(bench, lt, e, sms)};
      for (std::size_t tile = 0; tile < shapes::tiles.size(); ++tile) {
        Options options;
        options.sms = sms;
        options.tile = static_cast<int>(tile);
        contestants.push_back(launches(bench, plans(bench, e, options)));
      }
      const auto us = bench.compete(3, std::max(2, calls_for(e) / 2), contestants);
      std::printf("%d %d %d %d cublaslt %.2f", sms, e.m, e.n, e.k, us[0]);
      for (std::size_t tile = 0; tile < shapes::tiles.size(); ++tile)
        std::printf(" %s %.2f", tile_name(static_cast<int>(tile)).c_str(), us[tile + 1]);
      std::printf("\n");
    }
}

/// With the tile that is named, or the chosen one.
void flags_all_set(const Bench& bench, std::string_view tile) {
  const Words flags(64);
  flags.set(1);
  Ratios ratios;
  Ratios by_chunks;
  for (const Extents& e : shapes24) {
    Options options;
    options.tile =
        tile.empty() ? shapes::choose_tile(e.m, e.n, e.k, 132) : shapes::tile_index(tile).value();
    Gather gather;
    gather.rank = 3;
    gather.ranks = 8;
    gather.chunks_per_shard = 4;
    gather.ready = flags.data();
    const auto gathering = [&](int group_rows) {
      Options ordered = options;
      ordered.group_rows = group_rows;
      std::vector<Plan> made;
      for (int set = 0; set < bench.sets(e); ++set)
        made.push_back(plan_ag_gemm(bench.product(e, set), {bench.out(e, set), 0}, gather, ordered,
                                    bench.workspace()));
      return launches(bench, made);
    };
    const auto us =
        bench.compete(11, calls_for(e),
                      {launches(bench, plans(bench, e, options)), gathering(2'048), gathering(0)});
    std::printf("%6d %6d %6d  gemm %8.1f us  ag_gemm %8.1f us  ratio %.4f  by chunks %.4f\n", e.m,
                e.n, e.k, us[0], us[1], us[1] / us[0], us[2] / us[0]);
    ratios.note(us[1] / us[0]);
    by_chunks.note(us[2] / us[0]);
  }
  by_chunks.print("ag_gemm by chunks with its flags set / gemm");
  ratios.print("ag_gemm with its flags set / gemm");
}

void into_host_memory(const Bench& bench) {
  const Extents e{4'096, 8'192, 3'584};
  const std::size_t half = area(e.m / 2, e.n);
  std::uint16_t* host = nullptr;
  WEFT_CUDA(cudaHostAlloc(&host, half * 2, cudaHostAllocMapped));
  const Words flags(16);
  Signal sequence = 0;
  for (const double pace : {0.0, 53e9, 50e9, 47e9, 40e9}) {
    Options options;
    options.pace.bytes_per_second = static_cast<std::int64_t>(pace);
    Scatter scatter;
    scatter.rank = 0;
    scatter.ranks = 2;
    scatter.chunks_per_shard = 4;
    scatter.slots = {{bench.out(e, 1), 0}, {host, 0}};
    scatter.landed = {flags.data(), flags.data() + 8};
    const Plan plan =
        plan_gemm_rs(bench.product(e, 0), scatter, Reduce{}, options, bench.workspace());
    std::vector<double> times;
    for (int round = 0; round < 7; ++round)
      times.push_back(bench.time(1, [&](int) { plan.launch(bench.stream(), ++sequence); }));
    std::printf("gemm_rs, half of [%d, %d] to host memory, pace %2.0f GB/s: %7.1f us, %4.1f GB/s\n",
                e.m, e.n, pace / 1e9, median(times),
                static_cast<double>(half) * 2e-3 / median(times));
  }
  cudaFreeHost(host);
}

int run(const std::string& what, std::string_view tile) {
  if (const std::string missing = missing_device(); !missing.empty()) {
    std::printf("skipped: %s\n", missing.c_str());
    return 0;
  }
  const Bench bench;
  if (what == "gemm")
    against_library(bench, 0, true);
  else if (what == "margin")
    for (const int sms : {124, 116, 108, 96, 64}) against_library(bench, sms, false);
  else if (what == "tiles")
    every_tile(bench);
  else if (what == "late")
    late_ctas(bench);
  else if (what == "gather")
    flags_all_set(bench, tile);
  else if (what == "host")
    into_host_memory(bench);
  else
    return std::fprintf(stderr, "usage: speed_sm90 gemm|margin|tiles|late|gather [TILE]|host\n"), 2;
  return 0;
}

}  // namespace
}  // namespace weft::kernels::test

int main(int count, char** arguments) {
  try {
    return weft::kernels::test::run(count >= 2 ? arguments[1] : "", count >= 3 ? arguments[2] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "speed_sm90: %s\n", error.what());
    return 1;
  }
}
