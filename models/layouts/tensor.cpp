// SPDX-License-Identifier: Apache-2.0
#include "models/layouts/tensor.hpp"

#include <fmt/core.h>

#include "models/layouts/error.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {

std::string to_text(const Placement& placement) {
  switch (placement.kind()) {
    case Placement::Kind::replicate:
      return "Replicate";
    case Placement::Kind::shard:
      return fmt::format("Shard({})", placement.dim());
    case Placement::Kind::partial:
      return "Partial(sum)";
  }
  return "unknown";
}

std::string to_text(const Placements& placements) {
  std::string text;
  for (const Axis axis : every_axis) {
    if (placements.on(axis).is_replicate()) continue;
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", to_text(placements.on(axis)),
                        name_of(axis));
  }
  return text.empty() ? "Replicate" : text;
}

std::int64_t size_of(const Tensor& tensor, const std::string& dim) {
  for (const Dim& each : tensor.dims) {
    if (each.name == dim) return each.size;
  }
  return 0;
}

std::int64_t elements_of(const Tensor& tensor) {
  std::int64_t product = 1;
  for (const Dim& dim : tensor.dims) product = checked_multiply(product, dim.size);
  return product;
}

Bytes bytes_of(const Tensor& tensor) {
  return bytes_of(tensor.format, elements_of(tensor));
}

Tensor local_part(const Tensor& tensor, const Placements& placements, const Mesh& mesh) {
  Tensor part = tensor;
  for (const Axis axis : every_axis) {
    const Placement& placement = placements.on(axis);
    const int ranks = mesh.size(axis);
    if (!placement.is_shard() || ranks == 1) continue;
    bool found = false;
    for (Dim& dim : part.dims) {
      if (dim.name != placement.dim()) continue;
      found = true;
      if (dim.size % ranks != 0) {
        throw LayoutError(
            tensor.name, tensor.name,
            fmt::format("{}: dimension {} of size {} cannot be cut into {} equal parts on {}",
                        tensor.name, dim.name, dim.size, ranks, name_of(axis)));
      }
      dim.size /= ranks;
    }
    if (!found) {
      throw LayoutError(tensor.name, tensor.name,
                        fmt::format("{}: {} on {}, but it has no such dimension", tensor.name,
                                    to_text(placement), name_of(axis)));
    }
  }
  return part;
}

}  // namespace weft::model
