// SPDX-License-Identifier: Apache-2.0
// What is written for other systems is read back as it was and never illegal, whatever a plan picks;
// and what an overlap file asks for is run as it asks.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "models/export/asked.hpp"
#include "models/export/inference_export.hpp"
#include "models/export/plan_export.hpp"
#include "models/export/te_choice.hpp"
#include "models/export/tp_overlap_export.hpp"
#include "models/import/nccl_env.hpp"
#include "models/import/preflight.hpp"
#include "models/planner/read_scenario.hpp"
#include "models/schedules/registry.hpp"
#include "sim/controls.hpp"

namespace weft::model {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Plan planned(const std::string& phase, const std::string& layout, const std::string& schedules) {
  const std::string text =
      R"({"schema": "weft.scenario/1", "name": "Llama-3.2-1B", "model": {"ranks": 2,
          "model": "../models/llama3.2-1b.json", "machine": "../machines/h200x8.json",
          "layout": ")" +
      layout + R"(", "phase": ")" + phase + R"(", "tokens": 1024, "schedules": )" + schedules +
      "}}";
  return make_plan(
      read_scenario(config::Document::parse(text, "configs/scenarios/export_test.json")), {});
}

const Plan& forward_plan() {
  static const Plan plan =
      planned("prefill", "tp=2 sp", R"(["serial", "te.ring_exchange", "te.pipeline"])");
  return plan;
}
const Plan& backward_plan() {
  static const Plan plan =
      planned("backward", "tp=2 sp", R"(["serial", "te.bulk", "te.external"])");
  return plan;
}

const BoundaryPlan& boundary_of(const Plan& plan, const std::string& name) {
  for (const BoundaryPlan& each : plan.layouts.front().boundaries) {
    if (each.figures.boundary == name) return each;
  }
  throw std::out_of_range(name);
}

const AskedBoundary& row_of(const AskedPlan& asked, const std::string& name) {
  for (const AskedBoundary& each : asked.boundaries) {
    if (each.boundary == name) return each;
  }
  throw std::out_of_range(name);
}

/// The plan with one boundary under another schedule.
Plan with_pick(const Plan& plan, std::size_t boundary, const Schedule& schedule,
               const Knobs& knobs) {
  Plan changed = plan;
  BoundaryPlan& pick = changed.layouts.front().boundaries[boundary];
  pick.pick = {&schedule, knobs};
  pick.figures.schedule = schedule.info().name;
  pick.figures.knobs = knobs;
  return changed;
}

/// Reads a written file by the reader of its format; throws what the reader refuses.
void read_back(const std::string& text, ExportFormat format, const Plan& plan) {
  switch (format) {
    case ExportFormat::te_yaml:
    case ExportFormat::ub_cfgs: {
      std::vector<UbGemm> told;
      try {
        told = read_tp_overlap(text, "again").gemms;
      } catch (const config::ConfigErrors& errors) {
        // A file without a product is refused as one: it is only its header.
        ASSERT_THAT(errors.what(), testing::AnyOf(HasSubstr("no product is named"),
                                                  HasSubstr("no mapping of products")))
            << text;
        return;
      }
      const std::string again =
          format == ExportFormat::te_yaml ? to_tp_overlap_yaml(told, {}) : to_ub_cfgs(told, {});
      EXPECT_THAT(text, testing::EndsWith(again));
      return;
    }
    case ExportFormat::megatron:
    case ExportFormat::nemo: {
      const LaunchArguments arguments = read_launch_arguments(text, "again");
      const MegatronJob job = megatron_job(arguments);
      EXPECT_EQ(job.tp, plan.layouts.front().layout.tp);
      EXPECT_EQ(job.sequence_parallel, plan.layouts.front().layout.sequence_parallel);
      if (format == ExportFormat::nemo) return;  // its environment is the launcher's
      for (const PreflightFinding& found : preflight({&arguments, &job, nullptr, nullptr, nullptr}))
        EXPECT_EQ(found.rule, "sp-missing") << text;
      return;
    }
    case ExportFormat::nccl_env:
      if (text.find("\nexport ") == text.npos) return;
      EXPECT_THAT(text, testing::EndsWith(to_nccl_environment(
                            read_nccl_environment(text, "again").settings, {})));
      return;
    case ExportFormat::flux:
      if (text.find(".add(") == text.npos) return;
      EXPECT_THAT(text,
                  testing::EndsWith(to_flux_tuning(read_flux_tuning(text, "again").entries, {})));
      return;
    case ExportFormat::vllm:
      EXPECT_THAT(text, testing::EndsWith(to_vllm_config(read_vllm_config(text, "again"), {})));
      return;
  }
}

