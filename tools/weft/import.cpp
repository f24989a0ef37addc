// SPDX-License-Identifier: Apache-2.0
// `weft import`: finds out what a file is and hands it to that format.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/import/json_scan.hpp"
#include "calibration/import/kineto.hpp"
#include "calibration/import/nccl_tests.hpp"
#include "calibration/import/nsys.hpp"
#include "configs/reader/atomic_file.hpp"
#include "configs/reader/document.hpp"
#include "models/import/chakra.hpp"
#include "models/import/flux_tuning.hpp"
#include "models/import/launch_args.hpp"
#include "models/import/nccl_env.hpp"
#include "models/import/tp_overlap.hpp"
#include "models/import/vllm_config.hpp"
#include "sim/units/nearest.hpp"
#include "tools/weft/import_formats.hpp"
#include "topologies/import/astra_network.hpp"
#include "topologies/import/topo_matrix.hpp"

namespace weft::tool {
namespace {

constexpr std::size_t kHead = std::size_t{64} << 10;
constexpr Bytes kLargest = Bytes::from(std::int64_t{256} << 20);

bool looks_like_xml(std::string_view head) {
  return head.find_first_not_of(" \t\r\n\xEF\xBB\xBF") == head.find('<') &&
         head.find('<') != head.npos;
}

bool looks_like_model(std::string_view head) {
  return head.find("\"model_type\"") != head.npos || head.find("\"architectures\"") != head.npos;
}

std::string unpacked_head(const std::string& file) {
  const calibration::JsonScanner::Source source = calibration::file_source(file);
  std::string head(kHead, '\0');
  std::size_t size = 0;
  while (size < head.size()) {
    const std::size_t got = source(head.data() + size, head.size() - size);
    if (got == 0) break;
    size += got;
  }
  head.resize(size);
  return head;
}

/// Files that only their own program reads: what to do with them instead.
std::string_view own_format(std::string_view name) {
  for (const std::string_view ending : {".nsys-rep", ".qdrep", ".qdstrm"}) {
    if (name.ends_with(ending))
      return "Nsight Systems' own report: `nsys export --type sqlite` makes a file that is read";
  }
  if (name.ends_with(".zip")) return "an archive: unpack it";
  return {};
}

std::string names() {
  std::vector<std::string> lines;
  for (const ImportFormat& format : import_formats()) {
    lines.push_back(fmt::format("{:<12} {}", format.name, format.what));
  }
  return fmt::format("\n  {}", fmt::join(lines, "\n  "));
}

const ImportFormat& format_named(const std::string& name) {
  std::vector<std::string_view> known;
  for (const ImportFormat& format : import_formats()) {
    if (format.name == name) return format;
    known.push_back(format.name);
  }
  const auto nearest = nearest_name(name, known);
  throw UsageError(fmt::format("there is no format \"{}\"{}; formats:{}", name,
                               nearest ? fmt::format(" (did you mean \"{}\"?)", *nearest) : "",
                               names()));
}

const ImportFormat& format_of(const std::string& name, std::string_view head) {
  if (const ImportFormat* format = format_like(head)) return *format;
  if (const std::string_view own = own_format(name); !own.empty())
    throw UsageError(fmt::format("{} is {}", name, own));
  throw UsageError(
      fmt::format("{}: its text looks like none of the formats that are read; name it "
                  "with --as, or see docs/formats.md. Formats:{}",
                  name, names()));
}

}  // namespace

const std::vector<ImportFormat>& import_formats() {
  static const std::vector<ImportFormat> formats = {
      {"nccl-xml", "NCCL's topology XML", looks_like_xml, import_nccl_xml, false,
       "--complete-from"},
      {"nsys-sqlite", "Nsight Systems, `nsys export --type sqlite`", calibration::looks_like_sqlite,
       import_nsys_sqlite, true},
      {"chakra", "execution trace of Chakra, protobuf or JSON", model::looks_like_chakra,
       import_chakra, false, "--with --network"},
      {"kineto", "trace of the PyTorch profiler, plain or gzip", calibration::looks_like_trace,
       import_kineto, true},
      {"nsys-csv", "Nsight Systems, `nsys stats --report cuda_gpu_trace --format csv`",
       calibration::looks_like_nsys_csv, import_nsys_csv},
      {"nccl-tests", "log of nccl-tests", calibration::looks_like_nccl_tests, import_nccl_tests},
      {"astra-net", "network of ASTRA-sim's analytical backend", topology::looks_like_astra_network,
       import_astra, false, "--with"},
      {"astra-sys", "system layer of ASTRA-sim", topology::looks_like_astra_system,
       import_astra_system, false, "--network"},
      {"flux", "tuning entries of FLUX", model::looks_like_flux_tuning, import_flux},
      {"vllm", "overlap settings of vLLM: --config, --compilation-config or a command line",
       model::looks_like_vllm_config, import_vllm},
      {"tp-overlap", "tp_comm_overlap_cfg of Megatron-LM, ub_cfgs of Transformer Engine",
       model::looks_like_tp_overlap, import_tp_overlap, false, "--with"},
      {"job", "arguments of Megatron-LM or NeMo: script, Hydra or YAML",
       model::looks_like_launch_arguments, import_job, false, "--complete-from"},
      {"hf-config", "config.json of Hugging Face", looks_like_model, import_model},
      {"nccl-env", "environment of NCCL", model::looks_like_nccl_environment,
       import_nccl_environment},
      {"topo-m", "`nvidia-smi topo -m`", topology::looks_like_topo_matrix, import_topo_matrix,
       false, "--complete-from"},
  };
  return formats;
}

const ImportFormat* format_like(std::string_view head) {
  for (const ImportFormat& format : import_formats()) {
    if (format.looks_like(head)) return &format;
  }
  return nullptr;
}

void require_file(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code unreadable;  // said as the reason where it is opened
  const fs::file_status status = fs::status(file, unreadable);
  if (!fs::exists(status)) throw UsageError(fmt::format("there is no file {}", file));
  if (fs::is_regular_file(status)) return;
  if (!fs::is_directory(status))
    throw UsageError(fmt::format("{} is no file that can be read twice: save it as one", file));
  const fs::path config = fs::path(file) / "config.json";
  throw UsageError(
      fs::exists(config, unreadable)
          ? fmt::format("{} is a folder: give the file in it, {}", file, config.string())
          : fmt::format("{} is a folder: give a file in it", file));
}

std::string head_of(const std::string& file) {
  require_file(file);
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw UsageError(
        fmt::format("cannot open {}: {}", file, std::generic_category().message(errno)));
  }
  std::string head(kHead, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  if (head.empty()) throw UsageError(fmt::format("{} is empty", file));
  if (!head.starts_with("\x1f\x8b")) return head;
  std::string inside = unpacked_head(file);
  if (!calibration::looks_like_trace(inside)) {
    throw UsageError(
        fmt::format("{} is packed with gzip, as only traces are read: unpack it", file));
  }
  return inside;
}

void print_notes(const std::vector<config::ConfigError>& notes, Context& context) {
  for (const config::ConfigError& note : notes) {
    context.err << "note: " << config::to_string(note) << '\n';
  }
}

void deliver(const std::string& text, const ImportInput& input, Context& context) {
  if (!input.options.out) {
    context.out << text;
    return;
  }
  config::write_file(*input.options.out, text);
  context.err << "written to " << *input.options.out << '\n';
}

ExitCode import_file(const ImportOptions& options, Context& context) {
  ImportInput input{options.file, {}, options};
  if (options.file == "-") {
    input.name = "stdin";
    input.text.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  const std::string head =
      options.file == "-" ? input.text.substr(0, kHead) : head_of(options.file);
  const ImportFormat& format = options.as ? format_named(*options.as) : format_of(input.name, head);
  for (const auto& [option, value] :
       {std::pair("--with", &options.with), std::pair("--network", &options.network),
        std::pair("--complete-from", &options.complete)}) {
    if (*value && format.options.find(option) == format.options.npos) {
      throw UsageError(fmt::format("{} means nothing to {}, which is {} ({})", option, options.file,
                                   format.name, format.what));
    }
  }
  if (format.streams && options.file == "-") {
    throw UsageError(fmt::format("{} is read from a file, not from the input stream", format.what));
  }
  if (!format.streams && options.file != "-")
    input.text = config::read_text(options.file, kLargest);
  return format.run(input, context);
}

}  // namespace weft::tool
