// SPDX-License-Identifier: Apache-2.0
// Names are those of PassConfig in vLLM's vllm/config/compilation.py; those of older versions are read
// under their new names. Async TP (fuse_gemm_comms) needs sequence parallelism, and both need more than
// one rank.
#include "models/import/vllm_config.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/document.hpp"
#include "configs/reader/foreign_text.hpp"
#include "configs/reader/value.hpp"
#include "sim/units/check.hpp"
#include "sim/units/nearest.hpp"
#include "sim/units/quote.hpp"

namespace weft::model {
namespace {

using config::Findings;
using config::Value;

constexpr std::int64_t kMostRanks = 1 << 16;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr double kMostMegabytes = 1 << 20;

struct Switch {
  std::string_view name;
  std::string_view before;  ///< its name in older versions
  std::optional<bool> VllmOverlap::*member;
};
constexpr Switch kSwitches[] = {
    {"enable_sp", "enable_sequence_parallelism", &VllmOverlap::enable_sp},
    {"fuse_gemm_comms", "enable_async_tp", &VllmOverlap::fuse_gemm_comms},
    {"fuse_allreduce_rms", "enable_fi_allreduce_fusion", &VllmOverlap::fuse_allreduce_rms}};
constexpr std::string_view kTokens = "sp_min_token_num";
constexpr std::string_view kMegabytes = "fi_allreduce_fusion_max_size_mb";

class ConfigReader {
 public:
  ConfigReader(VllmOverlap& overlap, Findings& findings) : overlap_(overlap), findings_(findings) {}

  void read(std::string_view text) {
    const std::string_view whole = config::trimmed(text);
    if (whole.starts_with('{')) return compilation(whole, 1);
    for (const config::TextLine& line : config::text_lines(text)) read_line(line);
  }

  bool any() const { return any_; }

 private:
  /// "key: value" of a config file, or "--key value" of a command line.
  void read_line(const config::TextLine& line) {
    const std::string_view text = config::trimmed(line.text);
    if (text.empty() || text.starts_with('#')) return;
    for (const std::string_view key : {"tensor-parallel-size", "tensor_parallel_size"}) {
      if (const auto value = value_of(text, key)) ranks(*value, line.number);
    }
    if (const auto value = value_of(text, "-tp")) ranks(*value, line.number);
    for (const std::string_view key : {"compilation-config", "compilation_config"}) {
      if (const auto value = value_of(text, key)) compilation(*value, line.number);
    }
    if (const auto value = value_of(text, "-O"); value && value->starts_with('{'))
      compilation(*value, line.number);
    dotted(config::words_of(text), line.number);
  }

  /// "--compilation-config.pass_config.enable_sp true", "-O.pass_config.enable_sp=true".
  void dotted(const std::vector<std::string_view>& words, std::uint32_t line) {
    constexpr std::string_view kPass = ".pass_config.";
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::size_t at = words[i].find(kPass);
      if (at == std::string_view::npos || !words[i].starts_with('-')) continue;
      const std::string_view rest = words[i].substr(at + kPass.size());
      const std::size_t equals = rest.find('=');
      std::string_view value = equals != rest.npos    ? rest.substr(equals + 1)
                               : i + 1 < words.size() ? words[i + 1]
                                                      : std::string_view();
      any_ = true;
      read_member({std::string(rest.substr(0, equals)), value_in(value)}, line);
    }
  }

  static Value value_in(std::string_view word) {
    if (word == "true" || word == "True") return true;
    if (word == "false" || word == "False") return false;
    if (const auto whole = config::whole_number(word)) return *whole;
    if (const auto real = config::real_number(word)) return *real;
    return std::string(word);
  }

  /// What stands after the key: a quoted text whole, an object in braces, else a word.
  static std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
    const std::size_t at = line.find(key);
    if (at == line.npos || (at > 0 && line[at - 1] != '-' && line[at - 1] != ' '))
      return std::nullopt;
    std::string_view rest = line.substr(at + key.size());
    if (rest.empty() || (rest.front() != ' ' && rest.front() != ':' && rest.front() != '='))
      return std::nullopt;
    rest = config::trimmed(rest.substr(1));
    if (rest.empty()) return std::nullopt;
    if (rest.front() == '\'' || rest.front() == '"') {
      const std::size_t end = rest.find(rest.front(), 1);
      return rest.substr(1, end == rest.npos ? rest.npos : end - 1);
    }
    if (rest.front() == '{') {
      const std::size_t end = rest.rfind('}');
      return rest.substr(0, end == rest.npos ? rest.npos : end + 1);
    }
    return rest.substr(0, rest.find_first_of(" \t"));
  }

  void ranks(std::string_view value, std::uint32_t line) {
    any_ = true;
    overlap_.tensor_parallel_size = config::whole_number(value);
    if (!overlap_.tensor_parallel_size || *overlap_.tensor_parallel_size < 1 ||
        *overlap_.tensor_parallel_size > kMostRanks)
      findings_.error(line, fmt::format("tensor-parallel-size {} is no size", in_quotes(value)));
  }