// Every legal pick of every boundary, forward and backward, in every format: the writers check what
// they write (CheckFailure), the readers refuse what is illegal.
TEST(PlanExport, EveryPickIsWrittenLegallyAndReadBackAsItWas) {
  std::size_t files = 0, products = 0;
  const Plan without = planned("prefill", "tp=2", R"(["serial"])");
  for (const Plan* plan : {&forward_plan(), &backward_plan(), &without}) {
    const LayoutPlan& layout = plan->layouts.front();
    for (std::size_t b = 0; b < layout.boundaries.size(); ++b) {
      for (const Schedule* schedule : all_schedules()) {
        const std::string& name = schedule->info().name;
        const bool told = name.starts_with("te.") || name.starts_with("flux.") ||
                          name.starts_with("nccl.") || name == "serial";
        for (const Knobs& knobs : told ? all_combinations(schedule->info().knobs)
                                       : std::vector<Knobs>{Knobs(schedule->info().knobs)}) {
          if (!schedule->refusals(layout.boundaries[b].boundary, knobs, *layout.site).empty())
            continue;
          const Plan changed = with_pick(*plan, b, *schedule, knobs);
          for (const ExportFormatName& format : export_formats()) {
            if (format.format == ExportFormat::vllm) continue;  // the picks do not enter it
            const Exported exported = export_plan(changed, format.format);
            ASSERT_NO_THROW(read_back(exported.text, format.format, changed)) << exported.text;
            ++files;
            if (exported.text.find("method") != std::string::npos) ++products;
          }
        }
      }
    }
  }
  EXPECT_GT(files, 500U);
  EXPECT_GT(products, 100U);
}

TEST(PlanExport, EveryFileBeginsWithThePlansHashAndItsPredictedGain) {
  for (const ExportFormatName& format : export_formats()) {
    const std::string text = export_plan(forward_plan(), format.format).text;
    const std::string mark = format.format == ExportFormat::flux ? "// " : "# ";
    EXPECT_THAT(text, StartsWith(mark + header_of(forward_plan()).front())) << format.name;
    EXPECT_THAT(text, HasSubstr("predicted gain")) << format.name;
    read_back(text, format.format, forward_plan());
  }
}

TEST(PlanExport, ASystemsSchedulesAreItsOwnAndTheUnfusedOne) {
  EXPECT_THAT(schedules_of(ExportFormat::te_yaml),
              testing::ElementsAre("serial", "te.atomic_gemm", "te.bulk", "te.external",
                                   "te.pipeline", "te.ring_exchange"));
  EXPECT_THAT(schedules_of(ExportFormat::flux),
              testing::ElementsAre("serial", "flux.ag_gemm", "flux.gemm_rs"));
  EXPECT_THAT(schedules_of(ExportFormat::vllm), IsEmpty());
}

TEST(PlanExport, ABoundaryAloneIsNoPlanForVllm) {
  Plan plan = forward_plan();
  plan.scenario.what = BoundaryScenario{};
  EXPECT_THROW(static_cast<void>(export_plan(plan, ExportFormat::vllm)), config::ConfigErrors);
}

// Megatron-LM gathers and scatters rows of the sequence under --sequence-parallel alone, and a boundary has no layout
// that would say so.
TEST(PlanExport, ABoundaryThatGathersOrScattersRowsIsSequenceParallel) {
  const auto exported = [](const std::string& kind, const std::string& schedule) {
    const std::string text =
        R"({"schema": "weft.scenario/1", "name": "one", "boundary": {"M": 4096, "N": 4096,
            "K": 4096, "ranks": 4, "machine": "../machines/h200x8.json", "operator": ")" +
        kind + R"(", "schedule": ")" + schedule + "\"}}";
    const Plan plan = make_plan(
        read_scenario(config::Document::parse(text, "configs/scenarios/export_test.json")), {});
    return export_plan(plan, ExportFormat::megatron).text;
  };
  const std::string gather = exported("ag_gemm", "te.ring_exchange");
  EXPECT_THAT(gather, HasSubstr("gathers rows of the sequence"));
  EXPECT_THAT(gather, HasSubstr("--sequence-parallel\n    --tp-comm-overlap\n)"));
  EXPECT_THAT(exported("gemm_rs", "serial"), HasSubstr("--sequence-parallel\n)"));
  EXPECT_THAT(exported("gemm_ar", "serial"), testing::Not(HasSubstr("sequence")));
}

