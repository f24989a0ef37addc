// SPDX-License-Identifier: Apache-2.0
// Two matrix products with an activation between them, in any pairing of cuts, for tests.
#pragma once

#include <string>

#include "models/layouts/backward.hpp"
#include "models/layouts/dataflow.hpp"
#include "models/layouts/derive.hpp"

namespace weft::model::test {

enum class Cut { column, row };

/// Sizes of the MLP: tokens = b*s, hidden = h, middle = 4h.
struct MlpSizes {
  std::int64_t tokens = 4096;
  std::int64_t hidden = 8192;
  std::int64_t middle = 4 * 8192;
};

/// X -> fc1 -> activation -> fc2 -> Y, and backward from dY to dX.
struct Mlp {
  Dataflow flow;
  TensorId x{0};
  TensorId y{0};
  TensorId dx{0};
};

/// Builds it with X, Y, dX and dY placed as `ends`.
inline Mlp make_mlp(Cut first, Cut second, const MlpSizes& sizes, const Placements& ends,
                    bool with_backward = true) {
  const TensorFormat bf16;
  const Dim tokens{"tokens", sizes.tokens};
  const Dim hidden{"hidden", sizes.hidden};
  const Dim middle{"middle", sizes.middle};
  const auto on_tp = [](const char* dim) { return Placements(Axis::tp, Placement::shard(dim)); };

  Mlp mlp;
  Dataflow& flow = mlp.flow;
  mlp.x = flow.input({"x", {tokens, hidden}, bf16}, ends);
  const TensorId w1 = flow.weight({"w1", {middle, hidden}, bf16},
                                  on_tp(first == Cut::column ? "middle" : "hidden"));
  // The output features of fc2 have the size of `hidden`, but are another dimension of its weight.
  const Dim out{"out", sizes.hidden};
  const TensorId w2 =
      flow.weight({"w2", {out, middle}, bf16}, on_tp(second == Cut::column ? "out" : "middle"));
  Node fc1{.name = "fc1", .rule = Rule::contract, .what = "matmul", .inputs = {mlp.x, w1}};
  const TensorId z = flow.add(fc1, {{"z", {tokens, middle}, bf16}}).front();
  Node act{.name = "gelu", .rule = Rule::elementwise, .what = "gelu", .inputs = {z}};
  const TensorId a = flow.add(act, {{"a", {tokens, middle}, bf16}}).front();
  Node fc2{.name = "fc2", .rule = Rule::contract, .what = "matmul", .inputs = {a, w2}};
  mlp.y = flow.add(fc2, {{"y", {tokens, out}, bf16}}).front();
  flow.place(mlp.y, ends);
  if (!with_backward) return mlp;
  flow.begin_backward();
  const TensorId dy = flow.input({"d(y)", {tokens, out}, bf16}, ends);
  for (const Gradient& gradient : append_backward(flow, {mlp.y, dy}, {bf16, bf16})) {
    if (gradient.of != mlp.x) continue;
    mlp.dx = gradient.gradient;
    flow.place(mlp.dx, ends);
  }
  return mlp;
}

}  // namespace weft::model::test
