// SPDX-License-Identifier: Apache-2.0
// The formats of `weft import`: how each is told from its first bytes, and what becomes of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"
#include "models/import/tp_overlap.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tool {

/// A file to import: its name, and its text unless the format reads files of any length itself.
struct ImportInput {
  std::string name;
  std::string text;
  const ImportOptions& options;
};

struct ImportFormat {
  std::string_view name;
  std::string_view what;
  /// Whether the first bytes of a file (64 KiB at most) look like it, or like what is mistaken for it.
  bool (*looks_like)(std::string_view head);
  ExitCode (*run)(const ImportInput& input, Context& context);
  bool streams = false;           ///< reads the file itself: text stays empty
  std::string_view options = {};  ///< of the command that mean something to it: "--with --network"
};

/// Every format, in the order in which they are tried.
[[nodiscard]] const std::vector<ImportFormat>& import_formats();

/// The first format that the first bytes of a file look like, or null.
[[nodiscard]] const ImportFormat* format_like(std::string_view head);

/// Throws UsageError unless it is a file; a folder is said to be one, with the file in it that is meant.
void require_file(const std::string& file);

/// The first bytes of a file, 64 KiB at most; throws UsageError where there is none that can be read.
[[nodiscard]] std::string head_of(const std::string& file);

/// Reads settings of Transformer Engine and prints their notes; throws UsageError where there is no file.
[[nodiscard]] model::TpOverlap overlap_file(const std::string& file, Context& context);

/// Prints notes to the error stream, one a line.
void print_notes(const std::vector<config::ConfigError>& notes, Context& context);

/// Writes to the file that was asked for, or to the output.
void deliver(const std::string& text, const ImportInput& input, Context& context);

ExitCode import_topo_matrix(const ImportInput& input, Context& context);
ExitCode import_nccl_xml(const ImportInput& input, Context& context);
ExitCode import_nccl_tests(const ImportInput& input, Context& context);
ExitCode import_astra(const ImportInput& input, Context& context);
ExitCode import_astra_system(const ImportInput& input, Context& context);
ExitCode import_chakra(const ImportInput& input, Context& context);
ExitCode import_job(const ImportInput& input, Context& context);
ExitCode import_tp_overlap(const ImportInput& input, Context& context);
ExitCode import_nccl_environment(const ImportInput& input, Context& context);
ExitCode import_flux(const ImportInput& input, Context& context);
ExitCode import_vllm(const ImportInput& input, Context& context);
ExitCode import_model(const ImportInput& input, Context& context);
ExitCode import_kineto(const ImportInput& input, Context& context);
ExitCode import_nsys_sqlite(const ImportInput& input, Context& context);
ExitCode import_nsys_csv(const ImportInput& input, Context& context);

}  // namespace weft::tool
