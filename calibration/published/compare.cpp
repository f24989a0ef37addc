// SPDX-License-Identifier: Apache-2.0
#include "calibration/published/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "models/cost/cost_model.hpp"
#include "models/cost/nccl_symmetric.hpp"
#include "models/planner/ground.hpp"
#include "models/planner/search.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"

namespace weft::calibration {
namespace {

// A difference that a published figure means.
constexpr double meant = 0.05;

class Sites {
 public:
  Sites(const std::string& machines, const config::SearchPath& search_path)
      : machines_(machines), search_path_(search_path) {}
  const model::Site& of(std::string_view machine, int ranks) {
    const auto key = std::pair(std::string(machine), ranks);
    const auto found = sites_.find(key);
    if (found != sites_.end()) return found->second;
    const model::Ground ground = model::read_ground(fmt::format("{}/{}.json", machines_, machine),
                                                    std::nullopt, search_path_);
    return sites_
        .emplace(key, model::make_site(ground.machine, ground.profile,
                                       topology::packed_places(ground.machine, ranks)))
        .first->second;
  }

 private:
  std::string machines_;
  const config::SearchPath& search_path_;
  std::map<std::pair<std::string, int>, model::Site> sites_;
};

model::Knobs pinned(std::string_view text) {
  model::Knobs knobs;
  const auto equals = text.find('=');
  if (equals != std::string_view::npos)
    knobs.set(text.substr(0, equals),
              std::int64_t{std::stoi(std::string(text.substr(equals + 1)))});
  return knobs;
}

const char* name_of(PublishedWay way) {
  switch (way) {
    case PublishedWay::chosen:
      return "as NCCL chooses";
    case PublishedWay::ring:
      return "ring";
    case PublishedWay::nvls:
      return "NVLS";
    case PublishedWay::symmetric:
      return "symmetric kernel";
    case PublishedWay::copy_engine:
      return "copy engines";
  }
  return "";
}

std::string what(const PublishedBoundary& row) {
  return fmt::format("{} {} {} {}x{}x{}{}{}{}{}", row.system, model::name_of(row.kind), row.machine,
                     row.m, row.n, row.k, row.dtype == DType::bf16 ? "" : " ",
                     row.dtype == DType::bf16 ? "" : weft::name_of(row.dtype),
                     row.knob.empty() ? "" : " ", row.knob);
}
std::string what(const PublishedCollective& row) {
  return fmt::format("{} over {} of {}, {} MiB, {}", weft::name_of(row.op), row.ranks, row.machine,
                     row.bytes >> 20, name_of(row.way));
}
std::string what(const PublishedCopy& row) {
  return fmt::format("copies between 2 GPUs of {}, {}", row.machine,
                     row.both_ways ? "both ways" : "one way");
}
std::string what(const PublishedProduct& row) {
  return fmt::format("{} {}x{}x{} on one of {}", row.what, row.m, row.n, row.k, row.machine);
}

double ms(Duration time) {
  return static_cast<double>(time.ps()) / 1e9;
}

std::vector<PublishedRow> boundary_rows(const PublishedBoundary& row, Sites& sites) {
  const model::Site& site = sites.of(row.machine, row.ranks);
  TensorFormat format;
  format.element = row.dtype;
  const model::Boundary boundary =
      model::make_boundary(row.kind, {row.m, row.n, row.k}, format, row.ranks);
  model::SearchOptions options;
  options.schedules = {std::string(row.schedule)};
  options.fixed = pinned(row.knob);
  const model::BoundarySearch found = model::search(boundary, site, {}, options);
  const auto own =
      std::find_if(found.best.begin(), found.best.end(), [&](const model::Candidate& each) {
        return each.choice.schedule->info().name == row.schedule;
      });
  PublishedRow result;
  result.what = what(row);
  result.assumed = row.assumed;
  result.source = row.source;
  result.machine_stated = row.machine_stated;
  if (own == found.best.end()) {
    const auto broken =
        model::find_schedule(row.schedule)
            ->refusals(boundary, model::Knobs(model::find_schedule(row.schedule)->info().knobs),
                       site);
    result.predicted = "refused";
    result.assumed = broken.empty() ? std::string("no run ends") : broken.front();
    result.error = 1;
    return {result};
  }
  const double serial = ms(found.serial.figures.overlapped), fused = ms(own->figures.overlapped);
  std::vector<PublishedRow> rows;
  const double speedup = row.speedup > 0      ? row.speedup
                         : row.unfused_ms > 0 ? row.unfused_ms / row.fused_ms
                                              : 0;
  if (speedup > 0) {
    PublishedRow each = result;
    each.published = fmt::format("{:.2f}x", speedup);
    each.predicted = fmt::format("{:.2f}x", serial / fused);
    each.error = serial / fused / speedup - 1;
    if (std::abs(speedup - 1) > meant) each.sign = (speedup > 1) == (serial > fused);
    each.loss = speedup < 1;
    rows.push_back(each);
  }
  const auto time = [&](const char* which, double published, double predicted) {
    if (published <= 0) return;
    PublishedRow each = result;
    each.what += which;
    each.published = fmt::format("{:.3f} ms", published);
    each.predicted = fmt::format("{:.3f} ms", predicted);
    each.error = predicted / published - 1;
    rows.push_back(each);
  };
  time(" unfused", row.unfused_ms, serial);
  time(" fused", row.fused_ms, fused);
  return rows;
}

model::BoundaryCollective collective_of(CollectiveOp op, int ranks, std::int64_t bytes) {
  model::BoundaryCollective collective;
  collective.op = op;
  collective.group = ranks;
  collective.message = Bytes::from(bytes);
  return collective;
}

std::optional<model::CollectiveCost> carried(const PublishedCollective& row,
                                             const model::CollectiveProblem& problem,
                                             model::Prices& prices, const model::Site& site) {
  const Bytes message = Bytes::from(row.bytes);
  switch (row.way) {
    case PublishedWay::chosen:
      return prices.library(problem, message);
    case PublishedWay::ring:
      return prices.library(problem, message, model::CollectiveAlgorithm::ring);
    case PublishedWay::nvls:
      return prices.library(problem, message, model::CollectiveAlgorithm::nvls);
    case PublishedWay::symmetric:
      return model::symmetric_collective(site.profile, site.fabric, problem, message);
    case PublishedWay::copy_engine:
      return prices.direct(problem, model::Transport::copy_engine, 0);
  }
  return std::nullopt;
}

// What NCCL itself would think of the row.
std::string baseline_of(const PublishedCollective& row, const model::CollectiveProblem& problem,
                        const model::Site& site) {
  const Bytes message = Bytes::from(row.bytes);
  if (row.way == PublishedWay::copy_engine) return "";
  if (row.way == PublishedWay::symmetric) {
    const bool of_shards = row.op != CollectiveOp::all_reduce;
    const auto pick = model::nccl_symmetric_pick(model::NcclGeneration::hopper, row.op, row.ranks,
                                                 of_shards ? row.bytes / row.ranks : row.bytes,
                                                 site.fabric.switch_reduces);
    return pick ? fmt::format("its symmetric model {:.1f} us", pick->time_us) : "";
  }
  model::Prices tuner(site.profile, site.fabric, model::CostModel::nccl_tuner);
  const auto cost = carried(row, problem, tuner, site);
  if (!cost || cost->source != model::SourceKind::published) return "";
  return fmt::format("its tuner {:.1f} us", ms(cost->time(message)) * 1e3);
}

double bus_gbps(CollectiveOp op, int ranks, std::int64_t bytes, double us) {
  return static_cast<double>(bytes) * static_cast<double>(wire_numerator(op, ranks)) / ranks / us /
         1e3;
}

PublishedRow collective_row(const PublishedCollective& row, Sites& sites) {
  const model::Site& site = sites.of(row.machine, row.ranks);
  const model::CollectiveProblem problem =
      model::problem_of(collective_of(row.op, row.ranks, row.bytes), site);
  auto cost = carried(row, problem, *site.prices, site);
  if (!cost && row.way == PublishedWay::nvls) {
    model::Knobs knobs(model::nccl_knobs());
    knobs.set("NCCL_ALGO", std::string("nvls"));
    std::string why;
    cost = model::nccl_carrier(collective_of(row.op, row.ranks, row.bytes), knobs, site, why);
  }
  PublishedRow result;
  result.group = PublishedGroup::collective;
  result.what = what(row);
  result.baseline = baseline_of(row, problem, site);
  result.assumed = row.assumed;
  result.source = row.source;
  result.machine_stated = row.machine_stated;
  const double us = cost ? ms(cost->time(Bytes::from(row.bytes))) * 1e3 : 0;
  if (row.us > 0) {
    result.published = fmt::format("{:.1f} us", row.us);
    result.predicted = cost ? fmt::format("{:.1f} us", us) : "none";
    result.error = us / row.us - 1;
  } else {
    const double bus = cost ? bus_gbps(row.op, row.ranks, row.bytes, us) : 0;
    result.published = fmt::format("{:.0f} GB/s", row.busbw_gbps);
    result.predicted = cost ? fmt::format("{:.0f} GB/s", bus) : "none";
    result.error = bus / row.busbw_gbps - 1;
  }
  return result;
}

PublishedRow copy_row(const PublishedCopy& row, Sites& sites) {
  const model::Site& site = sites.of(row.machine, 2);
  const model::CopyEngineCosts& engine = site.profile.copy_engine(model::CopyPath::to_peer);
  PublishedRow result;
  result.group = PublishedGroup::collective;
  result.what = what(row);
  result.source = row.source;
  const double rate =
      static_cast<double>(
          (row.both_ways ? engine.duplex_rate.value * 2 : engine.rate.value).bytes_per_second()) /
      1e9;
  result.published = fmt::format("{:.0f} GB/s", row.gbps);
  result.predicted = fmt::format("{:.0f} GB/s", rate);
  result.error = rate / row.gbps - 1;
  return result;
}

PublishedRow product_row(const PublishedProduct& row, Sites& sites) {
  const model::Site& site = sites.of(row.machine, 8);
  const model::GemmCost cost =
      site.prices->gemm({row.m, row.n, row.k, DType::bf16, DType::bf16, row.library}, site.sms(0));
  PublishedRow result;
  result.group = PublishedGroup::product;
  result.what = what(row);
  result.assumed = row.assumed;
  result.source = row.source;
  const double operations =
      2. * static_cast<double>(row.m) * static_cast<double>(row.n) * static_cast<double>(row.k);
  const double published = operations / row.tflops / 1e9;
  result.published = fmt::format("{:.3f} ms", published);
  result.predicted = fmt::format("{:.3f} ms", ms(cost.time));
  result.error = ms(cost.time) / published - 1;
  return result;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<NvlsPoint> compare_nvls(Sites& sites) {
  // github.com/NVIDIA/nccl/issues/1455: 2 to 4 GB on H100.
  constexpr std::pair<int, double> published[] = {{4, 370}, {5, 420}, {6, 440}, {7, 460}, {8, 480}};
  constexpr Bytes message = Bytes::from(std::int64_t{2} << 30);
  std::vector<NvlsPoint> points;
  for (const auto& [gpus, figure] : published) {
    const int ranks = gpus;  // clang before 16 does not let a lambda use a structured binding
    const model::Site& site = sites.of("h100x8", ranks);
    const auto problem = model::CollectiveProblem::in_node(CollectiveOp::all_reduce, ranks);
    const auto bus = [&](model::CollectiveAlgorithm algorithm) {
      const auto cost = site.prices->library(problem, message, algorithm);
      return cost ? bus_gbps(problem.op, ranks, message.count(), ms(cost->time(message)) * 1e3)
                  : 0.;
    };
    points.push_back({ranks, figure, bus(model::CollectiveAlgorithm::nvls),
                      bus(model::CollectiveAlgorithm::ring)});
  }
  return points;
}

}  // namespace

PublishedReport compare_published(const std::string& machines,
                                  const config::SearchPath& search_path, std::string_view only) {
  Sites sites(machines, search_path);
  PublishedReport report;
  const auto add = [&](const auto& rows, const auto& predict) {
    for (const auto& row : rows) {
      if (what(row).find(only) != std::string::npos) predict(row);
    }
  };
  add(published_boundaries(), [&](const PublishedBoundary& row) {
    for (PublishedRow& each : boundary_rows(row, sites)) report.rows.push_back(std::move(each));
  });
  add(published_collectives(),
      [&](const PublishedCollective& row) { report.rows.push_back(collective_row(row, sites)); });
  add(published_copies(),
      [&](const PublishedCopy& row) { report.rows.push_back(copy_row(row, sites)); });
  add(published_products(),
      [&](const PublishedProduct& row) { report.rows.push_back(product_row(row, sites)); });
  report.nvls = compare_nvls(sites);
  std::vector<double> errors, stated;
  for (const PublishedRow& row : report.rows) {
    errors.push_back(std::abs(row.error));
    if (row.machine_stated) stated.push_back(errors.back());
    if (!row.sign) continue;
    ++report.signs;
    report.right += *row.sign ? 1 : 0;
    report.losses += row.loss ? 1 : 0;
    report.losses_right += row.loss && *row.sign ? 1 : 0;
  }
  report.median_error = median_of(std::move(errors));
  report.median_stated = median_of(std::move(stated));
  return report;
}

}  // namespace weft::calibration