TEST(PlanExport, AutomaticChoicesAreLeftToNccl) {
  const Schedule& serial = *find_schedule("serial");
  const Exported exported = export_plan(
      with_pick(forward_plan(), 0, serial, Knobs(serial.info().knobs)), ExportFormat::nccl_env);
  EXPECT_THAT(exported.text, testing::Not(HasSubstr("export")));
  EXPECT_THAT(exported.remarks, Contains(HasSubstr("no pick needs a setting of NCCL")));
}

// A gather of 1024 rows over two ranks, in tiles of our own table.
// Picks that disagree want something: what, and that it is not set.
TEST(PlanExport, WishesThatDifferAreSaidAndNotSet) {
  const Schedule& nccl = *find_schedule("nccl.serial");
  Knobs without_ctas(nccl.info().knobs);
  without_ctas.set("registered", "window");
  without_ctas.set("NCCL_CTA_POLICY", "zero");
  const Plan one = with_pick(forward_plan(), 0, nccl, without_ctas);
  const Exported two =
      export_plan(with_pick(one, 1, nccl, Knobs(nccl.info().knobs)), ExportFormat::nccl_env);
  EXPECT_TRUE(two.empty);
  EXPECT_THAT(two.remarks, Contains(HasSubstr("NCCL_CTA_POLICY is one for the whole process, and "
                                              "the picks want NCCL's own choice for ")));
  EXPECT_THAT(two.remarks, testing::Not(Contains(HasSubstr("no pick needs"))));
}

TEST(FluxExport, AnEntrySaysTheProductOfTheBoundary) {
  const Plan& plan = forward_plan();
  const Schedule& flux = *find_schedule("flux.ag_gemm");
  for (std::size_t b = 0; b < plan.layouts.front().boundaries.size(); ++b) {
    if (plan.layouts.front().boundaries[b].figures.boundary != "fc1") continue;
    Knobs knobs(flux.info().knobs);
    knobs.set("ring_mode", "ring1d");
    std::vector<std::string> remarks;
    const std::vector<FluxEntry> entries =
        flux_entries_of(with_pick(plan, b, flux, knobs), remarks);
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0].op, FluxOp::all_gather);
    EXPECT_EQ(entries[0].m, 1024);
    EXPECT_EQ(entries[0].n, 2 * 8192 / 2);  // gate and up of 8192, over two ranks
    EXPECT_EQ(entries[0].k, 2048);
    EXPECT_EQ(entries[0].ranks, 2);
    EXPECT_EQ(entries[0].ring_mode, 1);
  }
}

TEST(VllmExport, TheThresholdIsTheLeastThatWinsUpToThePlansTokens) {
  std::vector<std::string> remarks;
  const VllmOverlap overlap = vllm_overlap_of(forward_plan(), remarks);
  EXPECT_EQ(overlap.tensor_parallel_size, 2);
  EXPECT_EQ(overlap.enable_sp, overlap.sp_min_token_num.has_value());
  EXPECT_EQ(overlap.fuse_gemm_comms, overlap.enable_sp);
  EXPECT_LE(overlap.sp_min_token_num.value_or(1), 1024);
  EXPECT_THAT(remarks, Contains(HasSubstr("fi_allreduce_fusion_max_size_mb")));
}

// ---- a scenario that names other tools' files -----------------------------------------------------

Plan plan_of_files(const std::string& model, const std::string& machine) {
  const std::string text = R"({"schema": "weft.scenario/1", "name": "files", "model": {"ranks": 8,
      "layout": "tp=8 sp", "phase": "prefill", "tokens": 1024, "schedules": ["serial"],
      "model": ")" + model +
                           R"(", "machine": ")" + machine + "\"}}";
  return make_plan(read_scenario(config::Document::parse(text, "configs/scenarios/files.json")),
                   {});
}

TEST(ScenarioFiles, AJobsArgumentsAreItsModel) {
  const Plan plan = plan_of_files("../imports/llama3-70b.job", "../machines/h200x8.json");
  ASSERT_EQ(plan.layouts.size(), 1U);
  EXPECT_EQ(plan.layouts.front().layers.size(),
            plan_of_files("../models/llama3-70b.json", "../machines/h200x8.json")
                .layouts.front()
                .layers.size());
  EXPECT_EQ(
      plan.layouts.front().step,
      plan_of_files("../models/llama3-70b.json", "../machines/h200x8.json").layouts.front().step);
}

