// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/published/te_rules.hpp"

#include <array>

#include <fmt/format.h>

#include "models/schedules/published/nccl_carrier.hpp"
#include "sim/units/format.hpp"

namespace weft::model {
namespace {

constexpr int compute_streams = 3;  // _NUM_MAX_UB_STREAMS

struct DefaultMethod {
  std::string_view product;
  std::string_view pass;
  std::string_view method;
};

// base.py, initialize_ub: the methods dictionary.
constexpr std::array default_methods = {
    DefaultMethod{"qkv", "fprop", "ring_exchange"},  DefaultMethod{"fc1", "fprop", "ring_exchange"},
    DefaultMethod{"proj", "dgrad", "ring_exchange"}, DefaultMethod{"fc2", "dgrad", "ring_exchange"},
    DefaultMethod{"proj", "fprop", "pipeline"},      DefaultMethod{"fc2", "fprop", "pipeline"},
    DefaultMethod{"qkv", "dgrad", "bulk"},           DefaultMethod{"qkv", "wgrad", "bulk"},
    DefaultMethod{"fc1", "dgrad", "bulk"},           DefaultMethod{"fc1", "wgrad", "bulk"},
    DefaultMethod{"proj", "wgrad", "external"},      DefaultMethod{"fc2", "wgrad", "external"},
};

}  // namespace

void te_rules(const FusedView& view, const Site& site, Rules& broken) {
  require(
      broken, nvlink_domain(site),
      fmt::format("userbuffers are peers of one NVLink domain: tensor parallelism must lie inside "
                  "it, and these {} ranks are on {} nodes, {} apart",
                  site.group.ranks, site.group.nodes, site.fabric.gpu_per_direction));
  require(
      broken, view.collective.extent.rows % view.collective.group == 0,
      fmt::format("sequence parallelism cuts {} tokens into {} equal parts, and they do not divide",
                  view.collective.extent.rows, view.collective.group));
}

sim::StreamId te_compute(GraphWriter& graph, int rank, int index) {
  const int stream = index % compute_streams;
  return stream == 0 ? graph.compute(rank)
                     : graph.program().stream(rank, fmt::format("compute.{}", stream), false);
}

void te_fork(GraphWriter& graph, int rank) {
  for (int i = 1; i < compute_streams; ++i)
    graph.join(rank, te_compute(graph, rank, i), graph.compute(rank));
}

void te_join(GraphWriter& graph, int rank) {
  for (int i = 1; i < compute_streams; ++i)
    graph.join(rank, graph.compute(rank), te_compute(graph, rank, i));
}

std::optional<std::string_view> te_default_method(std::string_view product, std::string_view pass) {
  for (const DefaultMethod& each : default_methods) {
    if (each.product == product && each.pass == pass) return each.method;
  }
  return std::nullopt;
}

}  // namespace weft::model
