// SPDX-License-Identifier: Apache-2.0
#include "models/profile/product_rows.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include <fmt/core.h>

#include "configs/reader/codec.hpp"
#include "configs/reader/sourced.hpp"
#include "configs/reader/strict_object.hpp"
#include "models/profile/names.hpp"

namespace weft::model {

namespace {

/// A measured product with the grid that it belongs to.
struct GridRow {
  GemmLibrary library = GemmLibrary::cublaslt;
  std::int64_t n = 0, k = 0, sms = 0;
  MeasuredProduct product;
};

/// Takes the fields of a row one after the other; a bad one is reported at its place.
class RowFields {
 public:
  explicit RowFields(const config::Spot& row) : row_(row) {}
  template <class T>
  void take(T& field, const typename config::Codec<T>::RangeType& range = {}) {
    auto value = config::Codec<T>::read(row_.item(next_++), range);
    good_ = good_ && value.has_value();
    if (value) field = *value;
  }
  [[nodiscard]] bool good() const { return good_; }

 private:
  const config::Spot& row_;
  std::size_t next_ = 0;
  bool good_ = true;
};

bool has_fields(const config::Spot& spot, std::size_t count, std::string_view names) {
  if (!spot.value().is_array()) {
    spot.expected("an array");
    return false;
  }
  if (spot.value().items().size() == count) return true;
  spot.error(fmt::format("a row has {} fields, not {}", count, spot.value().items().size()),
             std::string(names));
  return false;
}

constexpr std::string_view kGridFields =
    "library, N, K, SMs, M, time, rows, columns and depth of the tile, stages, CTAs of a cluster "
    "along m and "
    "n, parts of K";
constexpr std::string_view kKernelFields =
    "library, rows and columns of the tile, CTAs of a cluster along m and n, parts of K, products "
    "that it was "
    "fitted to, factor of its multiplications, factor of its loads, time from tile to tile, start";
constexpr std::int64_t kMost = std::int64_t{1} << 40;

}  // namespace

}  // namespace weft::model

namespace weft::config {

template <>
struct Codec<model::GridRow> {
  using RangeType = NoRange;
  static std::optional<model::GridRow> read(const Spot& spot, NoRange) {
    if (!model::has_fields(spot, 13, model::kGridFields)) return std::nullopt;
    const auto count = between(std::int64_t{1}, model::kMost);
    model::GridRow row;
    model::RowFields fields(spot);
    fields.take(row.library);
    for (std::int64_t* field : {&row.n, &row.k, &row.sms, &row.product.m}) {
      fields.take(*field, count);
    }
    fields.take(row.product.time, above(Duration()));
    for (std::int64_t* field :
         {&row.product.tile_m, &row.product.tile_n, &row.product.tile_k, &row.product.stages,
          &row.product.cluster_m, &row.product.cluster_n, &row.product.split_k}) {
      fields.take(*field, count);
    }
    if (!fields.good()) return std::nullopt;
    return row;
  }
  static TypeDescription describe(NoRange) { return {.type = "row", .keys = {}}; }
};

template <>
struct Codec<model::KernelCorrection> {
  using RangeType = NoRange;
  static std::optional<model::KernelCorrection> read(const Spot& spot, NoRange) {
    if (!model::has_fields(spot, 11, model::kKernelFields)) return std::nullopt;
    const auto count = between(std::int64_t{1}, model::kMost);
    model::KernelCorrection row;
    model::RowFields fields(spot);
    fields.take(row.library);
    for (std::int64_t* field :
         {&row.tile_m, &row.tile_n, &row.cluster_m, &row.cluster_n, &row.split_k, &row.products}) {
      fields.take(*field, count);
    }
    fields.take(row.step, between(0.2, 5.0));
    fields.take(row.traffic, between(0.2, 5.0));
    fields.take(row.turn, at_least(Duration()));
    fields.take(row.start, at_least(Duration()));
    if (!fields.good()) return std::nullopt;
    return row;
  }
  static TypeDescription describe(NoRange) { return {.type = "row", .keys = {}}; }
};

}  // namespace weft::config