TEST(ScenarioFiles, ADumpOfATopologyIsNoMachine) {
  for (const char* dump : {"h100x8-topo.txt", "hgx-h100-astra.yml"}) {
    try {
      static_cast<void>(
          plan_of_files("../models/llama3-70b.json", std::string("../imports/") + dump));
      ADD_FAILURE() << "not refused";
    } catch (const config::ConfigErrors& errors) {
      EXPECT_THAT(errors.what(), HasSubstr("another tool's dump of a topology"));
      EXPECT_THAT(errors.what(), HasSubstr("weft import FILE --complete-from"));
    }
  }
}

// ---- settings and choices ------------------------------------------------------------------------

TEST(TeChoice, SettingsAndSchedulesAreTheInverseOfEachOther) {
  for (const char* name : {"te.ring_exchange", "te.pipeline", "te.bulk"}) {
    const Schedule& schedule = *find_schedule(name);
    const std::string product = std::string(name) == "te.ring_exchange" ? "fc1_fprop"
                                : std::string(name) == "te.pipeline"    ? "fc2_fprop"
                                                                        : "fc1_dgrad";
    for (const Knobs& knobs : all_combinations(schedule.info().knobs)) {
      const auto gemm = ub_gemm_of(product, schedule.info(), knobs);
      ASSERT_TRUE(gemm) << name << ' ' << knobs.to_text();
      const UbChoice back = choice_of(*gemm);
      EXPECT_EQ(back.choice.schedule, &schedule);
      EXPECT_THAT(back.idle, IsEmpty());
      for (const KnobSpec& spec : schedule.info().knobs) {
        if (ub_gemm_of(product, schedule.info(), back.choice.knobs)) {
          EXPECT_TRUE(
              same_settings(*gemm, *ub_gemm_of(product, schedule.info(), back.choice.knobs)))
              << spec.name;
        }
      }
    }
  }
}

TEST(TeChoice, BoundariesAreTheirProducts) {
  EXPECT_THAT(ub_products("qkv"), testing::ElementsAre("qkv_fprop"));
  EXPECT_THAT(ub_products("fc2.backward"), testing::ElementsAre("fc2_dgrad", "fc2_wgrad"));
  EXPECT_THAT(ub_products("embedding"), IsEmpty());
  const Schedule& bulk = *find_schedule("te.bulk");
  EXPECT_EQ(ub_gemms_of("fc1.backward", bulk.info(), Knobs(bulk.info().knobs)).size(), 2U);
  const Schedule& external = *find_schedule("te.external");
  const auto ring = ub_gemms_of("fc2.backward", external.info(), Knobs(external.info().knobs));
  ASSERT_EQ(ring.size(), 1U);
  EXPECT_EQ(ring[0].name, "fc2_dgrad");
  EXPECT_EQ(ring[0].method, UbMethod::ring_exchange);
}

TEST(TpOverlapPairs, ADgradThatReducesLeavesItsWgradNothing) {
  try {
    static_cast<void>(read_tp_overlap(
        "fc1_dgrad: {method: ring_exchange}\nfc1_wgrad: {method: bulk}\n", "tp.yaml"));
    ADD_FAILURE() << "not refused";
  } catch (const config::ConfigErrors& errors) {
    EXPECT_THAT(errors.what(), HasSubstr("tp.yaml:2:1: fc1_dgrad reduces as ring_exchange, which "
                                         "leaves fc1_wgrad nothing to overlap"));
  }
}

// ---- as asked ------------------------------------------------------------------------------------

// 24 SMs and 3 parts are in no list that a search goes through: the numbers are the file's own.
TEST(AskedPlan, RunsTheFilesOwnNumbers) {
  const TpOverlap file = read_tp_overlap(
      "fc2_fprop: {method: pipeline, num_sm: 24, num_splits: 2, cga_size: 2, set_sm_margin: 1}\n",
      "tp.yaml");
  const AskedPlan asked = run_as_asked(forward_plan(), file);
  const AskedBoundary& row = row_of(asked, "fc2");
  EXPECT_EQ(row.line, 1U);
  EXPECT_EQ(row.refusal, "");
  EXPECT_THAT(row.asked, StartsWith("te.pipeline num_splits=2 num_sm=24 cga_size=2"));
  const UbChoice choice = choice_of(file.gemms.front());
  const LayoutPlan& layout = forward_plan().layouts.front();
  EXPECT_EQ(row.time, overlapped_only(boundary_of(forward_plan(), "fc2").boundary, choice.choice,
                                      *layout.site, sim::effects_of(sim::Fidelity::contended))
                          .overlapped);
}

