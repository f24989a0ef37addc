// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/beside.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "kernels/measure/fork.hpp"
#include "kernels/measure/move.hpp"
#include "kernels/measure/traffic.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

using calibration::Background;

constexpr std::int64_t kRegionBytes = std::int64_t{128} << 20;
constexpr int kMostCtas = 1024;
constexpr std::int64_t kPieceBytes = std::int64_t{8} << 20;
/// Bytes a nanosecond of an all-reduce between two GPUs, generously: how many outlast a product.
constexpr double kNcclBytesPerNs = 250.0;
/// And between processes over loopback sockets.
constexpr double kSocketBytesPerNs = 5.0;

std::size_t next_rank(const Stage& stage) {
  return static_cast<std::size_t>(stage.running().front() + 1) %
         static_cast<std::size_t>(stage.memory().ranks());
}

TrafficKind kind_of(const std::string& name) {
  if (name == "spin") return TrafficKind::spin;
  if (name == "read") return TrafficKind::read;
  if (name == "write") return TrafficKind::write;
  if (name == "copy") return TrafficKind::copy;
  if (name == "reduce") return TrafficKind::reduce;
  throw std::invalid_argument("no traffic of kind " + name);
}

/// Traffic of CTAs or of a copy engine between two events of its own.
class Neighbour {
 public:
  Neighbour(Stage& stage, TrafficBuffers& buffers, const Background& background,
            std::int64_t expected_ns)
      : stage_(stage),
        buffers_(buffers),
        background_(background),
        by_library_(background.kind == "nccl"),
        by_engine_(background.kind == "copy_engine" || by_library_) {
    source_ = background.direction == "to_device" ? buffers.host_source : buffers.device_source;
    target_ = background.direction == "to_host" ? buffers.host_target : buffers.device_target;
    if (by_engine_) {
      // Long enough to outlast the product at the engine's usual rates.
      const double host = stage.memory().backend() == Backend::peer_gpus ? 450.0 : 56.0;
      const double nccl =
          stage.memory().backend() == Backend::nccl_processes ? kSocketBytesPerNs : kNcclBytesPerNs;
      const double rate = by_library_ ? nccl : background.direction == "device" ? 2000.0 : host;
      pieces_ = static_cast<int>(std::ceil(1.3 * static_cast<double>(expected_ns) * rate /
                                           static_cast<double>(kPieceBytes))) +
                1;
    }
    WEFT_CUDA(cudaEventCreate(&begin_));
    WEFT_CUDA(cudaEventCreate(&end_));
    records_.resize(static_cast<std::size_t>(std::max(1, background.ctas)));
  }
  ~Neighbour() {
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  bool by_engine() const { return by_engine_; }
  /// Starts traffic that ends when `stop` is posted, or by itself for a copy engine.
  void start(Signal stop, cudaStream_t stream) {
    if (by_engine_) {
      WEFT_CUDA(cudaEventRecord(begin_, stream));
      for (int i = 0; i < pieces_; ++i) {
        const std::int64_t at = i * kPieceBytes % kRegionBytes;
        if (by_library_) {
          all_reduce(at, stream);
          continue;
        }
        WEFT_CUDA(
            cudaMemcpyAsync(target_ + at, source_ + at, kPieceBytes, cudaMemcpyDefault, stream));
      }
      WEFT_CUDA(cudaEventRecord(end_, stream));
      return;
    }
    TrafficLaunch launch;
    launch.kind = kind_of(background_.kind);
    launch.source = source_;
    launch.second = buffers_.device_second;
    launch.target = target_;
    launch.region_bytes = kRegionBytes;
    launch.stop = buffers_.stop;
    launch.stop_value = stop;
    launch.resident = buffers_.resident;
    launch.records = reinterpret_cast<TrafficRecord*>(buffers_.records);
    launch.ctas = background_.ctas;
    launch.bytes_per_ns = static_cast<double>(background_.pace_bytes_per_second) * 1e-9;
    launch.in_flight_bytes = background_.in_flight_bytes;
    launch_traffic(launch, stream);
    buffers_.started += static_cast<Signal>(background_.ctas);
  }
  void wait_resident(cudaStream_t stream) {
    if (!by_engine_) stage_.memory().wait(buffers_.resident, buffers_.started, stream);
  }
  void stop(Signal value, cudaStream_t stream) {
    stage_.memory().post(buffers_.stop, value, stream);
  }

  /// Bytes a second of the last start, which has ended.
  std::int64_t rate() {
    if (by_engine_) {
      float milliseconds = 0;
      WEFT_CUDA(cudaEventElapsedTime(&milliseconds, begin_, end_));
      return std::llround(static_cast<double>(pieces_) * static_cast<double>(kPieceBytes) /
                          (static_cast<double>(milliseconds) * 1e-3));
    }
    WEFT_CUDA(cudaMemcpy(records_.data(), buffers_.records, records_.size() * sizeof(TrafficRecord),
                         cudaMemcpyDefault));
    std::int64_t bytes = 0;
    std::uint64_t first = records_.front().start_ns;
    std::uint64_t last = 0;
    for (const TrafficRecord& record : records_) {
      bytes += record.bytes;
      first = std::min(first, record.start_ns);
      last = std::max(last, record.end_ns);
    }
    const auto seconds = static_cast<double>(last - first) * 1e-9;
    return seconds > 0 ? std::llround(static_cast<double>(bytes) / seconds) : 0;
  }

 private:
  /// Every running rank's part of one all-reduce; rank 0's in the traffic's stream.
  void all_reduce(std::int64_t at, cudaStream_t stream) {
    std::vector<NcclGroup::Share> shares;
    for (const int rank : stage_.running()) {
      const auto peer = static_cast<std::size_t>(rank);
      shares.push_back({buffers_.shared_source.at[peer] + at, buffers_.shared_target.at[peer] + at,
                        rank == stage_.running().front()
                            ? stream
                            : stage_.memory().stream(rank, StreamRole::communication)});
    }
    stage_.nccl_group().enqueue(NcclOperation::all_reduce, kPieceBytes, shares);
    stage_.memory().enter(stage_.running().front());
  }

  Stage& stage_;
  TrafficBuffers& buffers_;
  Background background_;
  bool by_library_;
  bool by_engine_;
  const std::byte* source_ = nullptr;
  std::byte* target_ = nullptr;
  int pieces_ = 0;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  std::vector<TrafficRecord> records_;
};

}  // namespace

