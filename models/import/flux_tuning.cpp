// SPDX-License-Identifier: Apache-2.0
// Entries are nested calls: make_gemm_meta(types, architecture, [cores,] communication, layout,
// implementation, ...), make_runtime_config(m, n, k, ...), make_gemm_hparams(cluster, ..., tile, kind,
// stages, raster). They are read as calls, and told apart by their names, since the positions of
// optional ones differ between versions (bytedance/flux at 19831ca, include/flux/gemm_meta.h,
// gemm_hparams.h, runtime_config.h).
#include "models/import/flux_tuning.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "configs/reader/foreign_text.hpp"
#include "sim/units/check.hpp"
#include "sim/units/quote.hpp"

namespace weft::model {
namespace {

using config::Findings;

constexpr int kDeepestCall = 16;
constexpr std::int64_t kLargestExtentOfEntry = std::int64_t{1} << 31;
constexpr std::int64_t kMostRanksOfNode = 8;

/// A call, a name or a number.
struct Node {
  std::string name;  ///< "make_tuple", "_BF16" as "BF16", "false", "128"
  std::vector<Node> arguments;

  const Node* call(std::string_view wanted) const {
    for (const Node& each : arguments) {
      if (each.name == wanted) return &each;
    }
    return nullptr;
  }
};

class CallReader {
 public:
  CallReader(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  /// The arguments after an opening parenthesis; nothing where they are cut off.
  std::optional<std::vector<Node>> arguments(int depth = 0) {
    std::vector<Node> nodes;
    skip();
    if (peek() == ')') {
      ++at_;
      return nodes;
    }
    while (depth < kDeepestCall) {
      auto node = one(depth);
      if (!node) return std::nullopt;
      nodes.push_back(std::move(*node));
      skip();
      const char c = peek();
      ++at_;
      if (c == ')') return nodes;
      if (c != ',') return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_).starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == text_.npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  std::optional<Node> one(int depth) {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  text_[at_] == '_' || text_[at_] == ':' || text_[at_] == '-')) {
      ++at_;
    }
    if (at_ == begin) return std::nullopt;
    std::string_view name = text_.substr(begin, at_ - begin);
    name = name.substr(name.rfind(':') == name.npos ? 0 : name.rfind(':') + 1);
    if (name.starts_with('_')) name.remove_prefix(1);
    Node node{std::string(name), {}};
    skip();
    if (text_.substr(at_).starts_with("{}")) {
      at_ += 2;
      skip();
      if (text_.substr(at_).starts_with("()")) at_ += 2;
      return node;
    }
    if (peek() != '(') return node;
    ++at_;
    auto inner = arguments(depth + 1);
    if (!inner) return std::nullopt;
    node.arguments = std::move(*inner);
    return node;
  }

  std::string_view text_;
  std::size_t at_;
};

std::optional<std::int64_t> number_of(const Node& node) {
  std::string_view text = node.name;
  while (!text.empty() && (text.back() == 'l' || text.back() == 'L')) text.remove_suffix(1);
  const auto value = config::whole_number(text);
  if (!value || !node.arguments.empty() || *value > kLargestExtentOfEntry) return std::nullopt;
  return value;
}

/// Reads one entry: what is missing or strange becomes an error.
class EntryReader {
 public:
  EntryReader(Findings& findings, std::uint32_t line) : findings_(findings) { entry_.line = line; }

  /// Nothing for a kernel of another kind, which `other` names.
  std::optional<FluxEntry> read(const std::vector<Node>& parts, std::string& other) {
    const Node all{"add", parts};
    const Node* meta = all.call("make_gemm_meta");
    const Node* runtime = all.call("make_runtime_config");
    const Node* hparams = all.call("make_gemm_hparams");
    if (meta == nullptr || runtime == nullptr || hparams == nullptr) {
      error("an entry needs make_gemm_meta, make_runtime_config and make_gemm_hparams");
      return std::nullopt;
    }
    if (meta->call("AGKernel") != nullptr) {
      entry_.op = FluxOp::all_gather;
    } else if (meta->call("ReduceScatter") != nullptr) {
      entry_.op = FluxOp::reduce_scatter;
    } else {
      other = "kernels without a gather or a reduction of a dense product";
      return std::nullopt;
    }
    if (meta->call("Sm90") == nullptr || meta->call("GemmV3") == nullptr) {
      other = "kernels for architectures before or after Hopper";
      return std::nullopt;
    }
    read_meta(*meta);
    read_runtime(*runtime);
    read_hparams(*hparams);
    for (std::string& fault : faults_of(entry_)) error(std::move(fault));
    return entry_;
  }

