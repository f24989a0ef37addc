// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/spec.hpp"

#include <fmt/core.h>

namespace weft::model {
namespace {

// One fp32 scale for 128 elements of a row (DeepSeek-V3, arXiv 2412.19437, section 3.3.2).
constexpr std::int64_t kFp8ScaleBlock = 128;
// One 8-bit exponent for 32 elements (OCP Microscaling Formats 1.0, table 1).
constexpr std::int64_t kMxScaleBlock = 32;

}  // namespace

Formats Formats::of(DType dtype) {
  Formats formats;
  if (bits_of(dtype) > 8) {
    const TensorFormat plain{dtype, DType::fp32, 0};
    return {plain, plain, plain, plain, plain, plain};
  }
  const TensorFormat scaled = bits_of(dtype) == 8
                                  ? TensorFormat{dtype, DType::fp32, kFp8ScaleBlock}
                                  : TensorFormat{dtype, DType::ue8m0, kMxScaleBlock};
  formats.matmul_input = scaled;
  formats.weights = scaled;
  return formats;
}

std::string to_text(const ParallelLayout& layout) {
  std::string text = fmt::format("TP={}{}", layout.tp, layout.sequence_parallel ? " SP" : "");
  if (layout.replicas > 1) text += fmt::format(" x {} replicas", layout.replicas);
  return text;
}

std::vector<std::string> layout_problems(const ModelConfig& model, const ParallelLayout& layout,
                                         const WorkloadSpec& spec) {
  std::vector<std::string> problems;
  const int tp = layout.tp;
  if (tp < 1 || layout.replicas < 1) {
    problems.push_back("tensor parallelism and replicas are at least 1");
    return problems;
  }
  if (model.heads % tp != 0) {
    problems.push_back(fmt::format("{} query heads do not divide by TP={}", model.heads, tp));
  }
  if (model.kv_heads % tp != 0 && tp % model.kv_heads != 0) {
    problems.push_back(
        fmt::format("{} key/value heads do not divide by TP={}, nor TP by them: they cannot be "
                    "replicated evenly",
                    model.kv_heads, tp));
  }
  if (model.ffn % tp != 0) {
    problems.push_back(fmt::format("the MLP's width {} does not divide by TP={}", model.ffn, tp));
  }
  if (layout.sequence_parallel && tp == 1) {
    problems.push_back(
        "sequence parallelism needs TP of at least 2: it cuts tokens over those ranks");
  }
  if (layout.sequence_parallel && tokens_of(spec) % tp != 0) {
    problems.push_back(fmt::format(
        "{} tokens do not divide by TP={}, as sequence parallelism needs", tokens_of(spec), tp));
  }
  if (spec.sequences < 1 || spec.new_tokens < 1 || spec.context_tokens < 0) {
    problems.push_back("sequences and new tokens are at least 1, context tokens at least 0");
  }
  if (spec.phase == Phase::decode && spec.new_tokens != 1) {
    problems.push_back(
        fmt::format("decode makes 1 token a sequence and step, not {}", spec.new_tokens));
  }
  if ((spec.phase == Phase::forward || spec.phase == Phase::backward) && spec.context_tokens != 0) {
    problems.push_back("training has no KV cache: context tokens must be 0");
  }
  const std::int64_t length = spec.context_tokens + spec.new_tokens;
  if (model.positions == PositionKind::learned && length > model.max_positions) {
    problems.push_back(fmt::format("{} tokens a sequence exceed the {} learned positions", length,
                                   model.max_positions));
  }
  return problems;
}

std::vector<LayoutCandidate> layouts_for(const ModelConfig& model, const WorkloadSpec& spec,
                                         int gpus) {
  std::vector<LayoutCandidate> candidates;
  for (int tp = gpus; tp >= 1; --tp) {
    if (gpus % tp != 0) continue;
    for (const bool sequence_parallel : {false, true}) {
      if (sequence_parallel && tp == 1) continue;  // there is nothing to cut over
      const ParallelLayout layout{tp, sequence_parallel, gpus / tp};
      candidates.push_back({layout, layout_problems(model, layout, spec)});
    }
  }
  return candidates;
}

}  // namespace weft::model
