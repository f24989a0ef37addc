// SPDX-License-Identifier: Apache-2.0
// FlashOverlap: one product that is not persistent; its tiles are reordered so that the tiles of some waves, a group,
// lie together, and bump the group's counter as they end. On a second stream, of higher priority, for each group a
// kernel of one thread spins until the counter is full, and NCCL sends the group: as it comes, with its own channels and
// its own choice for the group's size (src/overlap_impl.cu: ncclCommInitRank without a configuration). The two SMs that
// its tuner counts off are an estimate of what the product loses: they cut the waves, and bind nobody.
//
// How many waves each group has is a composition of the waves; its own predictor orders them
// (models/cost/flashoverlap_predictor.hpp), and the best of them are simulated. Putting the rows back in order is
// fused in the norm that follows and costs nothing here.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/cost/flashoverlap_predictor.hpp"
#include "models/schedules/beside.hpp"
#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

constexpr std::int64_t budgeted_sms = 2;  // tune/search.py: sm_count - 2
constexpr std::int64_t alignment = 128;

// "1-2-3": waves of each group; none for what is no such list.
std::optional<std::vector<std::int64_t>> listed_waves(std::string_view text) {
  std::vector<std::int64_t> waves;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    std::int64_t count = 0;
    const auto [stop, error] = std::from_chars(at, end, count);
    if (error != std::errc() || count < 1) return std::nullopt;
    waves.push_back(count);
    if (stop == end) return waves;
    if (*stop != '-') return std::nullopt;
    at = stop + 1;
  }
  return std::nullopt;
}

