// SPDX-License-Identifier: Apache-2.0
// The backward pass of a dataflow, operator by operator: the chain rule, nothing about ranks.
//
// contract y = x w: dgrad dx = dy w, wgrad dw = dy x, both contractions. A sum passes its gradient
// on. An element-wise, norm or attention operator gets one operator that reads its saved inputs. A
// lookup becomes a scatter. Gradients of a tensor with several consumers are summed. What the
// layout placed has its gradient in the same place, weights of products included; a norm's weight
// has no say: what is left Partial of its gradient is reduced once a step.
#pragma once

#include <vector>

#include "models/layouts/dataflow.hpp"
#include "sim/units/dtype.hpp"

namespace weft::model {

struct Gradient {
  TensorId of;
  TensorId gradient;
};

/// How the elements of gradients are stored.
struct GradientFormats {
  TensorFormat activations;
  TensorFormat weights;
};

/// Appends the backward pass from `seed`, the gradient of one output, to every operator that it
/// depends on.
///
/// Call Dataflow::begin_backward first. Returns the gradient of every input and weight, in order of
/// their ids.
std::vector<Gradient> append_backward(Dataflow& dataflow, Gradient seed,
                                      const GradientFormats& formats);

}  // namespace weft::model