namespace weft::model {

namespace {

using config::StrictObject;
using config::to_value;
using config::Value;

template <class Row>
struct Table {
  Source source;
  std::vector<Row> rows;
};

template <class Row>
std::vector<Table<Row>> read_tables(StrictObject& gemm, std::string_view name, std::string_view doc,
                                    std::string_view fields) {
  return gemm.optional_list({name, doc}, [&](StrictObject& object) {
    Table<Row> table;
    table.source =
        object.required_object({"source", "of all its rows"}, config::detail::read_source);
    table.rows = object.required<std::vector<Row>>({"rows", fields});
    return table;
  });
}

/// One table for each run of items with the same source.
template <class Item, class Rows>
Value write_tables(const std::vector<Item>& items, const Rows& push_rows) {
  Value tables = Value::array();
  for (auto from = items.begin(); from != items.end();) {
    const auto to = std::find_if(from, items.end(),
                                 [&](const Item& item) { return item.source != from->source; });
    Value lines = Value::array();
    for (auto item = from; item != to; ++item) push_rows(lines, *item);
    tables.push(Value::object(
        {{"source", config::detail::write_source(from->source)}, {"rows", std::move(lines)}}));
    from = to;
  }
  return tables;
}

}  // namespace

std::vector<KernelCorrection> read_corrections(StrictObject& gemm) {
  std::vector<KernelCorrection> kernels;
  for (const auto& table : read_tables<KernelCorrection>(
           gemm, "corrections", "kernels that are not what their extents say", kKernelFields)) {
    for (KernelCorrection kernel : table.rows) {
      kernel.source = table.source;
      kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

std::vector<MeasuredProducts> read_measured(StrictObject& gemm, std::string_view name) {
  std::vector<MeasuredProducts> grids;
  for (const auto& table : read_tables<GridRow>(
           gemm, name, "products that override the model on and between their rows", kGridFields)) {
    for (const GridRow& row : table.rows) {
      const auto same = [&](const MeasuredProducts& grid) {
        return std::tie(grid.library, grid.n, grid.k, grid.sms) ==
               std::tie(row.library, row.n, row.k, row.sms);
      };
      if (grids.empty() || !same(grids.back())) {
        if (std::any_of(grids.begin(), grids.end(), same)) {
          gemm.error(name, fmt::format("rows of N {}, K {} on {} SMs are not together", row.n,
                                       row.k, row.sms));
        }
        grids.push_back({row.library, row.n, row.k, row.sms, {}, table.source});
      } else if (row.product.m <= grids.back().rows.back().m) {
        gemm.error(name, fmt::format("M does not rise at {} of N {}, K {} on {} SMs", row.product.m,
                                     row.n, row.k, row.sms));
      }
      grids.back().rows.push_back(row.product);
    }
  }
  return grids;
}

Value write_corrections(const std::vector<KernelCorrection>& kernels) {
  return write_tables(kernels, [](Value& lines, const KernelCorrection& kernel) {
    Value row = Value::array();
    row.push(to_value(kernel.library));
    for (const std::int64_t field : {kernel.tile_m, kernel.tile_n, kernel.cluster_m,
                                     kernel.cluster_n, kernel.split_k, kernel.products}) {
      row.push(field);
    }
    row.push(kernel.step);
    row.push(kernel.traffic);
    row.push(to_value(kernel.turn));
    row.push(to_value(kernel.start));
    lines.push(std::move(row));
  });
}

Value write_measured(const std::vector<MeasuredProducts>& grids) {
  return write_tables(grids, [](Value& lines, const MeasuredProducts& grid) {
    for (const MeasuredProduct& product : grid.rows) {
      Value row = Value::array();
      row.push(to_value(grid.library));
      for (const std::int64_t field : {grid.n, grid.k, grid.sms, product.m}) row.push(field);
      row.push(to_value(product.time));
      for (const std::int64_t field :
           {product.tile_m, product.tile_n, product.tile_k, product.stages, product.cluster_m,
            product.cluster_n, product.split_k}) {
        row.push(field);
      }
      lines.push(std::move(row));
    }
  });
}

}  // namespace weft::model
