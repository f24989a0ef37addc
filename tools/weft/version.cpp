// SPDX-License-Identifier: Apache-2.0
// `weft version`: what exactly is running.
#include <ostream>

#include <fmt/format.h>

#include "configs/reader/json_writer.hpp"
#include "tools/weft/build_info.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tool {

config::Value build_value() {
  const BuildInfo build = build_info();
  return config::Value::object({{"version", build.version},
                                {"commit", build.commit},
                                {"dirty", build.dirty},
                                {"compiler", build.compiler},
                                {"build_type", build.build_type}});
}

std::string run_line(const std::string& config_hash) {
  const BuildInfo build = build_info();
  return fmt::format("config {}, weft {} ({}{})\n", config_hash, build.version, build.commit,
                     build.dirty ? ", with local changes" : "");
}

ExitCode version(Context& context) {
  const BuildInfo build = build_info();
  if (context.format == Format::json) {
    context.out << config::to_json(build_value());
  } else {
    context.out << fmt::format("weft {} ({}{}), {}, {}\n", build.version, build.commit,
                               build.dirty ? ", with local changes" : "", build.compiler,
                               build.build_type);
  }
  return ExitCode::ok;
}

}  // namespace weft::tool
