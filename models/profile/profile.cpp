// SPDX-License-Identifier: Apache-2.0
#include "models/profile/profile.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace weft::model {

std::string_view name_of(CopyPath path) {
  switch (path) {
    case CopyPath::from_host:
      return "from_host";
    case CopyPath::to_host:
      return "to_host";
    case CopyPath::same_device:
      return "same_device";
    case CopyPath::to_peer:
      return "to_peer";
    case CopyPath::from_peer:
      return "from_peer";
  }
  return "unknown";
}

std::string_view name_of(GemmLibrary library) {
  return library == GemmLibrary::ours ? "weft" : "cublaslt";
}

std::string_view name_of(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return "ring";
    case CollectiveAlgorithm::tree:
      return "tree";
    case CollectiveAlgorithm::direct:
      return "direct";
    case CollectiveAlgorithm::nvls:
      return "nvls";
    case CollectiveAlgorithm::hierarchical:
      return "hierarchical";
    case CollectiveAlgorithm::collnet:
      return "collnet";
  }
  return "unknown";
}

std::string_view name_of(CollectiveProtocol protocol) {
  switch (protocol) {
    case CollectiveProtocol::ll:
      return "ll";
    case CollectiveProtocol::ll128:
      return "ll128";
    case CollectiveProtocol::simple:
      return "simple";
    case CollectiveProtocol::simple_full:
      return "simple_full";
  }
  return "unknown";
}

namespace {

template <class Range, class Match>
auto find_in(const Range& range, Match match) {
  const auto found = std::find_if(range.begin(), range.end(), match);
  return found == range.end() ? nullptr : &*found;
}

}  // namespace

const Sourced<FlopRate>& Profile::matrix_rate(DType dtype) const {
  const auto* found =
      find_in(gpu.matrix, [&](const MatrixRate& rate) { return rate.dtype == dtype; });
  if (found != nullptr) return found->peak;
  std::string known;
  for (const MatrixRate& rate : gpu.matrix) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(rate.dtype));
  }
  throw MissingConstant(fmt::format("profile \"{}\" has no matrix rate for {} (it has: {})", name,
                                    name_of(dtype), known.empty() ? "none" : known));
}

const CopyEngineCosts& Profile::copy_engine(CopyPath path) const {
  const auto* found =
      find_in(copy_engines, [&](const CopyEngineCosts& costs) { return costs.path == path; });
  if (found != nullptr) return *found;
  throw MissingConstant(
      fmt::format("profile \"{}\" has no copy engine costs for {}", name, name_of(path)));
}

const SmCopyCosts& Profile::sm_copy(CopyPath path) const {
  const auto* found =
      find_in(sm_copies, [&](const SmCopyCosts& costs) { return costs.path == path; });
  if (found != nullptr) return *found;
  throw MissingConstant(
      fmt::format("profile \"{}\" has no costs of copies by SMs for {}", name, name_of(path)));
}

const AttentionConstants& Profile::attention_of(std::int64_t head_dim) const {
  if (attention.empty()) {
    throw MissingConstant(fmt::format("profile \"{}\" has no attention constants", name));
  }
  // The nearest head dimension that was fitted, the larger of two equally near ones.
  const AttentionConstants* best = &attention.front();
  for (const AttentionConstants& candidate : attention) {
    const auto distance = [&](const AttentionConstants& a) {
      return a.head_dim > head_dim ? a.head_dim - head_dim : head_dim - a.head_dim;
    };
    const auto now = distance(candidate), then = distance(*best);
    if (now < then || (now == then && candidate.head_dim > best->head_dim)) best = &candidate;
  }
  return *best;
}

const FamilyError* Profile::error_of(std::string_view family) const {
  return find_in(errors, [&](const FamilyError& error) { return error.family == family; });
}

}  // namespace weft::model