 private:
  void error(std::string what) { findings_.error(entry_.line, std::move(what)); }

  void read_meta(const Node& meta) {
    const Node* types = meta.call("make_gemm_dtype_config");
    if (types != nullptr && types->arguments.size() >= 4) {
      entry_.input = types->arguments[0].name;
      entry_.output = types->arguments[3].name;
      if (types->arguments[1].name != entry_.input)
        error(fmt::format("inputs of {} and {}", entry_.input, types->arguments[1].name));
    } else if (types == nullptr && !meta.arguments.empty()) {
      entry_.input = entry_.output = meta.arguments.front().name;
    } else {
      error("make_gemm_dtype_config needs the types of a, b, c and d");
    }
    for (const char* layout : {"RCR", "RRR", "RCC", "RRC"}) {
      if (meta.call(layout) != nullptr) entry_.layout = layout;
    }
    if (const Node* reduction = meta.call("make_reduce_scatter_meta")) {
      if (reduction->arguments.size() != 2) {
        error("make_reduce_scatter_meta needs fuse_reduction and where it communicates");
        return;
      }
      const std::string& fuse = reduction->arguments[0].name;
      entry_.fuse_reduction = fuse == "true" || fuse == "True";
      if (!entry_.fuse_reduction && fuse != "false" && fuse != "False")
        error(fmt::format("fuse_reduction {} is neither true nor false", in_quotes(fuse)));
      entry_.comm_kind = reduction->arguments[1].name;
    } else if (entry_.op == FluxOp::reduce_scatter) {
      findings_.note(entry_.line, "no make_reduce_scatter_meta: not fused, inside a node");
    }
  }

  void read_runtime(const Node& runtime) {
    if (runtime.arguments.size() < 3) {
      error("make_runtime_config needs m, n and k");
      return;
    }
    size(runtime.arguments[0], "m", entry_.m);
    size(runtime.arguments[1], "n", entry_.n);
    size(runtime.arguments[2], "k", entry_.k);
    const bool gathers = entry_.op == FluxOp::all_gather;
    const Node* spread = runtime.call(gathers ? "make_all_gather_runtime_config"
                                              : "make_reduce_scatter_runtime_config");
    if (spread == nullptr || spread->arguments.size() < 2) {
      error("make_runtime_config does not say over how many ranks and nodes");
      return;
    }
    size(spread->arguments[0], "the number of ranks", entry_.ranks);
    size(spread->arguments[1], "the number of nodes", entry_.nodes);
    if (gathers && spread->arguments.size() > 2)
      size(spread->arguments[2], "ring_mode", entry_.ring_mode);
  }

  void read_hparams(const Node& hparams) {
    std::vector<const Node*> tuples, rest;
    for (const Node& each : hparams.arguments) {
      if (each.name == "make_tuple") tuples.push_back(&each);
    }
    // Kernels of Hopper were listed with make_gemm_v2_hparams of one tuple in early versions.
    const Node* own = hparams.call("make_gemm_v3_hparams");
    if (own == nullptr) own = hparams.call("make_gemm_v2_hparams");
    if (own == nullptr || own->call("make_tuple") == nullptr || tuples.size() != 1) {
      error("make_gemm_hparams needs a cluster and one tile");
      return;
    }
    triple(*own->call("make_tuple"), "a cluster", entry_.cluster);
    triple(*tuples.front(), "a tile", entry_.tile);
    for (const char* schedule : {"Cooperative", "PingPong"}) {
      if (own->call(schedule) != nullptr) entry_.kernel_schedule = schedule;
    }
    for (const Node& each : hparams.arguments) {
      if (each.name.starts_with("Raster")) entry_.raster = each.name;
      if (const auto stages = number_of(each)) entry_.stages = *stages;
    }
  }

