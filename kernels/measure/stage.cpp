// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/stage.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

constexpr std::size_t kSmallBytes = std::size_t{64} << 20;
constexpr std::size_t kSmallAlignment = 128;
/// Deviation of the random operands: products of depth 16,384 stay far inside bf16's range.
constexpr float kDeviation = 0.5f;

}  // namespace

std::size_t Stage::Arena::take(std::int64_t bytes, const char* what) {
  const std::size_t wanted =
      (static_cast<std::size_t>(bytes) + alignment - 1) / alignment * alignment;
  if (used + wanted > region.bytes)
    throw std::length_error(std::string(what) + ": the case needs " +
                            std::to_string(used + wanted) + " bytes, the stage has " +
                            std::to_string(region.bytes));
  return std::exchange(used, used + wanted);
}

Stage::Stage(std::unique_ptr<SymmetricMemory> memory, const StageSize& size,
             const CublasLt* library, const Nccl* nccl)
    : memory_(std::move(memory)), library_(library), nccl_(nccl) {
  fill_inputs(size);
}

Stage::Stage(std::unique_ptr<SymmetricMemory> memory, const StageSize& size,
             const CublasLt* library, const NcclGroup& joined)
    : memory_(std::move(memory)), library_(library), joined_(&joined) {
  fill_inputs(size);
}

void Stage::fill_inputs(const StageSize& size) {
  const int ranks = memory_->ranks();
  local_random_.resize(static_cast<std::size_t>(ranks));
  local_scratch_.resize(static_cast<std::size_t>(ranks));
  small_.resize(static_cast<std::size_t>(ranks));
  shared_random_.region = memory_->allocate(size.shared_random);
  shared_scratch_.region = memory_->allocate(size.shared_scratch);
  for (int rank = 0; rank < ranks; ++rank) {
    memory_->enter(rank);
    workspaces_.emplace_back(rank);
    if (!memory_->runs(rank)) continue;
    running_.push_back(rank);
    const auto at = static_cast<std::size_t>(rank);
    local_random_[at].region = {{own_.on_device(size.local_random)}, size.local_random};
    local_scratch_[at].region = {{own_.on_device(size.local_scratch)}, size.local_scratch};
    small_[at].region = {{own_.on_device(kSmallBytes)}, kSmallBytes};
    small_[at].alignment = kSmallAlignment;
  }
  // Every rank's inputs differ; a host peer's are made on the device and copied out.
  for (int rank = 0; rank < ranks; ++rank) {
    const int maker = memory_->runs(rank) ? rank : running_.front();
    const auto at = static_cast<std::size_t>(maker);
    memory_->enter(maker);
    cudaStream_t stream = memory_->stream(maker, StreamRole::compute);
    const auto seed = static_cast<std::uint64_t>(rank + 1) << 40;
    std::byte*& shared = shared_random_.region.at.at(static_cast<std::size_t>(rank));
    if (memory_->runs(rank))
      fill_random_bf16(local_random_[at].region.at[0], size.local_random, seed, kDeviation, stream);
    if (memory_->runs(rank) || shared == nullptr) {
      if (shared == nullptr) shared = own_.on_device(size.shared_random);
      fill_random_bf16(shared, size.shared_random, seed + 7, kDeviation, stream);
    } else {
      std::byte* made = local_scratch_[at].region.at[0];
      for (std::size_t done = 0; done < size.shared_random;) {
        const std::size_t part = std::min(size.shared_random - done, size.local_scratch);
        fill_random_bf16(made, part, seed + 7 + done, kDeviation, stream);
        WEFT_CUDA(cudaMemcpyAsync(shared + done, made, part, cudaMemcpyDefault, stream));
        done += part;
      }
    }
    WEFT_CUDA(cudaStreamSynchronize(stream));
  }
  memory_->enter(running_.front());
  check_ = reinterpret_cast<CheckResult*>(own_.on_device(sizeof(CheckResult)));
  error_ = reinterpret_cast<TransferError*>(own_.on_host(sizeof(TransferError)));
  timer_ = std::make_unique<Timer>(*memory_, running_.front());
}

Stage::~Stage() = default;

const CublasLt& Stage::library() const {
  if (library_ == nullptr) throw std::runtime_error("cuBLASLt is not here");
  return *library_;
}

const NcclGroup& Stage::nccl_group() {
  if (joined_ != nullptr) return *joined_;
  if (nccl_ == nullptr) throw std::runtime_error("NCCL is not here");
  if (memory_->backend() != Backend::peer_gpus)
    throw std::runtime_error("NCCL between the ranks of one process needs a GPU for each");
  if (nccl_group_ == nullptr) {
    std::vector<int> devices;
    for (const int rank : running_) devices.push_back(memory_->device(rank));
    nccl_group_ = std::make_unique<NcclGroup>(*nccl_, devices);
    memory_->enter(running_.front());
  }
  return *nccl_group_;
}

