// SPDX-License-Identifier: Apache-2.0
// One product launched once, whose tiles go part by part: each part waits for flags, posts flags, or stores its tiles
// over routes. Its kernel may have further warp groups that communicate.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedules/graph_writer.hpp"

namespace weft::model {

/// Bytes that every tile of a part stores, or loads, over a route.
struct TileStore {
  sim::RouteId route;
  Bytes bytes;
};

struct ProductPart {
  std::int64_t rows = 0;   ///< of the product
  std::int64_t tiles = 0;  ///< set by tiles_of_rows, or by who cuts tiles himself
  std::vector<sim::SignalWait> waits{};
  std::vector<sim::SignalPost> posts{};
  bool posts_per_tile = false;
  std::vector<TileStore> stores{};
  std::vector<TileStore> loads{};
};

struct ProductShape {
  int margin = 0;          ///< SMs that its grid leaves free
  bool persistent = true;  ///< else a CTA a tile, that frees its place when it is done
};

/// Counts out tiles to the parts in their order. A tile that straddles two parts belongs to the later one where its
/// rows arrive and to the earlier one where they leave; a part without a tile of its own hands its flags on.
[[nodiscard]] std::vector<ProductPart> tiles_of_rows(const GemmCost& cost, std::int64_t columns,
                                                     std::vector<ProductPart> parts, bool arrive);

/// What the product costs as one launch whose K is not split: by a kernel of our own tile table from Hopper on, by
/// the library's tiles before it, for which no published fused kernel is in the table.
[[nodiscard]] GemmCost flagged_cost(const FusedView& view, const Site& site, int margin = 0,
                                    int rank = 0);
/// The time that its tiles cannot be done in.
[[nodiscard]] Duration flagged_work(const FusedView& view, const Site& site, int margin = 0);

/// Writes the kernel; the caller may add warp groups, and launches it.
[[nodiscard]] sim::KernelWriter write_flagged(GraphWriter& graph, int rank, std::string_view label,
                                              const ProductShape& shape, const GemmCost& cost,
                                              const std::vector<ProductPart>& parts);

/// Launches the product on the rank's compute stream.
void launch_product(GraphWriter& graph, int rank, std::string_view label, sim::KernelId kernel);

/// Writes and launches a product whose parts are rows that `arrive`, or leave.
void launch_rows(GraphWriter& graph, int rank, std::string_view label, const ProductShape& shape,
                 const std::vector<ProductPart>& parts, bool arrive);

/// Adds the parts as ranges of the kernel's last role.
void write_parts(GraphWriter& graph, int rank, const GemmCost& cost,
                 const std::vector<ProductPart>& parts, sim::KernelWriter& kernel);

/// The part with so many bytes over a route in all: its tiles carry as much each, but where that is no whole number
/// some go first with a byte more. `way` is ProductPart::stores or loads.
[[nodiscard]] std::vector<ProductPart> carrying(const ProductPart& part, sim::RouteId route,
                                                Bytes bytes,
                                                std::vector<TileStore> ProductPart::*way);

/// Bytes of one of `tiles` tiles that store `rows` rows of the output, rounded up.
[[nodiscard]] Bytes tile_bytes(const FusedView& view, std::int64_t rows, std::int64_t tiles);

[[nodiscard]] sim::SignalPost add_one(sim::SignalId signal);

}  // namespace weft::model