  void size(const Node& node, std::string_view what, std::int64_t& value) {
    if (const auto number = number_of(node)) {
      value = *number;
    } else {
      error(fmt::format("{} {} is no size", what, in_quotes(node.name)));
    }
  }

  void triple(const Node& node, std::string_view what, std::array<std::int64_t, 3>& values) {
    if (node.arguments.size() != 3) {
      error(fmt::format("{} has {} numbers and not 3", what, node.arguments.size()));
      return;
    }
    for (std::size_t i = 0; i < 3; ++i) size(node.arguments[i], what, values[i]);
  }

  Findings& findings_;
  FluxEntry entry_;
};

std::string tuple_of(const std::array<std::int64_t, 3>& values) {
  return fmt::format("cute::make_tuple({}l, {}l, {}l)", values[0], values[1], values[2]);
}

std::string text_of(const FluxEntry& e) {
  const bool gathers = e.op == FluxOp::all_gather;
  const std::string reduction = fmt::format(", None{{}}, make_reduce_scatter_meta({}, _{}{{}}())",
                                            e.fuse_reduction, e.comm_kind);
  const std::string spread =
      gathers
          ? fmt::format("make_all_gather_runtime_config({}, {}, {})", e.ranks, e.nodes, e.ring_mode)
          : fmt::format("make_reduce_scatter_runtime_config({}, {})", e.ranks, e.nodes);
  const std::string schedule =
      e.kernel_schedule.empty() ? "" : fmt::format(", _{}{{}}()", e.kernel_schedule);
  return fmt::format(
      "  inst.add(\n      make_gemm_meta(make_gemm_dtype_config(_{0}{{}}(), _{0}{{}}(), "
      "_Void{{}}(), _{1}{{}}()), _Sm90{{}}(), _{2}{{}}(), _{3}{{}}(), _GemmV3{{}}(){4}),\n"
      "      make_runtime_config({5}, {6}, {7}, {8}),\n"
      "      make_gemm_hparams(make_gemm_v3_hparams({9}{10}), None{{}}, {11}, _GemmDefault{{}}(), "
      "{12}, _{13}{{}}()));\n",
      e.input, e.output, gathers ? "AGKernel" : "ReduceScatter", e.layout,
      gathers ? std::string() : reduction, e.m, e.n, e.k, spread, tuple_of(e.cluster), schedule,
      tuple_of(e.tile), e.stages, e.raster);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

}  // namespace

bool same_entry(const FluxEntry& a, const FluxEntry& b) {
  const auto all = [](const FluxEntry& e) {
    return std::tie(e.op, e.input, e.output, e.layout, e.m, e.n, e.k, e.ranks, e.nodes, e.ring_mode,
                    e.fuse_reduction, e.comm_kind, e.cluster, e.tile, e.kernel_schedule, e.stages,
                    e.raster);
  };
  return all(a) == all(b);
}

std::vector<std::string> faults_of(const FluxEntry& e) {
  std::vector<std::string> faults;
  const auto need = [&](bool holds, auto&& what) {
    if (!holds) faults.push_back(what());
  };
  need(e.m > 0 && e.n > 0 && e.k > 0,
       [&] { return fmt::format("a product of {} x {} x {} is none", e.m, e.n, e.k); });
  const bool spread = e.ranks >= 1 && e.nodes >= 1 && e.ranks % e.nodes == 0;
  need(spread && e.ranks / std::max<std::int64_t>(e.nodes, 1) <= kMostRanksOfNode, [&] {
    return fmt::format("{} ranks on {} nodes: at most {} of each node", e.ranks, e.nodes,
                       kMostRanksOfNode);
  });
  for (const std::int64_t extent : {e.tile[0], e.tile[1], e.tile[2]}) {
    need(extent == 64 || extent == 128 || extent == 256 || (extent == 32 && extent == e.tile[2]),
         [&] { return fmt::format("a tile of {} x {} x {}", e.tile[0], e.tile[1], e.tile[2]); });
  }
  const auto small = [](std::int64_t side) { return side == 1 || side == 2 || side == 4; };
  need(small(e.cluster[0]) && small(e.cluster[1]) && e.cluster[2] == 1, [&] {
    return fmt::format("a cluster of {} x {} x {}", e.cluster[0], e.cluster[1], e.cluster[2]);
  });
  need(e.stages >= 0 && e.stages <= 12, [&] { return fmt::format("{} stages", e.stages); });
  need(e.ring_mode >= 0 && e.ring_mode <= 2,
       [&] { return fmt::format("ring_mode {} is none of 0, 1, 2", e.ring_mode); });
  for (const std::string* name : {&e.input, &e.output, &e.layout, &e.comm_kind, &e.raster}) {
    need(is_name(*name), [&] { return fmt::format("{} is no name", in_quotes(*name)); });
  }
  if (!faults.empty()) return faults;
  need(e.m % e.ranks == 0,
       [&] { return fmt::format("{} rows do not divide by {} ranks", e.m, e.ranks); });
  if (e.op == FluxOp::all_gather) return faults;
  need((e.ranks & (e.ranks - 1)) == 0,
       [&] { return fmt::format("a reduction over {} ranks, no power of two", e.ranks); });
  need(e.m % (e.tile[0] * e.ranks) == 0, [&] {
    return fmt::format("{} rows do not divide by {} ranks of tiles of {}", e.m, e.ranks, e.tile[0]);
  });
  return faults;
}

bool looks_like_flux_tuning(std::string_view text) {
  return text.find("make_gemm_hparams") != text.npos ||
         text.find("TuningConfigRegistry") != text.npos;
}

FluxTuning read_flux_tuning(std::string_view text, const std::string& name) {
  Findings findings(name);
  FluxTuning result;
  result.file = name;
  std::map<std::string, std::int64_t> others;
  std::uint32_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') ++line;
    if (text.substr(at).starts_with("//")) {
      at = text.find('\n', at);
      if (at == text.npos) break;
      ++line;
      continue;
    }
    constexpr std::string_view kAdd = ".add(";
    if (!text.substr(at).starts_with(kAdd)) continue;
    const auto parts = CallReader(text, at + kAdd.size()).arguments();
    if (!parts) {
      findings.error(line, "an entry that does not end, or is no nesting of calls");
      continue;
    }
    std::string other;
    if (auto entry = EntryReader(findings, line).read(*parts, other))
      result.entries.push_back(std::move(*entry));
    if (!other.empty()) ++others[other];
  }
  for (const auto& [what, count] : others)
    findings.note(0, fmt::format("{} entries are left out: {}", count, what));
  if (result.entries.empty() && others.empty() && findings.good())
    findings.error(0, "no entry is in this text", "inst.add(make_gemm_meta(...), ...)");
  findings.throw_errors();
  result.notes = findings.take_notes();
  return result;
}

std::string to_flux_tuning(const std::vector<FluxEntry>& entries,
                           const std::vector<std::string>& header) {
  std::string text;
  for (const std::string& line : header) text += fmt::format("// {}\n", line);
  text +=
      "// clang-format off\n#include \"flux/op_registry.h\"\nnamespace bytedance::flux {\n"
      "using namespace cute;\n\nstatic int config_of_weft = []() {\n"
      "  auto &inst = TuningConfigRegistry::instance();\n";
  for (const FluxEntry& entry : entries) {
    const std::vector<std::string> faults = faults_of(entry);
    WEFT_CHECK(faults.empty(), "an entry would be refused: {}", faults.front());
    text += text_of(entry);
  }
  return text + "  return 0;\n}();\n}\n// clang-format on\n";
}

}  // namespace weft::model
