// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/block.hpp"

#include <string>
#include <utility>

#include "models/layouts/backward.hpp"

namespace weft::model {
namespace {

/// Adds operators of transformers to a dataflow.
class Builder {
 public:
  Builder(const ModelConfig& model, const ParallelLayout& layout, const WorkloadSpec& spec)
      : model_(model),
        layout_(layout),
        spec_(spec),
        tokens_{"tokens", tokens_of(spec)},
        hidden_{"hidden", model.hidden},
        vocab_{"vocab", padded_vocab(model, layout)} {}

  Placements stream() const { return layout_.sequence_parallel ? cut("tokens") : Placements{}; }
  static Placements cut(const char* dim) { return {Axis::tp, Placement::shard(dim)}; }

  Tensor activation(std::string name, std::vector<Dim> dims) const {
    dims.insert(dims.begin(), tokens_);
    return {std::move(name), std::move(dims), spec_.formats.activations};
  }
  Tensor matmul_input(std::string name, std::vector<Dim> dims) const {
    Tensor tensor = activation(std::move(name), std::move(dims));
    tensor.format = spec_.formats.matmul_input;
    return tensor;
  }

  /// A weight of a block's product.
  TensorId weight(std::string name, std::vector<Dim> dims, const char* cut_dim) {
    return part.flow.weight({std::move(name), std::move(dims), spec_.formats.weights},
                            cut(cut_dim));
  }
  /// Norms and the vocabulary's matrices stay in the format of activations when products go to
  /// eight bits.
  TensorId plain_weight(std::string name, std::vector<Dim> dims, const Placements& placements) {
    return part.flow.weight({std::move(name), std::move(dims), spec_.formats.activations},
                            placements);
  }

  TensorId op(Node node, Tensor out) {
    return part.flow.add(std::move(node), {std::move(out)}).front();
  }
  TensorId matmul(std::string name, TensorId x, TensorId w, Tensor out) {
    return op({.name = std::move(name), .rule = Rule::contract, .what = "matmul", .inputs = {x, w}},
              std::move(out));
  }
  TensorId add(std::string name, TensorId a, TensorId b, Tensor out) {
    return op({.name = std::move(name), .rule = Rule::linear, .what = "add", .inputs = {a, b}},
              std::move(out));
  }
  TensorId elementwise(std::string name, std::string what, TensorId x, Tensor out) {
    return op({.name = std::move(name),
               .rule = Rule::elementwise,
               .what = std::move(what),
               .inputs = {x}},
              std::move(out));
  }
  TensorId norm(const std::string& name, TensorId x, Tensor out) {
    std::vector<Dim> gain = {hidden_};
    // A layer norm has a bias beside its gain.
    if (model_.norm == NormKind::layer_norm) gain.push_back({"gain_and_bias", 2});
    const TensorId w = plain_weight(name + ".weight", std::move(gain), {});
    return op({.name = name,
               .rule = Rule::normalize,
               .what = model_.norm == NormKind::rms_norm ? "rms_norm" : "layer_norm",
               .inputs = {x, w},
               .mixed = {"hidden"}},
              std::move(out));
  }
  TensorId dropout(const std::string& name, TensorId x, Tensor out) {
    if (!model_.dropout || !trains(spec_)) return x;
    return op({.name = name, .rule = Rule::elementwise, .what = "dropout", .inputs = {x}},
              std::move(out));
  }

  TensorId attention(TensorId x, std::int64_t window) {
    const Dim head_dim{"head_dim", model_.head_dim};
    const std::int64_t kv = kept_kv_heads(model_, layout_);
    const Dim qkv_heads{"heads", model_.heads + 2 * kv};
    const Dim heads{"heads", model_.heads};
    const TensorId w = weight("qkv.weight", {qkv_heads, head_dim, hidden_}, "heads");
    TensorId qkv = matmul("qkv", x, w, activation("qkv", {qkv_heads, head_dim}));
    // Queries and keys are changed in place; values are not touched.
    const Tensor q_and_k = activation("q and k", {{"heads", model_.heads + kv}, head_dim});
    if (model_.qk_norm) {
      const TensorId gain = plain_weight("qk_norm.weight", {head_dim, {"q_and_k", 2}}, {});
      qkv = touch(op({.name = "qk_norm",
                      .rule = Rule::normalize,
                      .what = "rms_norm",
                      .inputs = {qkv, gain},
                      .mixed = {"head_dim"}},
                     activation("qkv.normed", {qkv_heads, head_dim})),
                  q_and_k);
    }
    if (model_.positions == PositionKind::rotary) {
      qkv = touch(op({.name = "rotary", .rule = Rule::linear, .what = "rotary", .inputs = {qkv}},
                     activation("qkv.rotated", {qkv_heads, head_dim})),
                  q_and_k);
    }
    part.window = window;
    const TensorId out = op({.name = "attention",
                             .rule = Rule::attention,
                             .what = "attention",
                             .inputs = {qkv},
                             .mixed = {"tokens", "head_dim"}},
                            matmul_input("attention.out", {heads, head_dim}));
    const TensorId wo = weight("proj.weight", {hidden_, heads, head_dim}, "heads");
    return matmul("proj", out, wo, activation("proj.out", {hidden_}));
  }

