// SPDX-License-Identifier: Apache-2.0
// A tensor with named dimensions, and what one rank holds of it under a placement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/layouts/placement.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/dtype.hpp"

namespace weft::model {

struct Dim {
  std::string name;
  std::int64_t size = 0;
  friend bool operator==(const Dim&, const Dim&) = default;
};

/// A shape with named dimensions and the format of its elements.
struct Tensor {
  std::string name;
  std::vector<Dim> dims;
  TensorFormat format;
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// Returns the size of `dim`, or 0 if the tensor has no such dimension.
std::int64_t size_of(const Tensor& tensor, const std::string& dim);
/// Returns the number of elements of the whole tensor.
std::int64_t elements_of(const Tensor& tensor);
/// Returns the bytes of the whole tensor, scales included.
Bytes bytes_of(const Tensor& tensor);
/// Returns the part of `tensor` that one rank holds; throws LayoutError where a size does not
/// divide.
Tensor local_part(const Tensor& tensor, const Placements& placements, const Mesh& mesh);

}  // namespace weft::model
