// SPDX-License-Identifier: Apache-2.0
// How the choices of a scenario are spelled in files.
#pragma once

#include <utility>

#include "configs/reader/codec.hpp"
#include "models/planner/scenario.hpp"
#include "models/profile/names.hpp"

namespace weft::config {

template <>
struct EnumNames<model::PipelineScenario::Dependency> {
  using E = model::PipelineScenario::Dependency;
  static constexpr std::pair<std::string_view, E> names[] = {{"chunked", E::chunked},
                                                             {"none", E::none}};
};
template <>
struct EnumNames<model::BoundaryKind> {
  using E = model::BoundaryKind;
  static constexpr std::pair<std::string_view, E> names[] = {{"ag_gemm", E::ag_gemm},
                                                             {"gemm_rs", E::gemm_rs},
                                                             {"gemm_ar", E::gemm_ar},
                                                             {"gemm_a2a", E::gemm_a2a}};
};
template <>
struct EnumNames<model::RankOrder> {
  using E = model::RankOrder;
  static constexpr std::pair<std::string_view, E> names[] = {{"packed", E::packed},
                                                             {"scattered", E::scattered}};
};
template <>
struct EnumNames<model::Phase> {
  using E = model::Phase;
  static constexpr std::pair<std::string_view, E> names[] = {{"prefill", E::prefill},
                                                             {"decode", E::decode},
                                                             {"forward", E::forward},
                                                             {"backward", E::backward}};
};
template <>
struct EnumNames<model::Objective> {
  using E = model::Objective;
  static constexpr std::pair<std::string_view, E> names[] = {{"latency", E::latency},
                                                             {"throughput", E::throughput}};
};
template <>
struct EnumNames<model::Recompute> {
  using E = model::Recompute;
  static constexpr std::pair<std::string_view, E> names[] = {
      {"none", E::none}, {"selective", E::selective}, {"full", E::full}};
};
template <>
struct EnumNames<sim::Fidelity> {
  using E = sim::Fidelity;
  static constexpr std::pair<std::string_view, E> names[] = {
      {"ideal", E::ideal}, {"alpha_beta", E::alpha_beta}, {"contended", E::contended}};
};
template <>
struct EnumNames<model::CostModel> {
  using E = model::CostModel;
  static constexpr std::pair<std::string_view, E> names[] = {{"profile", E::profile},
                                                             {"nccl_tuner", E::nccl_tuner},
                                                             {"nccl_symmetric", E::nccl_symmetric},
                                                             {"flashoverlap", E::flashoverlap}};
};
}  // namespace weft::config
