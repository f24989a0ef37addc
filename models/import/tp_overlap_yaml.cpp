// SPDX-License-Identifier: Apache-2.0
// The file as YAML: a mapping of products to mappings of settings, booleans as 0 and 1 or as words. A
// Python dict of the same is YAML in flow style once its name is taken off. yaml-cpp stays here.
#include <algorithm>
#include <cctype>
#include <set>
#include <utility>
#include <yaml-cpp/yaml.h>

#include <fmt/format.h>

#include "configs/reader/foreign_text.hpp"
#include "models/import/tp_overlap.hpp"
#include "sim/units/nearest.hpp"
#include "sim/units/quote.hpp"

namespace weft::model {
namespace {

using config::Findings;

constexpr std::size_t kLongestFile = std::size_t{1} << 20;
constexpr std::size_t kDeepestFlow = 16;

constexpr std::string_view kSettings[] = {"method",      "num_sm",        "cga_size",
                                          "num_splits",  "set_sm_margin", "aggregate",
                                          "atomic_gemm", "use_ce",        "fp8_buf"};

std::uint32_t line_of(const YAML::Node& node) {
  const int line = node.Mark().line;
  return line < 0 ? 0U : static_cast<std::uint32_t>(line) + 1;
}

/// Without "ub_cfgs =" or "tp_comm_overlap_cfg =" before a brace.
std::string yaml_of(std::string_view text) {
  std::string yaml;
  bool content = false;
  for (const config::TextLine& line : config::text_lines(text)) {
    std::string_view rest = line.text;
    const std::size_t brace = rest.find('{');
    const std::size_t equals = rest.find('=');
    const bool assigns = !content && equals != rest.npos && brace != rest.npos && equals < brace &&
                         rest.find('#') > equals;
    if (assigns) rest.remove_prefix(brace);
    const std::string_view bare = config::trimmed(rest);
    content = content || (!bare.empty() && !bare.starts_with('#'));
    yaml.append(rest);
    yaml += '\n';
  }
  return yaml;
}

bool too_deep(std::string_view text) {
  std::size_t depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (depth > kDeepestFlow) return true;
  }
  // Block style nests by indentation, and by "- - - ".
  return text.find("- - - - ") != text.npos || text.find("? ? ? ? ") != text.npos ||
         text.find(std::string(64, ' ')) != text.npos;
}

class OverlapReader {
 public:
  OverlapReader(TpOverlap& overlap, Findings& findings) : overlap_(overlap), findings_(findings) {}

  void read(const YAML::Node& root) {
    if (!root.IsMap()) {
      findings_.error(1, "no mapping of products to settings");
      return;
    }
    for (const auto& entry : root) {
      const std::string name = entry.first.Scalar();
      const std::uint32_t line = line_of(entry.first);
      if (ub_site(name) == nullptr) {
        unknown_product(name, line);
      } else if (!entry.second.IsMap()) {
        findings_.error(line, fmt::format("{} has no settings", name));
      } else if (!seen_.insert(name).second) {
        findings_.error(line, fmt::format("{} is there twice", name));
      } else {
        read_gemm(name, line, entry.second);
      }
    }
    if (overlap_.gemms.empty() && findings_.good()) findings_.error(1, "no product is named");
    check_pairs();
  }

 private:
  void unknown_product(const std::string& name, std::uint32_t line) {
    std::vector<std::string_view> names;
    for (const char* each :
         {"qkv_fprop", "qkv_dgrad", "qkv_wgrad", "proj_fprop", "proj_dgrad", "proj_wgrad",
          "fc1_fprop", "fc1_dgrad", "fc1_wgrad", "fc2_fprop", "fc2_dgrad", "fc2_wgrad"}) {
      names.emplace_back(each);
    }
    const auto nearest = nearest_name(name, names);
    findings_.error(line, fmt::format("there is no product {}", in_quotes(name)),
                    nearest ? fmt::format("did you mean \"{}\"?", *nearest) : "");
  }

  void read_gemm(const std::string& name, std::uint32_t line, const YAML::Node& settings) {
    UbGemm gemm;
    gemm.name = name;
    gemm.line = line;
    gemm.method = ub_site(name)->method;
    if (!settings["method"]) {
      findings_.note(line, fmt::format("{} names no method: {}, as Transformer Engine has it", name,
                                       name_of(gemm.method)));
    }
    for (const auto& entry : settings) {
      const std::string key = entry.first.Scalar();
      if (!entry.second.IsScalar()) {
        findings_.error(line_of(entry.first), fmt::format("{} of {} is no plain value", key, name));
        continue;
      }
      set(gemm, key, entry.second.Scalar(), line_of(entry.first));
    }
    for (std::string& fault : faults_of(gemm)) findings_.error(line, std::move(fault));
    if (gemm.num_sm && gemm.cga_size && *gemm.cga_size > 0 && *gemm.num_sm % *gemm.cga_size != 0) {
      findings_.note(line,
                     fmt::format("{}: num_sm {} is no multiple of cga_size {}: launched without "
                                 "clusters",
                                 name, *gemm.num_sm, *gemm.cga_size));
    }
    overlap_.gemms.push_back(std::move(gemm));
  }

