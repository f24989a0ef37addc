// SPDX-License-Identifier: Apache-2.0
// The spellings of a profile's enumerations in JSON.
#pragma once

#include "configs/reader/codec.hpp"
#include "models/profile/profile.hpp"

namespace weft::config {

template <>
struct EnumNames<DType> {
  static constexpr std::pair<std::string_view, DType> names[] = {
      {"fp32", DType::fp32}, {"tf32", DType::tf32},         {"fp16", DType::fp16},
      {"bf16", DType::bf16}, {"fp8_e4m3", DType::fp8_e4m3}, {"fp8_e5m2", DType::fp8_e5m2},
      {"int8", DType::int8}, {"fp4_e2m1", DType::fp4_e2m1}, {"ue8m0", DType::ue8m0}};
};

template <>
struct EnumNames<CollectiveOp> {
  static constexpr std::pair<std::string_view, CollectiveOp> names[] = {
      {"all_gather", CollectiveOp::all_gather},
      {"reduce_scatter", CollectiveOp::reduce_scatter},
      {"all_reduce", CollectiveOp::all_reduce},
      {"all_to_all", CollectiveOp::all_to_all}};
};

template <>
struct EnumNames<model::CopyPath> {
  using P = model::CopyPath;
  static constexpr std::pair<std::string_view, P> names[] = {{"from_host", P::from_host},
                                                             {"to_host", P::to_host},
                                                             {"same_device", P::same_device},
                                                             {"to_peer", P::to_peer},
                                                             {"from_peer", P::from_peer}};
};

template <>
struct EnumNames<model::InterferingAccess> {
  using A = model::InterferingAccess;
  static constexpr std::pair<std::string_view, A> names[] = {
      {"posted_write", A::posted_write}, {"read", A::read}, {"engine_copy", A::engine_copy}};
};

template <>
struct EnumNames<model::GemmLibrary> {
  static constexpr std::pair<std::string_view, model::GemmLibrary> names[] = {
      {"cublaslt", model::GemmLibrary::cublaslt}, {"weft", model::GemmLibrary::ours}};
};

template <>
struct EnumNames<model::CollectiveAlgorithm> {
  using A = model::CollectiveAlgorithm;
  static constexpr std::pair<std::string_view, A> names[] = {{"ring", A::ring},
                                                             {"tree", A::tree},
                                                             {"direct", A::direct},
                                                             {"nvls", A::nvls},
                                                             {"hierarchical", A::hierarchical},
                                                             {"collnet", A::collnet}};
};

template <>
struct EnumNames<model::CollectiveProtocol> {
  using P = model::CollectiveProtocol;
  static constexpr std::pair<std::string_view, P> names[] = {
      {"ll", P::ll}, {"ll128", P::ll128}, {"simple", P::simple}, {"simple_full", P::simple_full}};
};

}  // namespace weft::config