  TensorId mlp(TensorId x) {
    const Dim ffn{"ffn", model_.ffn};
    const Dim both{"ffn", (model_.gated_mlp ? 2 : 1) * model_.ffn};
    const TensorId w1 = weight("fc1.weight", {both, hidden_}, "ffn");
    const TensorId z = matmul("fc1", x, w1, activation("fc1.out", {both}));
    const std::string what = model_.activation + (model_.gated_mlp ? "_mul" : "");
    const TensorId a = elementwise("activation", what, z, matmul_input("activation.out", {ffn}));
    const TensorId w2 = weight("fc2.weight", {hidden_, ffn}, "ffn");
    return matmul("fc2", a, w2, activation("fc2.out", {hidden_}));
  }

  /// Attention or MLP output -> (norm) -> (dropout) -> sum with the stream.
  TensorId join(const std::string& n, TensorId stream_in, TensorId branch) {
    if (model_.norm_after) {
      branch = norm("post_norm" + n, branch, activation("post_norm" + n + ".out", {hidden_}));
    }
    branch = dropout("dropout" + n, branch, activation("dropout" + n + ".out", {hidden_}));
    const TensorId sum =
        add("residual" + n, stream_in, branch, activation("stream" + n, {hidden_}));
    part.flow.place(sum, stream());
    return sum;
  }

  /// The backward pass from a gradient that lies as the stream does.
  void backward(TensorId output) {
    part.flow.begin_backward();
    Tensor gradient = part.flow.value(output).tensor;
    gradient.name = "d(" + gradient.name + ")";
    gradient.format = spec_.formats.gradients;
    const TensorId dy = part.flow.input(gradient, stream());
    backward(Gradient{output, dy});
  }
  void backward(Gradient seed) {
    append_backward(part.flow, seed, {spec_.formats.gradients, spec_.formats.weight_gradients});
    // The gradients of rotary and query/key norms touch what those touch.
    for (std::uint32_t i = 0; i < part.flow.nodes(); ++i) {
      const auto forward = part.flow.node(NodeId(i)).forward;
      if (!forward) continue;
      const auto found = part.touched.find(*forward);
      if (found != part.touched.end()) part.touched.insert({NodeId(i), found->second});
    }
  }

  TensorId touch(TensorId output, Tensor touched) {
    part.touched.insert({*part.flow.value(output).producer, std::move(touched)});
    return output;
  }

