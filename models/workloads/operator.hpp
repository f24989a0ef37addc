// SPDX-License-Identifier: Apache-2.0
// One operator of a workload as one rank runs it: its shape, its work and its operands.
//
// GEMM convention: X [M,K], W [N,K] -> Y [M,N], 2MNK FLOPs. `read` and `written` are compulsory HBM
// traffic, every operand moved once; what a kernel moves on top of that is the cost model's
// business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/layouts/tensor.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/dtype.hpp"
#include "sim/units/rates.hpp"

namespace weft::model {

/// Which derivative an operator computes; forward operators compute none.
enum class Pass : std::uint8_t { forward, dgrad, wgrad };

constexpr std::string_view name_of(Pass pass) {
  return pass == Pass::forward ? "forward" : pass == Pass::dgrad ? "dgrad" : "wgrad";
}

/// M, N and K of X [M,K] W [N,K] -> Y [M,N].
struct MatmulShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  friend bool operator==(const MatmulShape&, const MatmulShape&) = default;
};

/// A matrix product; `rank` is what one rank computes, `global` what the group computes together.
struct MatmulWork {
  MatmulShape rank;
  MatmulShape global;
  TensorFormat x;
  TensorFormat w;
  TensorFormat y;
  friend bool operator==(const MatmulWork&, const MatmulWork&) = default;
};

/// Scaled dot-product attention of one rank's heads; never writes its scores to memory.
struct AttentionWork {
  std::int64_t sequences = 0;     ///< independent sequences
  std::int64_t query_length = 0;  ///< new tokens of each sequence
  std::int64_t kv_length = 0;     ///< tokens attended to, the new ones included
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  ///< latest tokens that a query sees; 0: all
  bool causal = true;
  bool backward = false;
  TensorFormat format;  ///< of q, k, v and the output; the KV cache may be stored in another one
  TensorFormat cache;
  friend bool operator==(const AttentionWork&, const AttentionWork&) = default;
};

/// Work bound by memory: norm, activation, residual, rotary, lookup, loss.
struct ElementwiseWork {
  std::string what;
  std::int64_t elements = 0;  ///< of the output on one rank
  friend bool operator==(const ElementwiseWork&, const ElementwiseWork&) = default;
};

/// An operand with its whole shape and where it lies.
struct Operand {
  Tensor tensor;
  Placements placements;
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// One operator as one rank runs it.
struct Operator {
  std::string name;  ///< "fc1", "fc1.dgrad", "attention", "norm1"
  Pass pass = Pass::forward;
  std::variant<MatmulWork, AttentionWork, ElementwiseWork> work;
  Flops flops;    ///< of one rank
  Bytes read;     ///< by one rank
  Bytes written;  ///< by one rank
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  friend bool operator==(const Operator&, const Operator&) = default;
};

/// Returns the matrix product of an operator, or null if it is not one.
const MatmulWork* matmul_of(const Operator& op);

}  // namespace weft::model
