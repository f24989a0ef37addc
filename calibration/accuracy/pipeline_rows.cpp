// SPDX-License-Identifier: Apache-2.0
// Whole boundaries: the time of a case's schedule, predicted by expanding it on the machine of its back end and
// running the engine (calibration/predict). The SM clock of the measurement is a condition of it, not predicted.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "calibration/accuracy/placement.hpp"
#include "calibration/accuracy/rows.hpp"
#include "calibration/predict/conditions.hpp"
#include "calibration/predict/predictor.hpp"
#include "models/profile/families.hpp"

namespace weft::calibration {

namespace {

/// What the cases of a row have in common; empty: anything.
struct PipelineKind {
  std::string backend, library, schedule, transport;
  enum class Margin : std::uint8_t { any, some, none } margin = Margin::any;
  std::string figure = "D";
};

/// What a prediction leaves out.
struct Without {
  sim::Effects effects{};
  std::function<void(model::Profile&)> strip{};
  bool tile_order = false;
  bool frame = false;
  bool placement = false;
  bool one_process = false;
  bool weights = false;
};

class PipelineRow final : public ErrorTableRow {
 public:
  PipelineRow(ErrorClaim claim, PipelineKind kind, bool by_mode = false, Without without = {})
      : claim_(std::move(claim)),
        kind_(std::move(kind)),
        by_mode_(by_mode),
        without_(std::move(without)) {}

  ErrorClaim claim() const override { return claim_; }
  bool takes(const Observation& seen) const override {
    const Case& what = seen.what();
    const auto fits = [](const std::string& wanted, const std::string& is) {
      return wanted.empty() || wanted == is;
    };
    const bool margin = what.margin.value_or(0) > 0;
    return !seen.published && what.figure == kind_.figure && !what.pass && what.shape &&
           fits(kind_.backend, what.backend) && fits(kind_.library, what.library) &&
           fits(kind_.schedule, what.schedule) && fits(kind_.transport, what.transport) &&
           (kind_.margin == PipelineKind::Margin::any ||
            margin == (kind_.margin == PipelineKind::Margin::some));
  }
  std::vector<Point> predict(const Knowledge& knowledge,
                             const std::vector<Observation>& asked) const override {
    std::vector<Point> points;
    if (knowledge.machine == nullptr) return points;
    model::Profile profile = knowledge.profile;
    topology::MachineSpec machine = *knowledge.machine;
    if (without_.strip) without_.strip(profile);
    if (without_.placement) one_gpc(profile, machine);
    Predictor predictor(std::move(machine), std::move(profile),
                        without_.frame ? Frames() : frames_of(knowledge.samples),
                        !without_.tile_order, !without_.one_process, !without_.weights);
    const int boost = highest_clock(knowledge.samples);
    for (const Observation& seen : asked) {
      const auto predicted =
          predictor.predict(seen.what(), without_.effects, speed_permille(*seen.sample, boost));
      if (!predicted) continue;
      const std::string label = label_of(seen.what());
      if (!by_mode_) {
        points.push_back({label, predicted->expected(), seen.time(), seen.held});
        continue;
      }
      for (const Mode& mode : modes(seen.sample->times)) {
        points.push_back({label, nearest(*predicted, mode.median), mode.median, seen.held});
      }
    }
    return points;
  }

 private:
  static std::string label_of(const Case& what) {
    const Shape& s = *what.shape;
    return fmt::format("{} {}x{}x{} {} {} {} by {}, {} chunks, margin {}", what.operation, s.m, s.n,
                       s.k, what.library, what.backend, what.schedule, what.transport,
                       what.chunks.value_or(0), what.margin.value_or(0));
  }
  static Duration nearest(const PredictedCase& predicted, Duration measured) {
    return std::min_element(predicted.modes.begin(), predicted.modes.end(),
                            [&](const PredictedMode& a, const PredictedMode& b) {
                              return std::abs((a.time - measured).ps()) <
                                     std::abs((b.time - measured).ps());
                            })
        ->time;
  }

