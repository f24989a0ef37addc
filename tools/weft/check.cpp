// SPDX-License-Identifier: Apache-2.0
// `weft check`: does each locked pick still hold?
#include <ostream>

#include <fmt/format.h>

#include "configs/reader/atomic_file.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/planner/lock.hpp"
#include "tools/views/junit.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/planning.hpp"

namespace weft::tool {
namespace {

using config::Value;

Value to_value(const model::CheckResult& result) {
  Value picks = Value::array();
  for (const model::CheckedPick& pick : result.picks) {
    picks.push(Value::object({{"boundary", pick.boundary},
                              {"flipped", pick.flipped},
                              {"regressed", pick.regressed},
                              {"sentence", pick.sentence}}));
  }
  Value object = Value::object({{"schema", "weft.check/1"},
                                {"failed", result.failed()},
                                {"layout_flipped", result.layout_flipped},
                                {"layout", result.layout_sentence},
                                {"since", result.since},
                                {"config_hash", result.config_hash}});
  object.set("weft", build_value());
  object.set("picks", std::move(picks));
  return object;
}

}  // namespace

ExitCode check(const CheckOptions& options, Context& context) {
  const model::Lock lock = model::read_lock(options.lock, context.search);
  model::PlanOptions plan_options;
  plan_options.search.threads = options.threads;
  const model::CheckResult result = model::check(lock, context.search, plan_options);
  if (options.junit) config::write_file(*options.junit, junit_report(options.lock, result));
  if (context.format == Format::json) {
    context.out << config::to_json(to_value(result));
  } else {
    if (!result.layout_sentence.empty())
      context.out << fmt::format("FAIL layout: {}\n", result.layout_sentence);
    for (const model::CheckedPick& pick : result.picks) {
      context.out << fmt::format("{} {}: {}\n", pick.failed() ? "FAIL" : "ok  ", pick.boundary,
                                 pick.sentence);
    }
    if (result.failed() && !result.since.empty()) context.out << result.since << '\n';
    context.out << (result.failed()
                        ? "the lock no longer holds: plan again, look at the change, and lock it\n"
                        : "every pick holds\n")
                << run_line(result.config_hash);
  }
  return result.failed() ? ExitCode::failed : ExitCode::ok;
}

}  // namespace weft::tool