  void compilation(std::string_view json, std::uint32_t line) {
    any_ = true;
    const config::Document document = config::Document::parse(
        json, findings_.file(), {.dialect = config::Dialect::tolerant, .first_line = line});
    for (const config::ConfigError& note : document.findings())
      findings_.note(note.line, note.message);
    if (!document.root().is_object()) {
      findings_.error(line, "a compilation config is an object");
      return;
    }
    const Value* pass = document.root().find("pass_config");
    if (pass == nullptr) {
      findings_.note(line, "there is no pass_config in it: nothing about overlap");
      return;
    }
    if (!pass->is_object()) {
      findings_.error(line, "pass_config is no object");
      return;
    }
    for (const config::Member& member : pass->members()) read_member(member, line);
  }

  void read_member(const config::Member& member, std::uint32_t line) {
    if (member.value.is_null()) return;
    for (const Switch& each : kSwitches) {
      if (member.key != each.name && member.key != each.before) continue;
      if (member.key == each.before)
        findings_.note(line, fmt::format("{} is {} by now", each.before, each.name));
      if (member.value.is_boolean()) {
        overlap_.*each.member = member.value.as_boolean();
      } else {
        findings_.error(line, fmt::format("{} is neither true nor false", member.key));
      }
      return;
    }
    if (member.key == kTokens) {
      if (member.value.is_integer() && member.value.as_integer() <= kMostTokens) {
        overlap_.sp_min_token_num = member.value.as_integer();
      } else {
        findings_.error(line, fmt::format("{} is no number of tokens", kTokens));
      }
    } else if (member.key == kMegabytes) {
      if (member.value.is_number()) {
        overlap_.fi_allreduce_fusion_max_size_mb = member.value.as_real();
      } else {
        findings_.error(line, fmt::format("{} is no number", kMegabytes));
      }
    } else {
      std::vector<std::string_view> names = {kTokens, kMegabytes};
      for (const Switch& each : kSwitches) names.push_back(each.name);
      const auto nearest = nearest_name(member.key, names);
      findings_.note(line, fmt::format("{} is not read", in_quotes(member.key)),
                     nearest ? fmt::format("did you mean {}?", *nearest) : "");
    }
  }

  VllmOverlap& overlap_;
  Findings& findings_;
  bool any_ = false;
};

}  // namespace

bool same_settings(const VllmOverlap& a, const VllmOverlap& b) {
  const auto all = [](const VllmOverlap& o) {
    return std::tie(o.tensor_parallel_size, o.enable_sp, o.fuse_gemm_comms, o.fuse_allreduce_rms,
                    o.sp_min_token_num, o.fi_allreduce_fusion_max_size_mb);
  };
  return all(a) == all(b);
}

std::vector<std::string> faults_of(const VllmOverlap& o) {
  std::vector<std::string> faults;
  if (o.fuse_gemm_comms.value_or(false) && o.enable_sp == false)
    faults.emplace_back("fuse_gemm_comms stands on enable_sp, which is false");
  if (o.tensor_parallel_size == 1 &&
      (o.fuse_gemm_comms.value_or(false) || o.enable_sp.value_or(false))) {
    faults.emplace_back("one rank has nothing to overlap: vLLM switches enable_sp off");
  }
  if (o.sp_min_token_num && *o.sp_min_token_num < 1)
    faults.push_back(fmt::format("{} {} is under 1", kTokens, *o.sp_min_token_num));
  const auto& megabytes = o.fi_allreduce_fusion_max_size_mb;
  if (megabytes && !(*megabytes >= 0 && *megabytes <= kMostMegabytes))
    faults.push_back(fmt::format("{} {} is no size", kMegabytes, *megabytes));
  return faults;
}

bool looks_like_vllm_config(std::string_view text) {
  return text.find("pass_config") != text.npos || text.find("vllm serve") != text.npos ||
         text.find("compilation-config") != text.npos ||
         text.find("compilation_config") != text.npos;
}

VllmOverlap read_vllm_config(std::string_view text, const std::string& name) {
  Findings findings(name);
  VllmOverlap result;
  result.file = name;
  ConfigReader reader(result, findings);
  reader.read(text);
  if (!reader.any()) {
    findings.error(0, "neither a compilation config nor a number of ranks is in this text",
                   "compilation-config: '{\"pass_config\": {\"enable_sp\": true}}'");
  }
  for (std::string& fault : faults_of(result)) findings.error(0, std::move(fault));
  findings.throw_errors();
  result.notes = findings.take_notes();
  return result;
}

std::string to_vllm_config(const VllmOverlap& overlap, const std::vector<std::string>& header) {
  const std::vector<std::string> faults = faults_of(overlap);
  WEFT_CHECK(faults.empty(), "the settings would be refused: {}", faults.front());
  std::string text;
  for (const std::string& line : header) text += fmt::format("# {}\n", line);
  if (overlap.tensor_parallel_size)
    text += fmt::format("tensor-parallel-size: {}\n", *overlap.tensor_parallel_size);
  std::vector<std::string> members;
  for (const Switch& each : kSwitches) {
    if (overlap.*each.member)
      members.push_back(fmt::format("\"{}\": {}", each.name, *(overlap.*each.member)));
  }
  if (overlap.sp_min_token_num)
    members.push_back(fmt::format("\"{}\": {}", kTokens, *overlap.sp_min_token_num));
  if (overlap.fi_allreduce_fusion_max_size_mb)
    members.push_back(
        fmt::format("\"{}\": {}", kMegabytes, *overlap.fi_allreduce_fusion_max_size_mb));
  text +=
      fmt::format("compilation-config: '{{\"pass_config\": {{{}}}}}'\n", fmt::join(members, ", "));
  return text;
}

}  // namespace weft::model