  PartFlow part;
  const ModelConfig& model_;
  const ParallelLayout& layout_;
  const WorkloadSpec& spec_;
  Dim tokens_;
  Dim hidden_;
  Dim vocab_;
};

/// One number a token, which every rank keeps: its part of the logits' gradient needs it.
TensorId statistic(Builder& build, const std::string& name, std::vector<TensorId> inputs) {
  const TensorId made = build.op({.name = name,
                                  .rule = Rule::reduce,
                                  .what = name,
                                  .inputs = std::move(inputs),
                                  .mixed = {"vocab"}},
                                 {name, {build.tokens_}, {DType::fp32, DType::fp32, 0}});
  build.part.flow.place(made, {});
  return made;
}

/// Cross-entropy over a vocabulary that stays cut: the greatest logit, the target's, and the sum of
/// exponentials are the only things that all ranks need, one fp32 a token each (arXiv 1909.08053,
/// section 3).
void add_loss(Builder& build, TensorId logits) {
  Dataflow& flow = build.part.flow;
  const TensorId greatest = statistic(build, "logit_max", {logits});
  const TensorId target = statistic(build, "logit_target", {logits});
  const TensorId sum = statistic(build, "exp_sum", {logits, greatest});
  const TensorId loss = build.op({.name = "loss",
                                  .rule = Rule::elementwise,
                                  .what = "cross_entropy",
                                  .inputs = {greatest, target, sum}},
                                 {"loss", {build.tokens_}, {DType::fp32, DType::fp32, 0}});
  flow.place(loss, {});
  if (build.spec_.phase != Phase::backward) return;
  flow.begin_backward();
  Tensor gradient = flow.value(logits).tensor;
  gradient.name = "d(logits)";
  gradient.format = build.spec_.formats.gradients;
  const TensorId dlogits = build.op({.name = "loss.backward",
                                     .rule = Rule::elementwise,
                                     .what = "cross_entropy",
                                     .inputs = {logits, greatest, sum}},
                                    gradient);
  build.backward(Gradient{logits, dlogits});
}

}  // namespace

PartFlow block_flow(const ModelConfig& model, const ParallelLayout& layout,
                    const WorkloadSpec& spec, std::int64_t window) {
  Builder build(model, layout, spec);
  const std::vector<Dim> h = {build.hidden_};
  const TensorId stream = build.part.flow.input(build.activation("stream", h), build.stream());
  const TensorId x1 = build.norm("norm1", stream, build.matmul_input("norm1.out", h));
  const TensorId middle = build.join("1", stream, build.attention(x1, window));
  const TensorId x2 = build.norm("norm2", middle, build.matmul_input("norm2.out", h));
  const TensorId out = build.join("2", middle, build.mlp(x2));
  if (spec.phase == Phase::backward) build.backward(out);
  return std::move(build.part);
}

PartFlow embedding_flow(const ModelConfig& model, const ParallelLayout& layout,
                        const WorkloadSpec& spec) {
  Builder build(model, layout, spec);
  Dataflow& flow = build.part.flow;
  const std::vector<Dim> h = {build.hidden_};
  // Indices are 32-bit words.
  const TensorFormat index{DType::fp32, DType::fp32, 0};
  const TensorId ids = flow.constant({"token ids", {build.tokens_}, index});
  const TensorId table =
      build.plain_weight("embedding.weight", {build.vocab_, build.hidden_}, Builder::cut("vocab"));
  TensorId x = build.op({.name = "embedding",
                         .rule = Rule::lookup,
                         .what = "lookup",
                         .inputs = {ids, table},
                         .mixed = {"vocab"}},
                        build.activation("embedding.out", h));
  if (model.positions == PositionKind::learned) {
    const TensorId places = flow.constant({"positions", {build.tokens_}, index});
    const TensorId rows = build.plain_weight(
        "positions.weight", {{"positions", model.max_positions}, build.hidden_}, {});
    flow.place(x, build.stream());
    const TensorId p = build.op({.name = "position_embedding",
                                 .rule = Rule::lookup,
                                 .what = "lookup",
                                 .inputs = {places, rows},
                                 .mixed = {"positions"}},
                                build.activation("positions.out", h));
    x = build.add("add_positions", x, p, build.activation("embedded", h));
  }
  flow.place(x, build.stream());
  if (spec.phase == Phase::backward) build.backward(x);
  return std::move(build.part);
}

PartFlow head_flow(const ModelConfig& model, const ParallelLayout& layout,
                   const WorkloadSpec& spec) {
  Builder build(model, layout, spec);
  Dataflow& flow = build.part.flow;
  const std::vector<Dim> h = {build.hidden_};
  const TensorId stream = flow.input(build.activation("stream", h), build.stream());
  TensorId x = build.norm("final_norm", stream, build.activation("final_norm.out", h));
  Dim rows = build.tokens_;
  if (!trains(spec) && spec.new_tokens > 1) {
    // Only the last token of each sequence has a successor to choose. Rows are selected whole.
    rows = {"sequences", spec.sequences};
    Tensor last{"last.out", {rows, build.hidden_}, spec.formats.activations};
    x = build.touch(build.op({.name = "last_tokens",
                              .rule = Rule::normalize,
                              .what = "select",
                              .inputs = {x},
                              .mixed = {"tokens", "sequences", "hidden"}},
                             last),
                    last);
  }
  const TensorId w =
      build.plain_weight("head.weight", {build.vocab_, build.hidden_}, Builder::cut("vocab"));
  const TensorId logits =
      build.matmul("head", x, w, {"logits", {rows, build.vocab_}, spec.formats.activations});
  if (trains(spec)) {
    add_loss(build, logits);
  } else {
    flow.place(logits, {});  // sampling looks at the whole vocabulary
  }
  return std::move(build.part);
}

}  // namespace weft::model
