// SPDX-License-Identifier: Apache-2.0
// How Transformer Engine is told to overlap tensor-parallel communication: Megatron-LM's
// --tp-comm-overlap-cfg file (YAML) and the ub_cfgs of initialize_ub, a method and its settings for
// each of ten products. Read with what is illegal refused, written by models/export.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"

namespace weft::model {

enum class UbMethod : std::uint8_t { ring_exchange, pipeline, bulk, external };

[[nodiscard]] std::string_view name_of(UbMethod method);

/// What one product is told; absent settings are Transformer Engine's own.
struct UbGemm {
  std::string name;  ///< "fc1_fprop"
  std::uint32_t line = 0;
  UbMethod method = UbMethod::ring_exchange;
  std::optional<std::int64_t> num_sm, cga_size, num_splits;
  std::optional<bool> set_sm_margin, aggregate, atomic_gemm, use_ce, fp8_buf;
};

/// The CTAs that communicate: num_sm, or what Transformer Engine takes untold.
[[nodiscard]] std::int64_t ub_num_sm(const UbGemm& gemm);

/// Equal settings, wherever they stood.
[[nodiscard]] bool same_settings(const UbGemm& a, const UbGemm& b);

struct TpOverlap {
  std::string file;
  std::vector<UbGemm> gemms;  ///< in the order of the file
  std::vector<config::ConfigError> notes;
};

/// What a product communicates by default, and which methods it may use.
struct UbSite {
  std::string_view name;
  UbMethod method;       ///< by default
  bool gathers;          ///< all-gather before it; else reduce-scatter after it
  bool may_be_bulk;      ///< its communication is of another product
  bool may_be_external;  ///< rides on the ring exchange of the dgrad
};
/// The site of a product's name, or nullptr.
[[nodiscard]] const UbSite* ub_site(std::string_view name);

/// What Transformer Engine refuses about a product's settings, or would not do as they say.
[[nodiscard]] std::vector<std::string> faults_of(const UbGemm& gemm);

/// What is wrong between products, with the product that it is said of: a gather and the reduction
/// after it are both atomic or neither, and a dgrad that reduces leaves its wgrad nothing to reduce.
struct UbPairFault {
  std::string product;
  std::string what;
};
[[nodiscard]] std::vector<UbPairFault> pair_faults_of(const std::vector<UbGemm>& gemms);

/// Returns whether the text looks like such a file, or like what is mistaken for one.
[[nodiscard]] bool looks_like_tp_overlap(std::string_view text);

/// Reads the file; throws config::ConfigErrors with every illegal setting.
[[nodiscard]] TpOverlap read_tp_overlap(std::string_view text, const std::string& name);

}  // namespace weft::model
