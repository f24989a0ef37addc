// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/collective_case.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "kernels/baseline/nccl_buffers.hpp"
#include "kernels/measure/fork.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;

struct RankWork {
  std::vector<TransferPiece> pieces;
  TransferLaunch launch;
  std::byte* target = nullptr;
  std::int64_t target_bytes = 0;
};

NcclOperation operation_of(const std::string& operation) {
  if (operation == "all_gather") return NcclOperation::all_gather;
  if (operation == "reduce_scatter") return NcclOperation::reduce_scatter;
  if (operation == "all_reduce") return NcclOperation::all_reduce;
  return NcclOperation::all_to_all;
}

CollectivePlan plan_of(const std::string& operation, int ranks, int rank, std::int64_t bytes) {
  if (operation == "all_gather") return plan_all_gather(ranks, rank, bytes / ranks, 1);
  if (operation == "reduce_scatter") return plan_reduce_scatter(ranks, rank, bytes / ranks, 1);
  if (operation == "all_reduce") return plan_all_reduce_one_shot(ranks, rank, bytes, 1);
  if (operation == "all_to_all") return plan_all_to_all(ranks, rank, bytes / ranks, 1);
  throw std::invalid_argument("no collective " + operation);
}

class CollectiveCase {
 public:
  CollectiveCase(Stage& stage, const Case& what) : stage_(stage), what_(what), joints_(stage) {
    const int ranks = stage.memory().ranks();
    // Whole shards of 16-byte vectors.
    bytes_ = *what.bytes / (16 * ranks) * 16 * ranks;
    source_ = stage.shared_random(bytes_);
    for (const int rank : stage.running()) {
      RankWork work;
      work.pieces = plan_of(what.operation, ranks, rank, bytes_).pieces;
      for (TransferPiece& piece : work.pieces) piece.post_signal = TransferPiece::kNoSignal;
      const bool shard = what.operation == "reduce_scatter";
      work.target_bytes = shard ? bytes_ / ranks : bytes_;
      work.target = stage.scratch(rank, work.target_bytes);
      work.launch = stage.transfer(rank, work.pieces);
      for (int peer = 0; peer < ranks; ++peer)
        work.launch.sources[peer] = source_.at[static_cast<std::size_t>(peer)];
      work.launch.targets[0] = work.target;
      work.launch.ctas = what.ctas.value_or(1);
      work.launch.bytes_per_ns = static_cast<double>(what.pace_bytes_per_second.value_or(0)) * 1e-9;
      work.launch.in_flight_bytes = what.in_flight_bytes.value_or(0);
      work_.push_back(std::move(work));
    }
    if (by_library() && what.backend == "peer_gpus_window") move_to_windows();
  }

  void enqueue(cudaStream_t timed) {
    joints_.fork(timed);
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const int rank = stage_.running()[i];
      stage_.memory().enter(rank);
      cudaStream_t stream = stage_.memory().stream(rank, StreamRole::communication);
      if (by_library()) continue;
      if (what_.transport == "copy_engine")
        copy(work_[i], rank, stream);
      else
        launch_transfer(work_[i].launch, stream);
    }
    if (by_library()) {
      std::vector<NcclGroup::Share> shares;
      for (std::size_t i = 0; i < work_.size(); ++i) shares.push_back(share_of(i));
      stage_.nccl_group().enqueue(operation_of(what_.operation), bytes_, shares);
    }
    joints_.merge(timed);
  }

  double check() {
    for (std::size_t i = 0; i < work_.size(); ++i) {
      stage_.memory().enter(stage_.running()[i]);
      fill_poison(work_[i].target, static_cast<std::size_t>(work_[i].target_bytes), compute(i));
    }
    stage_.memory().barrier();
    stage_.timer().once([this](int, cudaStream_t stream) { enqueue(stream); });
    stage_.memory().barrier();
    stage_.refuse_wait_errors();
    for (std::size_t i = 0; i < work_.size(); ++i) {
      stage_.memory().enter(stage_.running()[i]);
      for (const TransferPiece& piece : work_[i].pieces) check_piece(work_[i], piece, compute(i));
    }
    return verdict(stage_.take_check_result());
  }

 private:
  cudaStream_t compute(std::size_t i) const {
    return stage_.memory().stream(stage_.running()[i], StreamRole::compute);
  }
  /// NCCL's symmetric kernels want both ends in windows of the group that runs the collective.
  void move_to_windows() {
    std::vector<int> devices;
    for (const int rank : stage_.running()) devices.push_back(stage_.memory().device(rank));
    const NcclGroup& group = stage_.nccl_group();
    const auto bytes = static_cast<std::size_t>(bytes_);
    sent_ = std::make_unique<NcclBuffers>(group, devices, bytes);
    received_ = std::make_unique<NcclBuffers>(group, devices, bytes);
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const int rank = stage_.running()[i];
      stage_.memory().enter(rank);
      WEFT_CUDA(cudaMemcpyAsync(sent_->at(rank), source_.at[static_cast<std::size_t>(rank)], bytes,
                                cudaMemcpyDefault, compute(i)));
      WEFT_CUDA(cudaStreamSynchronize(compute(i)));
      work_[i].target = received_->at(rank);
    }
  }
  bool by_library() const { return what_.transport == "library"; }
  NcclGroup::Share share_of(std::size_t i) {
    const int rank = stage_.running()[i];
    const std::byte* send = sent_ ? sent_->at(rank) : source_.at[static_cast<std::size_t>(rank)];
    if (what_.operation == "all_gather") send += rank * (bytes_ / stage_.memory().ranks());
    return {send, work_[i].target, stage_.memory().stream(rank, StreamRole::communication)};
  }
  void copy(const RankWork& work, int rank, cudaStream_t stream) {
    for (const TransferPiece& piece : work.pieces)
      stage_.memory().copy(work.target + piece.target_offset, rank,
                           work.launch.sources[piece.first_source] + piece.source_offset,
                           piece.first_source, static_cast<std::size_t>(piece.bytes), stream);
  }
  void check_piece(const RankWork& work, const TransferPiece& piece, cudaStream_t stream) {
    const std::byte* addends[TransferLaunch::kMaxBases] = {};
    for (int s = 0; s < piece.sources; ++s)
      addends[s] = work.launch.sources[piece.first_source + s] + piece.source_offset;
    const auto bytes = static_cast<std::size_t>(piece.bytes);
    if (piece.sources == 1)
      check_equal(work.target + piece.target_offset, addends[0], bytes, stage_.check_result(),
                  stream);
    else
      // NCCL rounds whenever a rank has added its part; ours add in fp32 and round once.
      check_sum(work.target + piece.target_offset, addends, piece.sources, bytes,
                by_library() ? piece.sources - 1 : 1, stage_.check_result(), stream);
  }

  Stage& stage_;
  Case what_;
  Joints joints_;
  std::int64_t bytes_ = 0;
  Region source_;
  std::vector<RankWork> work_;
  std::unique_ptr<NcclBuffers> sent_;
  std::unique_ptr<NcclBuffers> received_;
};

}  // namespace

Times run_collective(Stage& stage, const Case& what, int warm_up, int repetitions, double& check) {
  CollectiveCase collective(stage, what);
  check = collective.check();
  return stage.timer().measure([&](int, cudaStream_t stream) { collective.enqueue(stream); },
                               warm_up, repetitions);
}

}  // namespace weft::kernels