TEST(AskedPlan, ASilentFileRunsTheDefaults) {
  TpOverlap silent;
  silent.file = "job.sh";
  const AskedPlan asked = run_as_asked(forward_plan(), silent);
  EXPECT_THAT(row_of(asked, "qkv").asked, StartsWith("te.ring_exchange"));
  EXPECT_THAT(row_of(asked, "proj").asked, StartsWith("te.pipeline"));
  EXPECT_EQ(row_of(asked, "qkv").line, 0U);
  const AskedPlan backward = run_as_asked(backward_plan(), silent);
  EXPECT_THAT(row_of(backward, "fc1.backward").asked, StartsWith("te.bulk"));
  EXPECT_THAT(row_of(backward, "fc2.backward").asked, StartsWith("te.external"));
  EXPECT_EQ(row_of(backward, "fc2.backward").refusal, "");
}

// What a plan writes, run as it asks, takes what its picks take.
TEST(AskedPlan, AnExportedPlanTakesTheTimesOfItsPicks) {
  const sim::Effects effects = sim::effects_of(sim::Fidelity::contended);
  const LayoutPlan& layout = forward_plan().layouts.front();
  std::size_t compared = 0;
  for (std::size_t b = 0; b < layout.boundaries.size(); ++b) {
    for (const char* name : {"te.ring_exchange", "te.pipeline"}) {
      const Schedule& schedule = *find_schedule(name);
      Knobs knobs(schedule.info().knobs);
      knobs.set("num_sm", std::int64_t{16});
      const Boundary& boundary = layout.boundaries[b].boundary;
      if (ub_products(boundary.name).empty()) continue;
      if (!schedule.refusals(boundary, knobs, *layout.site).empty()) continue;
      const Plan plan = with_pick(forward_plan(), b, schedule, knobs);
      const TpOverlap file =
          read_tp_overlap(export_plan(plan, ExportFormat::te_yaml).text, "plan.yaml");
      const AskedPlan asked = run_as_asked(plan, file);
      EXPECT_EQ(row_of(asked, boundary.name).time,
                overlapped_only(boundary, {&schedule, knobs}, *layout.site, effects).overlapped)
          << boundary.name << ' ' << name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 6U);  // a ring for four products, a pipeline for the two that reduce
}

TEST(AskedPlan, WhatCannotRunRunsUnfusedAndIsSaid) {
  const Plan without = planned("prefill", "tp=2", R"(["serial"])");
  const TpOverlap file = read_tp_overlap("fc1_fprop: {method: ring_exchange}\n", "tp.yaml");
  const AskedPlan asked = run_as_asked(without, file);
  EXPECT_EQ(asked.step, asked.serial_step);
  EXPECT_EQ(row_of(asked, "fc2").time, row_of(asked, "fc2").serial);
  const std::vector<PreflightFinding> found = preflight(asked);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().rule, "overlap-refused");
  const TpOverlap atomic = read_tp_overlap(
      "fc1_fprop: {atomic_gemm: 1}\nfc2_fprop: {method: ring_exchange, atomic_gemm: 1}\n", "tp");
  const AskedPlan bf16 = run_as_asked(forward_plan(), atomic);
  EXPECT_THAT(row_of(bf16, "fc1").refusal, HasSubstr("for FP8 only"));
}

TEST(AskedPlan, SettingsWithoutEffectAreNotes) {
  const TpOverlap file = read_tp_overlap(
      "qkv_fprop: {method: ring_exchange, cga_size: 2}\n"
      "fc1_dgrad: {method: bulk, num_sm: 4}\nfc1_wgrad: {method: bulk, num_sm: 24}\n",
      "tp.yaml");
  EXPECT_THAT(run_as_asked(forward_plan(), file).notes,
              Contains(HasSubstr("cga_size=2 of qkv_fprop changes nothing")));
  EXPECT_THAT(run_as_asked(backward_plan(), file).notes,
              Contains(HasSubstr("both collectives run with the dgrad's settings")));
}

TEST(AskedPlan, ABoundaryAloneIsNoProductByName) {
  Plan plan = forward_plan();
  plan.layouts.front().layers.clear();
  EXPECT_THROW(static_cast<void>(run_as_asked(plan, TpOverlap{})), config::ConfigErrors);
}

}  // namespace
}  // namespace weft::model
