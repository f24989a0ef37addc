// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/figures.hpp"

#include "models/cost/roofline.hpp"
#include "sim/units/check.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {

Flops model_flops(const ModelConfig& model, const WorkloadSpec& spec) {
  const std::int64_t tokens = tokens_of(spec);
  const std::int64_t features = (2 * model.heads + 2 * model.kv_heads) * model.head_dim +
                                ((model.gated_mlp ? 2 : 1) + 1) * model.ffn;
  Flops sum = Flops::from(2) * checked_multiply(features, model.hidden) * tokens * model.layers;
  AttentionProblem attention;
  attention.batch = spec.sequences;
  attention.query_tokens = spec.new_tokens;
  attention.key_tokens = spec.context_tokens + spec.new_tokens;
  attention.heads = model.heads;
  attention.head_dim = model.head_dim;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    attention.window.reset();
    if (const std::int64_t window = window_of(model, layer); window != 0) {
      attention.window = window;
    }
    sum += attention_flops(attention);
  }
  const std::int64_t rows = trains(spec) ? tokens : spec.sequences;
  sum += Flops::from(2) * checked_multiply(model.vocab, model.hidden) * rows;
  // Each product has two gradients; the forward pass is a phase of its own.
  return spec.phase == Phase::backward ? sum * 2 : sum;
}

std::string_view time_name(Phase phase) {
  switch (phase) {
    case Phase::prefill:
      return "TTFT";
    case Phase::decode:
      return "TPOT";
    case Phase::forward:
    case Phase::backward:
      return "step";
  }
  return "time";
}

StepFigures figures_of(const ModelConfig& model, const ParallelLayout& layout,
                       const WorkloadSpec& spec, Duration time, FlopRate peak) {
  WEFT_CHECK(time > Duration{} && peak > FlopRate{}, "a step takes {} ps at {} FLOP/s", time.ps(),
             peak.flops_per_second());
  const double seconds =
      static_cast<double>(time.ps()) / static_cast<double>(kPicosecondsPerSecond);
  const double gpus = static_cast<double>(layout.tp) * layout.replicas;
  StepFigures figures;
  figures.tokens_per_second = static_cast<double>(tokens_of(spec)) * layout.replicas / seconds;
  figures.tokens_per_second_and_gpu = figures.tokens_per_second / gpus;
  figures.mfu = static_cast<double>(model_flops(model, spec).count()) /
                (seconds * static_cast<double>(peak.flops_per_second()) * layout.tp);
  return figures;
}

}  // namespace weft::model