class FlashOverlap final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    static const ScheduleInfo info{
        .name = "flashoverlap",
        .system = "FlashOverlap",
        .summary =
            "groups of waves of one product, each sent by NCCL once a signal kernel sees it done",
        .citation =
            "infinigence/FlashOverlap at c872841: tune/search.py, csrc/overlap, wait.cuh; "
            "arXiv 2504.19519",
        .knobs = {{"groups",
                   "waves of each group, as 1-2-3; auto: what its predictor likes best",
                   {"auto"},
                   "auto",
                   "cSeg",
                   "waves of each group joined by -"}},
        .applies_to = "product + all-reduce; product + reduce-scatter",
        .order = "tiles in the order of their waves, reordered so that a group is contiguous",
        .edges =
            "a counter a group that every tile bumps; a one-thread kernel spins on it before NCCL",
        .resources =
            "the product's CTAs leave their SMs tile by tile, and NCCL's channels take those that "
            "they need; its tuner counts on two",
        .buffers = "the product's output in the order of its groups",
        .rules = {"Ampere or Ada (sm_80, 86, 89)", "M and N divide by 128, K by 8",
                  "the groups' waves sum to ceil(tiles / (SMs - 2))"}};
    return info;
  }

  bool overlaps(const Boundary& boundary, const Knobs& knobs, const Site& site) const override {
    const FusedView view(boundary, *fused_pair(boundary));
    return has_independent_work(boundary) || tiles_of_groups(view, knobs, site).size() > 1;
  }

  std::optional<Nomination> nominate(const Boundary& boundary, const Site& site) const override {
    const Knobs knobs(info().knobs);
    if (!refusals(boundary, knobs, site).empty()) return std::nullopt;
    const FusedView view(boundary, *fused_pair(boundary));
    auto ranked = ranked_groupings(view, site);
    Nomination nomination;
    nomination.predictor = "FlashOverlap's predictor";
    nomination.considered = static_cast<std::int64_t>(ranked.size());
    nomination.expected = Duration::from_ps(std::llround(ranked.front().first * 1e12));
    if (ranked.size() > most_nominated) ranked.resize(most_nominated);
    for (const auto& [time, text] : ranked) {
      nomination.points.emplace_back(info().knobs);
      nomination.points.back().set("groups", text);
    }
    return nomination;
  }
  Knobs normalised(const Boundary& boundary, const Knobs& knobs, const Site& site) const override {
    if (knobs.text("groups") != "auto") return knobs;
    const FusedView view(boundary, *fused_pair(boundary));
    Knobs result = knobs;
    result.set("groups", ranked_groupings(view, site).front().second);
    return result;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override {
    return {CollectiveOp::all_reduce, CollectiveOp::reduce_scatter};
  }
  bool addresses_peers() const override { return false; }
  std::int64_t sms_left_free(const Knobs&, const Site&) const override { return budgeted_sms; }
  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    const int number = architecture_number(site);
    require(broken, number == 80 || number == 86 || number == 89,
            fmt::format("its CUTLASS products are built for sm_80, sm_86 and sm_89, and this is {}",
                        site.profile.gpu.architecture));
    const std::int64_t m = view.work.rank.m, n = view.work.rank.n;
    require(broken, m % alignment == 0 && n % alignment == 0,
            fmt::format("M and N must divide by 128, and are {} and {}", m, n));
    require_alignment(broken, view, "cp.async");
    if (!broken.empty() || knobs.text("groups") == "auto") return;
    const auto waves = listed_waves(knobs.text("groups"));
    std::int64_t sum = 0;
    if (waves) {
      for (const std::int64_t each : *waves) sum += each;
    }
    require(broken, waves && sum == wave_count(view, site),
            fmt::format("groups {} must be waves joined by -, {} in all", knobs.text("groups"),
                        wave_count(view, site)));
  }
  std::vector<Transfer> moves(const FusedView& view, const Knobs& knobs,
                              const Site& site) const override {
    // A group is a run of tiles; as index sets its rows are the same on every rank, so that runs of columns do.
    std::vector<Transfer> all;
    const auto groups = tiles_of_groups(view, knobs, site);
    const std::vector<Bytes> bytes = bytes_of_groups(view, groups);
    std::int64_t tiles = 0, done = 0;
    for (const std::int64_t group : groups) tiles += group;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::int64_t columns = view.collective.extent.columns;
      const RowRange part{columns * done / tiles, columns * (done + groups[g]) / tiles};
      done += groups[g];
      const auto own = part_transfers(view, site, nccl(view, site, bytes[g]).algorithm, part,
                                      static_cast<int>(g));
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    const Site& site = program.site();
    const auto groups = tiles_of_groups(view, knobs, site);
    std::vector<RankSignals> counters;  // [group][rank]
    for (std::size_t g = 0; g < groups.size(); ++g) counters.push_back(graph.signals());
    const GemmCost cost = flagged_cost(view, site);
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      std::vector<ProductPart> parts;
      std::int64_t done = 0;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        ProductPart part;
        part.tiles = groups[g];
        part.rows = view.work.rank.m * (done + groups[g]) / cost.tiles -
                    view.work.rank.m * done / cost.tiles;
        done += groups[g];
        part.posts = {add_one(counters[g][static_cast<std::size_t>(rank)])};
        part.posts_per_tile = true;
        parts.push_back(part);
      }
      ProductShape shape;
      shape.persistent = false;
      const sim::KernelWriter kernel = write_flagged(graph, rank, label, shape, cost, parts);
      launch_product(graph, rank, label, kernel.id());
    }
    const std::vector<Bytes> bytes = bytes_of_groups(view, groups);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<sim::StreamId> streams;
      for (int rank = 0; rank < graph.ranks(); ++rank) {
        streams.push_back(graph.communication(rank));
        graph.wait_kernel(rank, streams.back(), counters[g][static_cast<std::size_t>(rank)],
                          static_cast<std::uint64_t>(groups[g]), static_cast<int>(g));
        program.tag(rank, static_cast<int>(g), sim::Purpose::communication);
      }
      program.collective(nccl(view, site, bytes[g]), bytes[g], view.collective.name, streams);
    }
  }
  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    return flagged_work(view, site);
  }
  Bytes buffers(const FusedView& view, const Knobs&, const Site&) const override {
    return output_bytes(view);
  }

 private:
  static std::int64_t wave_count(const FusedView& view, const Site& site) {
    return divide_up(flagged_cost(view, site).tiles, site.sms(0).sms() - budgeted_sms);
  }
  static CollectiveCost nccl(const FusedView& view, const Site& site, Bytes message) {
    return site.prices->library(problem_of(view.collective, site), message);
  }
  // What each group of tiles sends; the last the rest.
  static std::vector<Bytes> bytes_of_groups(const FusedView& view,
                                            const std::vector<std::int64_t>& groups) {
    std::int64_t tiles = 0;
    for (const std::int64_t group : groups) tiles += group;
    const Bytes whole = view.collective.message;
    std::vector<Bytes> bytes;
    Bytes sent;
    for (const std::int64_t group : groups) {
      bytes.push_back(Bytes::from(narrow(Int128{whole.count()} * group / tiles)));
      sent += bytes.back();
    }
    bytes.back() += whole - sent;
    return bytes;
  }
  static std::vector<std::int64_t> tiles_of_groups(const FusedView& view, const Knobs& knobs,
                                                   const Site& site) {
    const std::int64_t per_wave = site.sms(0).sms() - budgeted_sms;
    std::int64_t left = flagged_cost(view, site).tiles;
    std::vector<std::int64_t> groups;
    std::string text = knobs.text("groups");
    if (text == "auto") text = ranked_groupings(view, site).front().second;
    const auto all_waves = listed_waves(text);
    WEFT_CHECK(all_waves.has_value(), "{} is no list of waves", text);
    for (const std::int64_t waves : *all_waves) {
      groups.push_back(std::min(left, waves * per_wave));
      left -= groups.back();
    }
    return groups;
  }
  // Every grouping of its search with its predicted time, best first.
  static std::vector<std::pair<double, std::string>> ranked_groupings(const FusedView& view,
                                                                      const Site& site) {
    const GemmCost cost = flagged_cost(view, site);
    FlashOverlapProblem problem;
    problem.m = view.work.rank.m;
    problem.n = view.work.rank.n;
    problem.tiles = cost.tiles;
    problem.sms = static_cast<int>(site.sms(0).sms());
    problem.ranks = view.collective.group;
    problem.op = view.collective.op;
    problem.gemm = static_cast<double>(cost.time.ps()) / 1e12;
    // The bandwidth curve that its tuner measures (tune/bandwidth.py: NCCL alone), from our price of the same.
    const double both = problem.op == CollectiveOp::all_reduce ? 2 : 1;
    for (std::int64_t elements = 1 << 16; elements <= std::int64_t{1} << 32; elements *= 2) {
      const Bytes bytes = bytes_of(view.collective.format, elements);
      const double seconds = static_cast<double>(nccl(view, site, bytes).time(bytes).ps()) / 1e12;
      problem.bandwidth.emplace_back(static_cast<double>(elements),
                                     static_cast<double>(elements) * 2 * both *
                                         (problem.ranks - 1) / seconds / (1024. * 1024 * 1024));
    }
    const std::int64_t per_wave = problem.sms - budgeted_sms;
    std::vector<std::pair<double, std::string>> ranked;
    for (const auto& groups : flashoverlap_groupings(problem)) {
      std::vector<std::int64_t> waves;
      for (const std::int64_t tiles : groups) waves.push_back(divide_up(tiles, per_wave));
      ranked.emplace_back(flashoverlap_predict(problem, groups),
                          fmt::format("{}", fmt::join(waves, "-")));
    }
    std::sort(ranked.begin(), ranked.end());
    return ranked;
  }
};

const Registration flashoverlap(std::make_unique<FlashOverlap>());

}  // namespace
}  // namespace weft::model