  void set(UbGemm& gemm, const std::string& key, const std::string& value, std::uint32_t line) {
    if (key == "method") {
      for (const UbMethod method :
           {UbMethod::ring_exchange, UbMethod::pipeline, UbMethod::bulk, UbMethod::external}) {
        if (value == name_of(method)) {
          gemm.method = method;
          return;
        }
      }
      findings_.error(line, fmt::format("there is no method {}", in_quotes(value)),
                      "ring_exchange, pipeline, bulk or external");
      return;
    }
    for (const auto& [name, to] :
         {std::pair("num_sm", &UbGemm::num_sm), std::pair("cga_size", &UbGemm::cga_size),
          std::pair("num_splits", &UbGemm::num_splits)}) {
      if (key != name) continue;
      gemm.*to = config::whole_number(value);
      if (!(gemm.*to))
        findings_.error(line, fmt::format("{} {} is no whole number", key, in_quotes(value)));
      return;
    }
    for (const auto& [name, to] :
         {std::pair("set_sm_margin", &UbGemm::set_sm_margin),
          std::pair("aggregate", &UbGemm::aggregate),
          std::pair("atomic_gemm", &UbGemm::atomic_gemm), std::pair("use_ce", &UbGemm::use_ce),
          std::pair("fp8_buf", &UbGemm::fp8_buf)}) {
      if (key != name) continue;
      gemm.*to = boolean(value);
      if (!(gemm.*to))
        findings_.error(line, fmt::format("{} {} is neither 0 nor 1", key, in_quotes(value)));
      return;
    }
    const auto nearest = nearest_name(key, kSettings);
    findings_.note(
        line, fmt::format("setting {} of {} is not known and ignored", in_quotes(key), gemm.name),
        nearest ? fmt::format("did you mean \"{}\"?", *nearest) : "");
  }

  static std::optional<bool> boolean(std::string value) {
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (value == "1" || value == "true" || value == "yes") return true;
    if (value == "0" || value == "false" || value == "no") return false;
    return std::nullopt;
  }

  void check_pairs() {
    for (UbPairFault& fault : pair_faults_of(overlap_.gemms))
      findings_.error(find(fault.product)->line, std::move(fault.what));
  }

  const UbGemm* find(std::string_view name) const {
    for (const UbGemm& gemm : overlap_.gemms) {
      if (gemm.name == name) return &gemm;
    }
    return nullptr;
  }

  TpOverlap& overlap_;
  Findings& findings_;
  std::set<std::string> seen_;
};

/// "tp4" in the name and "TP=8" in a comment: both cannot be meant.
void compare_names(std::string_view text, const std::string& name, Findings& findings) {
  const auto tp_in = [](std::string_view where) -> std::optional<std::int64_t> {
    for (std::size_t i = 0; i + 2 < where.size(); ++i) {
      if (std::tolower(static_cast<unsigned char>(where[i])) != 't' ||
          std::tolower(static_cast<unsigned char>(where[i + 1])) != 'p') {
        continue;
      }
      std::size_t at = i + 2;
      if (where[at] == '=' || where[at] == ' ') ++at;
      std::size_t end = at;
      while (end < where.size() && end < at + 3 && where[end] >= '0' && where[end] <= '9') ++end;
      if (end > at) return config::whole_number(where.substr(at, end - at));
    }
    return std::nullopt;
  };
  const auto named = tp_in(std::string_view(name).substr(name.find_last_of('/') + 1));
  for (const config::TextLine& line : config::text_lines(text)) {
    const std::size_t hash = line.text.find('#');
    if (hash == std::string::npos) continue;
    const auto said = tp_in(std::string_view(line.text).substr(hash));
    if (named && said && *named != *said) {
      findings.note(line.number,
                    fmt::format("the comment says TP {}, the file's name {}: neither is "
                                "part of the settings",
                                *said, *named));
    }
  }
}

}  // namespace

bool looks_like_tp_overlap(std::string_view text) {
  if (text.find("TPOverlapCfg") != text.npos || text.find("BulkOverlapCfg") != text.npos)
    return true;
  std::size_t products = 0;
  for (const char* product : {"qkv_fprop", "proj_fprop", "fc1_fprop", "fc2_fprop", "qkv_dgrad",
                              "fc1_dgrad", "proj_dgrad", "fc2_dgrad"}) {
    if (text.find(product) != text.npos) ++products;
  }
  return products >= 1 && text.find("#!") != 0;
}

TpOverlap read_tp_overlap(std::string_view text, const std::string& name) {
  Findings findings(name);
  TpOverlap overlap;
  overlap.file = name;
  if (text.find("OverlapCfg(") != text.npos) {
    findings.error(0, "this is Python of NeMo (TransformerLayerTPOverlapCfg)",
                   "dataclasses.asdict of it, as YAML, is read");
  } else if (text.size() > kLongestFile || too_deep(text)) {
    findings.error(0, "larger or deeper than any such file");
  }
  findings.throw_errors();
  try {
    OverlapReader(overlap, findings).read(YAML::Load(yaml_of(text)));
  } catch (const YAML::Exception& fault) {
    findings.error(fault.mark.line < 0 ? 0U : static_cast<std::uint32_t>(fault.mark.line) + 1,
                   fmt::format("no YAML: {}", in_quotes(fault.msg, 80)));
  }
  findings.throw_errors();
  compare_names(text, name, findings);
  overlap.notes = findings.take_notes();
  return overlap;
}

}  // namespace weft::model