  ErrorClaim claim_;
  PipelineKind kind_;
  bool by_mode_;
  Without without_;
};

// Every case of a back end, with something switched off. Shown with the baselines.
void add_ablation(ErrorRows& rows, const std::string& backend, std::string name,
                  const Without& without) {
  ErrorClaim claim{.name = std::move(name), .median = {}, .p95 = {}};
  claim.baseline = true;
  rows.push_back(std::make_unique<PipelineRow>(
      std::move(claim), PipelineKind{backend, "", "", "", PipelineKind::Margin::any}, false,
      without));
}

// Pieces that follow others: what their launch takes there, and what they find in the L2.
void add_ablations_of_pieces(ErrorRows& rows, const std::string& backend, const std::string& name) {
  Without behind, weights;
  behind.strip = [](model::Profile& profile) {
    if (!profile.gemm) return;
    profile.gemm->behind.reset();
    if (profile.gemm->own) profile.gemm->own->behind.reset();
  };
  weights.weights = true;
  add_ablation(rows, backend, name + ", without what a launch behind another takes", behind);
  add_ablation(rows, backend, name + ", without what the piece before leaves in the L2", weights);
}

// What the mechanisms of ranks that share a device, or that one process drives, are worth.
void add_shared_ablations(ErrorRows& rows) {
  Without memory, order, process, launch, events, once, flag, slots, beside;
  memory.effects.hbm_share = false;
  order.tile_order = true;
  process.one_process = true;
  launch.strip = [](model::Profile& profile) {
    for (model::SmCopyCosts& sms : profile.sm_copies) sms.launch_per_cta.reset();
  };
  // Neither waiting for one nor having none to wait for.
  events.strip = [](model::Profile& profile) { profile.control.event_hop.value = Duration(); };
  once.strip = [](model::Profile& profile) { profile.control.stream_poll.reset(); };
  flag.strip = [](model::Profile& profile) { profile.control.tile_flag.reset(); };
  slots.strip = [](model::Profile& profile) { profile.control.store_slot.reset(); };
  beside.strip = [](model::Profile& profile) { profile.interference.clear(); };
  const std::string shared = "virtual ranks, 2..8", peers = "all over NVLink";
  add_ablation(rows, "peer_gpus", peers, {});
  for (const auto& [backend, name] :
       {std::pair("virtual_ranks", shared), std::pair("peer_gpus", peers)}) {
    add_ablation(rows, backend, name + ", each rank a process of its own", process);
    add_ablation(rows, backend, name + ", without hops of events", events);
    add_ablation(rows, backend, name + ", without the rate of CTAs in a product's launch", launch);
    add_ablation(rows, backend, name + ", without what tiles in the order of chunks read again",
                 order);
    add_ablations_of_pieces(rows, backend, name);
  }
  add_ablation(rows, "virtual_ranks", shared + ", without sharing of memory", memory);
  Without kernels, placement;
  kernels.strip = [](model::Profile& profile) {
    if (profile.gemm) profile.gemm->measured_on_parts.clear();
  };
  placement.placement = true;
  add_ablation(rows, "virtual_ranks", shared + ", without what libraries take on parts", kernels);
  add_ablation(rows, "virtual_ranks", shared + ", without GPCs of parts", placement);
  add_ablation(rows, "peer_gpus", peers + ", without waits that look again", once);
  add_ablation(rows, "peer_gpus", peers + ", without the store behind a tile's flag", flag);
  add_ablation(rows, "peer_gpus", peers + ", without the slots of that store", slots);
  add_ablation(rows, "peer_gpus", peers + ", without interference", beside);
}

// What each mechanism is worth over the host link.
void add_ablations(ErrorRows& rows) {
  const auto add = [&rows](const std::string& what, const Without& without) {
    add_ablation(rows, "host_link", "all over the host link" + what, without);
  };
  add("", {});
  const std::pair<const char*, bool sim::Effects::*> effects[] = {
      {", without wave and chunk quantisation", &sim::Effects::chunking},
      {", without residency", &sim::Effects::residency},
      {", without sharing of memory", &sim::Effects::hbm_share},
      {", without sharing of links", &sim::Effects::link_share},
      {", without launches and synchronisation", &sim::Effects::launch_and_sync}};
  for (const auto& [name, effect] : effects) {
    Without without;
    without.effects.*effect = false;
    add(name, without);
  }
  add(", at alpha_beta", {sim::effects_of(sim::Fidelity::alpha_beta), {}});
  add(", at ideal", {sim::effects_of(sim::Fidelity::ideal), {}});
  add(", without interference",
      {{}, [](model::Profile& profile) { profile.interference.clear(); }});
  add(", without interference below a link's rate",
      {{}, [](model::Profile& profile) {
         std::erase_if(profile.interference, [](const auto& term) { return !term.full_link; });
       }});
  add(", without interference of copies by engine",
      {{}, [](model::Profile& profile) {
         std::erase_if(profile.interference, [](const auto& term) {
           return term.access == model::InterferingAccess::engine_copy;
         });
       }});
  add(", without loads in flight that launches wait for",
      {{}, [](model::Profile& profile) {
         for (model::InterferenceTerm& term : profile.interference) term.launch.reset();
       }});
  add(", without a stream's wait for flags",
      {{}, [](model::Profile& profile) { profile.control.stream_wait.value = Duration(); }});
  add(", without a stream's write of flags",
      {{}, [](model::Profile& profile) { profile.control.stream_write.value = Duration(); }});
  add(", without signals that are there when a stream comes",
      {{}, [](model::Profile& profile) { profile.control.stream_wait_there.reset(); }});
  add(", without waits that look again",
      {{}, [](model::Profile& profile) { profile.control.stream_poll.reset(); }});
  add(", without round trips behind copies from the host",
      {{}, [](model::Profile& profile) {
         for (model::InterferenceTerm& term : profile.interference) term.round_trip.reset();
       }});
  add(", without the store behind a tile's flag",
      {{}, [](model::Profile& profile) { profile.control.tile_flag.reset(); }});
  add(", without the slots of that store",
      {{}, [](model::Profile& profile) { profile.control.store_slot.reset(); }});
  add(", without the answer of the power controller", {{}, [](model::Profile& profile) {
                                                         if (profile.gemm)
                                                           profile.gemm->answer.reset();
                                                       }});
  add(", without what tiles in the order of chunks read again", {{}, {}, true});
  add_ablations_of_pieces(rows, "host_link", "all over the host link");
  Without frame;
  frame.frame = true;
  add(", without what a repetition takes beside its work", frame);
  Without placement;
  placement.placement = true;
  add(", without placement by GPC", placement);
  add(", without starts of pieces by CTAs", {{}, [](model::Profile& profile) {
                                               for (model::SmCopyCosts& sms : profile.sm_copies) {
                                                 sms.start.reset();
                                                 sms.duplex_start.reset();
                                               }
                                             }});
  add(", both directions at full rate",
      {{}, [](model::Profile& profile) {
         for (model::CopyEngineCosts& engine : profile.copy_engines)
           engine.duplex_rate = engine.rate;
         for (model::SmCopyCosts& sms : profile.sm_copies) sms.duplex_cap.reset();
       }});
}

// What the products of a chunked schedule take with nothing communicated, and its transfers with nothing multiplied:
// where pieces are thin the whole is off by what they are.
void add_parts_of_chunks(ErrorRows& rows) {
  const std::pair<const char*, const char*> parts[] = {{"A_s", "products"}, {"B_s", "transfers"}};
  const std::pair<const char*, const char*> links[] = {{"host_link", "over the host link"},
                                                       {"peer_gpus", "over NVLink"},
                                                       {"virtual_ranks", "of virtual ranks"}};
  const std::pair<const char*, const char*> libraries[] = {{"weft", "our kernels"},
                                                           {"cublaslt", "cuBLASLt"}};
  const auto add = [&rows](std::string name, PipelineKind kind) {
    ErrorClaim claim{.name = std::move(name), .median = {}, .p95 = {}};
    claim.baseline = true;
    rows.push_back(std::make_unique<PipelineRow>(std::move(claim), std::move(kind)));
  };
  for (const auto& [figure, part] : parts)
    for (const auto& [backend, link] : links)
      for (const auto& [library, kernels] : libraries)
        add(fmt::format("{} of chunks {}, {}", part, link, kernels),
            {backend, library, "chunked", "", PipelineKind::Margin::any, figure});
  // And what products whose tiles post flags or wait for them take.
  for (const auto& [backend, link] : links)
    add(fmt::format("products with flags {}, our kernels", link),
        {backend, "weft", "device_flag", "", PipelineKind::Margin::any, "A_s"});
}

}  // namespace

void add_pipeline_rows(ErrorRows& rows) {
  using Margin = PipelineKind::Margin;
  const auto add = [&rows](std::string name, double median, double p95, PipelineKind kind,
                           bool by_mode = false) {
    rows.push_back(std::make_unique<PipelineRow>(
        ErrorClaim{.name = std::move(name), .median = median, .p95 = p95}, std::move(kind),
        by_mode));
  };
  add("chunked by copy engine over the host link, our kernels", 0.01, 0.04,
      {"host_link", "weft", "chunked", "copy_engine", Margin::any});
  add("chunked by copy engine over the host link, cuBLASLt", 0.02, 0.08,
      {"host_link", "cublaslt", "chunked", "copy_engine", Margin::any});
  add("device flags over the host link, by copy engine", 0.02, 0.05,
      {"host_link", "weft", "device_flag", "copy_engine", Margin::any});
  add("device flags over the host link, by SMs with a margin", 0.02, 0.05,
      {"host_link", "weft", "device_flag", "sm", Margin::some});
  add("chunked by SMs over the host link, with a margin", 0.03, 0.09,
      {"host_link", "", "chunked", "sm", Margin::some});
  add("chunked by SMs over the host link, without a margin, by mode", 0.03, 0.09,
      {"host_link", "", "chunked", "sm", Margin::none}, true);
  add("virtual ranks, 2..8", 0.04, 0.10, {"virtual_ranks", "", "", "", Margin::any});
  // Peers over NVLink: those who move by library collectives are serial, and not among them.
  namespace families = model::families;
  add(families::by_kernels(families::chunked_peers, families::our_kernels), 0.015, 0.04,
      {"peer_gpus", "weft", "chunked", "", Margin::any});
  add(families::by_kernels(families::chunked_peers, families::cublaslt_kernels), 0.015, 0.04,
      {"peer_gpus", "cublaslt", "chunked", "", Margin::any});
  add(std::string(families::flags_peers), 0.03, 0.07,
      {"peer_gpus", "weft", "device_flag", "", Margin::any});
  add_ablations(rows);
  add_shared_ablations(rows);
  add_parts_of_chunks(rows);
}

}  // namespace weft::calibration