const Stage::Proposal& Stage::propose(int rank, const LibraryProblem& problem, int proposal,
                                      const void* x, const void* w, void* y) {
  const ProposalKey key{problem.m, problem.n, problem.k, problem.sm_target, proposal};
  if (const auto known = proposals_.find(key); known != proposals_.end()) return known->second;
  const auto found = library().propose(problem, proposal + 1);
  Proposal made;
  made.gemm = found.at(std::min(static_cast<std::size_t>(proposal), found.size() - 1));
  made.kernel =
      library().kernel_of(*made.gemm, x, w, y, memory_->stream(rank, StreamRole::compute));
  return proposals_.emplace(key, std::move(made)).first->second;
}

Workspace& Stage::workspace(int rank) {
  return workspaces_.at(static_cast<std::size_t>(rank));
}

void Stage::reset() {
  memory_->barrier();
  shared_random_.used = shared_scratch_.used = 0;
  for (auto* arenas : {&local_random_, &local_scratch_, &small_})
    for (Arena& arena : *arenas) arena.used = 0;
  for (const int rank : running_) {
    memory_->enter(rank);
    WEFT_CUDA(cudaMemset(small_[static_cast<std::size_t>(rank)].region.at[0], 0, kSmallBytes));
    WEFT_CUDA(cudaDeviceSynchronize());
  }
  sequence_ = 0;
}

std::byte* Stage::random(int rank, std::int64_t bytes) {
  Arena& arena = local_random_.at(static_cast<std::size_t>(rank));
  return arena.region.at.at(0) + arena.take(bytes, "random inputs");
}

std::byte* Stage::scratch(int rank, std::int64_t bytes) {
  Arena& arena = local_scratch_.at(static_cast<std::size_t>(rank));
  return arena.region.at.at(0) + arena.take(bytes, "scratch");
}

namespace {

Region part_of(const Region& whole, std::size_t offset, std::int64_t bytes) {
  Region part;
  part.bytes = static_cast<std::size_t>(bytes);
  for (std::byte* base : whole.at) part.at.push_back(base == nullptr ? nullptr : base + offset);
  return part;
}

}  // namespace

Region Stage::shared_random(std::int64_t bytes) {
  return part_of(shared_random_.region, shared_random_.take(bytes, "shared inputs"), bytes);
}

Region Stage::shared_scratch(std::int64_t bytes) {
  return part_of(shared_scratch_.region, shared_scratch_.take(bytes, "shared scratch"), bytes);
}

Signal* Stage::flags(int rank, std::int64_t count) {
  Arena& arena = small_.at(static_cast<std::size_t>(rank));
  return reinterpret_cast<Signal*>(arena.region.at.at(0) +
                                   arena.take(count * std::int64_t{sizeof(Signal)}, "flags"));
}

TransferLaunch Stage::transfer(int rank, const std::vector<TransferPiece>& pieces) {
  Arena& arena = small_.at(static_cast<std::size_t>(rank));
  const auto bytes = static_cast<std::int64_t>(pieces.size() * sizeof(TransferPiece));
  std::byte* list = arena.region.at.at(0) + arena.take(std::max<std::int64_t>(bytes, 1), "lists");
  memory_->enter(rank);
  WEFT_CUDA(cudaMemcpy(list, pieces.data(), static_cast<std::size_t>(bytes), cudaMemcpyDefault));
  TransferLaunch launch;
  launch.pieces = reinterpret_cast<const TransferPiece*>(list);
  launch.count = static_cast<int>(pieces.size());
  launch.arrivals = flags(rank, std::max<std::int64_t>(launch.count, 1));
  launch.error = error_;
  launch.rank = rank;
  return launch;
}

std::optional<TransferError> Stage::take_transfer_error() {
  if (error_->set == 0) return std::nullopt;
  return std::exchange(*error_, TransferError{});
}

void Stage::refuse_wait_errors() {
  std::string text;
  for (const int rank : running_)
    if (const auto error = workspace(rank).error()) {
      workspace(rank).clear();
      if (text.empty()) text = error->text();
    }
  if (!text.empty()) throw std::runtime_error(text);
  if (const auto error = take_transfer_error())
    throw std::runtime_error(
        "rank " + std::to_string(error->rank) + ", communication CTA " +
        std::to_string(error->cta) + ": chunk " + std::to_string(error->chunk) + " expected " +
        std::to_string(error->expected) + " and saw " + std::to_string(error->seen));
}

double verdict(const CheckResult& result) {
  if (result.poison != 0)
    throw std::runtime_error(std::to_string(result.poison) +
                             " elements were not written or differ");
  if (!(result.worst <= 1.0f))
    throw std::runtime_error("an element is off by " + std::to_string(result.worst) +
                             " times its tolerance");
  return static_cast<double>(result.worst);
}

CheckResult Stage::take_check_result() {
  memory_->enter(running_.front());
  memory_->barrier();
  CheckResult result;
  WEFT_CUDA(cudaMemcpy(&result, check_, sizeof result, cudaMemcpyDefault));
  WEFT_CUDA(cudaMemset(check_, 0, sizeof result));
  WEFT_CUDA(cudaDeviceSynchronize());
  return result;
}

}  // namespace weft::kernels