TrafficBuffers::TrafficBuffers(Stage& stage)
    : shared_source(stage.shared_random(kRegionBytes)),
      shared_target(stage.shared_scratch(kRegionBytes)),
      host_source(shared_source.at[next_rank(stage)]),
      host_target(shared_target.at[next_rank(stage)]),
      device_source(stage.random(stage.running().front(), kRegionBytes)),
      device_second(stage.random(stage.running().front(), kRegionBytes)),
      device_target(stage.scratch(stage.running().front(), kRegionBytes)),
      records(
          stage.scratch(stage.running().front(), kMostCtas * std::int64_t{sizeof(TrafficRecord)})),
      stop(stage.flags(stage.running().front(), 1)),
      resident(stage.flags(stage.running().front(), 1)) {}

void take_part(Stage& stage, TrafficBuffers& buffers, const Background& background,
               std::int64_t expected_ns, int warm_up, int repetitions) {
  Neighbour neighbour(stage, buffers, background, expected_ns);
  cudaStream_t stream = stage.memory().stream(stage.running().front(), StreamRole::communication);
  for (int i = -warm_up; i < repetitions; ++i) {
    neighbour.start(stage.next_sequence(), stream);
    WEFT_CUDA(cudaStreamSynchronize(stream));
  }
}

BesideTimes run_beside(Stage& stage, TrafficBuffers& buffers, const Background& background,
                       const Multiplier& product, std::int64_t expected_ns, int warm_up,
                       int repetitions, int rest) {
  if (background.ctas > kMostCtas) throw std::invalid_argument("traffic of too many CTAs");
  Neighbour neighbour(stage, buffers, background, expected_ns);
  Joints joints(stage);
  cudaStream_t compute = stage.memory().stream(0, StreamRole::compute);
  cudaStream_t beside = stage.memory().stream(0, StreamRole::communication);
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  WEFT_CUDA(cudaEventCreate(&begin));
  WEFT_CUDA(cudaEventCreate(&end));
  const bool gemm_first = background.order == "gemm_first";
  // A small copy is done a few microseconds after its stream starts: then the product is resident.
  std::byte* delay_target = buffers.device_target;
  const std::byte* delay_source = buffers.host_source;
  BesideTimes times;
  for (int i = -warm_up; i < repetitions; ++i) {
    const Signal stop = stage.next_sequence();
    const std::int64_t began = steady_ns();
    if (gemm_first) {
      WEFT_CUDA(cudaEventRecord(begin, compute));
      joints.join(0, compute, 0, beside);
      product.run(compute);
      WEFT_CUDA(cudaMemcpyAsync(delay_target, delay_source, 4096, cudaMemcpyDefault, beside));
      neighbour.start(stop, beside);
    } else {
      neighbour.start(stop, beside);
      neighbour.wait_resident(compute);
      if (neighbour.by_engine()) {
        // Behind the delay of a small copy the engine is at work.
        WEFT_CUDA(
            cudaMemcpyAsync(delay_target, delay_target + 2048, 2048, cudaMemcpyDefault, compute));
      }
      WEFT_CUDA(cudaEventRecord(begin, compute));
      product.run(compute);
    }
    WEFT_CUDA(cudaEventRecord(end, compute));
    if (!neighbour.by_engine()) neighbour.stop(stop, compute);
    WEFT_CUDA(cudaStreamSynchronize(compute));
    WEFT_CUDA(cudaStreamSynchronize(beside));
    const std::int64_t ended = steady_ns();
    const std::int64_t rate = neighbour.rate();
    if (rest > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(rest * (ended - began)));
    if (i < 0) continue;
    float milliseconds = 0;
    WEFT_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    times.product.each.push_back(
        Duration::from_ps(std::llround(static_cast<double>(milliseconds) * 1e9)));
    times.product.began_ns.push_back(began);
    times.product.ended_ns.push_back(ended);
    times.background_bytes_per_second.push_back(rate);
  }
  WEFT_CUDA(cudaEventDestroy(begin));
  WEFT_CUDA(cudaEventDestroy(end));
  return times;
}

}  // namespace weft::kernels
