// SPDX-License-Identifier: Apache-2.0
// Values are those of NCCL's user guide, "Environment Variables" (2.29): NCCL_ALGO and NCCL_PROTO are
// lists, "^" before one excludes it, "allreduce:ring;broadcast:tree" goes by function since 2.24.
#include "models/import/nccl_env.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/foreign_text.hpp"
#include "sim/units/check.hpp"
#include "sim/units/nearest.hpp"
#include "sim/units/quote.hpp"

namespace weft::model {
namespace {

using config::Findings;

constexpr std::int64_t kMostChannels = 64;  // MAXCHANNELS of NCCL's device.h

constexpr std::string_view kAlgorithms[] = {
    "ring", "tree", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"};
constexpr std::string_view kUnpriced[] = {"collnetchain", "nvlstree", "pat"};
constexpr std::string_view kProtocols[] = {"ll", "ll128", "simple"};
constexpr std::string_view kFunctions[] = {"broadcast",     "reduce",    "allgather",
                                           "reducescatter", "allreduce", "alltoall"};
constexpr std::string_view kPolicies[] = {"default", "efficiency", "zero"};

struct Range {
  std::string_view name;
  std::int64_t least, most;
};
constexpr Range kRanges[] = {{"NCCL_MAX_CTAS", 1, kMostChannels},
                             {"NCCL_MIN_CTAS", 1, kMostChannels},
                             {"NCCL_MAX_NCHANNELS", 1, kMostChannels},
                             {"NCCL_MIN_NCHANNELS", 1, kMostChannels},
                             {"NCCL_NVLS_ENABLE", 0, 2},
                             {"NCCL_CGA_CLUSTER_SIZE", 0, 8},
                             {"NCCL_P2P_DISABLE", 0, 1},
                             {"NCCL_SHM_DISABLE", 0, 1},
                             {"NCCL_CUMEM_ENABLE", 0, 1}};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

template <std::size_t N>
bool among(std::string_view word, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), word) != std::end(names);
}

/// Why a list of names, whole or by function, is none; empty if it is one.
template <std::size_t N>
std::string list_fault(const NcclSetting& setting, const std::string_view (&names)[N]) {
  for (const std::string& part : parts_of(lower(setting.value), ';')) {
    const std::size_t colon = part.find(':');
    const std::string function = colon == part.npos ? "" : part.substr(0, colon);
    if (colon != part.npos && !among(function, kFunctions)) {
      return fmt::format("{} names a function {}, which is none of {}", setting.name,
                         in_quotes(function), fmt::join(kFunctions, ", "));
    }
    std::string list = colon == part.npos ? part : part.substr(colon + 1);
    if (list.starts_with('^')) list.erase(0, 1);
    for (const std::string& name : parts_of(list, ',')) {
      if (among(name, names)) continue;
      return fmt::format("{} cannot be {} (legal: {})", setting.name, in_quotes(name),
                         fmt::join(names, ", "));
    }
  }
  return {};
}

/// The algorithms of a legal list that it asks for and that no profile prices.
std::vector<std::string> unpriced_in(std::string_view list) {
  std::vector<std::string> result;
  for (const std::string& part : parts_of(lower(list), ';')) {
    const std::string names = part.substr(part.find(':') + 1);  // all of it without a function
    if (names.starts_with('^')) continue;
    for (std::string& name : parts_of(names, ',')) {
      if (among(name, kUnpriced)) result.push_back(std::move(name));
    }
  }
  return result;
}

std::string fault_of(const NcclSetting& setting) {
  if (setting.name == "NCCL_ALGO") return list_fault(setting, kAlgorithms);
  if (setting.name == "NCCL_PROTO") return list_fault(setting, kProtocols);
  if (setting.name == "NCCL_CTA_POLICY") {
    for (const std::string& part : parts_of(lower(setting.value), '|')) {
      const auto number = config::whole_number(part);
      if ((number && *number >= 0 && *number <= 2) || among(part, kPolicies)) continue;
      return fmt::format(
          "NCCL_CTA_POLICY cannot be {} (legal: 0 or DEFAULT, 1 or EFFICIENCY, 2 or "
          "ZERO)",
          in_quotes(part));
    }
    return {};
  }
  for (const Range& range : kRanges) {
    if (setting.name != range.name) continue;
    const auto number = config::whole_number(setting.value);
    if (number && *number >= range.least && *number <= range.most) return {};
    return fmt::format("{} {} is not between {} and {}", setting.name, in_quotes(setting.value),
                       range.least, range.most);
  }
  return {};
}

bool is_read(std::string_view name) {
  return name == "NCCL_ALGO" || name == "NCCL_PROTO" || name == "NCCL_CTA_POLICY" ||
         std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const Range& range) { return range.name == name; });
}

const NcclSetting* find_in(const std::vector<NcclSetting>& settings, std::string_view name) {
  for (const NcclSetting& setting : settings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Whether a ';' parts functions of a list, "allreduce:ring;allgather:tree", and not commands.
bool parts_functions(std::string_view after) {
  std::size_t end = 0;
  while (end < after.size() && std::islower(static_cast<unsigned char>(after[end]))) ++end;
  return end > 0 && end < after.size() && after[end] == ':';
}

/// The end of a value that begins at `at`, unquoted; `around` is the quote before its name, or 0.
std::size_t end_of_value(std::string_view text, std::size_t at, char around) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (around != 0 ? c == around : is_blank(c)) break;
    if (c == ';' && around == 0 && !parts_functions(text.substr(at + 1))) break;
  }
  return at;
}

/// What a line sets of NCCL: by a shell, one after another or before a command, by `mpirun -x` and
/// `docker -e`, by csh's setenv, or as nccl.conf has it.
std::vector<NcclSetting> settings_of(const config::TextLine& line) {
  std::vector<NcclSetting> found;
  const std::string_view text = line.text;
  const auto skip = [&](std::size_t at) {
    while (at < text.size() && is_blank(text[at])) ++at;
    return at;
  };
  for (std::size_t i = 0; i < text.size();) {
    const char before = i == 0 ? ' ' : text[i - 1];
    if (text[i] == '#' && is_blank(before)) break;
    if (std::string_view(" \t;&|(\"'").find(before) == std::string_view::npos ||
        !text.substr(i).starts_with("NCCL_")) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string_view name = text.substr(i, end - i);
    const std::string_view command = config::trimmed(text.substr(0, i));
    const bool by_word = command.ends_with("setenv") || command.ends_with("-genv");
    const char around = before == '"' || before == '\'' ? before : '\0';
    i = end;
    std::size_t at = skip(end);
    if (at < text.size() && text[at] == '=') {
      at = at > end ? skip(at + 1) : at + 1;
    } else if (!by_word || at == end) {
      continue;
    }
    std::string_view value;
    if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
      i = std::min(text.find(text[at], at + 1), text.size());
      value = text.substr(at + 1, i - at - 1);
    } else {
      i = end_of_value(text, at, around);
      value = text.substr(at, i - at);
    }
    found.push_back({std::string(name), std::string(value), line.number});
  }
  return found;
}

/// Adds a setting, or puts it in the place of an earlier one.
void keep(NcclSetting setting, std::vector<NcclSetting>& settings, Findings& findings) {
  const bool both =
      setting.value.find('"') != std::string::npos && setting.value.find('\'') != std::string::npos;
  if (both) {
    findings.note(setting.line, fmt::format("{} has quotes of both kinds: ignored", setting.name));
    return;
  }
  if (!is_read(setting.name)) {
    std::vector<std::string_view> names = {"NCCL_ALGO", "NCCL_PROTO", "NCCL_CTA_POLICY"};
    for (const Range& range : kRanges) names.push_back(range.name);
    const auto nearest = nearest_name(setting.name, names);
    findings.note(setting.line, fmt::format("{} is not read, and kept as it is", setting.name),
                  nearest ? fmt::format("did you mean {}?", *nearest) : "");
  } else if (setting.value.find('$') != std::string::npos) {
    findings.note(setting.line,
                  fmt::format("{} is {}: unknown", setting.name, in_quotes(setting.value)));
    return;
  }
  const auto before = std::find_if(settings.begin(), settings.end(),
                                   [&](const auto& each) { return each.name == setting.name; });
  if (before == settings.end()) {
    settings.push_back(std::move(setting));
    return;
  }
  findings.note(setting.line,
                fmt::format("{} {} takes the place of {} on line {}", setting.name,
                            in_quotes(setting.value), in_quotes(before->value), before->line));
  *before = std::move(setting);
}

}  // namespace

const NcclSetting* NcclEnvironment::find(std::string_view name) const {
  return find_in(settings, name);
}

std::vector<NcclFault> faults_of(const std::vector<NcclSetting>& settings) {
  std::vector<NcclFault> faults;
  for (const NcclSetting& setting : settings) {
    std::string fault = fault_of(setting);
    if (!fault.empty()) faults.push_back({setting.name, std::move(fault)});
  }
  const auto number = [&](std::string_view name) -> std::optional<std::int64_t> {
    const NcclSetting* setting = find_in(settings, name);
    if (setting == nullptr) return std::nullopt;
    return config::whole_number(setting->value);
  };
  const auto least = number("NCCL_MIN_CTAS"), most = number("NCCL_MAX_CTAS");
  if (least && most && *least > *most) {
    faults.push_back({"NCCL_MIN_CTAS", fmt::format("NCCL_MIN_CTAS {} is above NCCL_MAX_CTAS {}, "
                                                   "which wins",
                                                   *least, *most)});
  }
  const NcclSetting* algorithm = find_in(settings, "NCCL_ALGO");
  if (algorithm != nullptr && number("NCCL_NVLS_ENABLE") == 0) {
    const std::string value = lower(algorithm->value);
    if (value == "nvls" || value == "nvlstree") {
      faults.push_back({"NCCL_ALGO", fmt::format("NCCL_ALGO {} with NCCL_NVLS_ENABLE 0 leaves no "
                                                 "algorithm",
                                                 algorithm->value)});
    }
  }
  return faults;
}

bool looks_like_nccl_environment(std::string_view text) {
  for (const config::TextLine& line : config::text_lines(text)) {
    if (!settings_of(line).empty()) return true;
  }
  return false;
}

NcclEnvironment read_nccl_environment(std::string_view text, const std::string& name) {
  Findings findings(name);
  NcclEnvironment result;
  result.file = name;
  for (const config::TextLine& line : config::text_lines(text)) {
    std::vector<NcclSetting> settings = settings_of(line);
    const std::string_view bare = config::trimmed(line.text);
    if (settings.empty() && !bare.empty() && !bare.starts_with('#'))
      findings.note(line.number, fmt::format("{} sets nothing of NCCL", in_quotes(bare)));
    for (NcclSetting& setting : settings) keep(std::move(setting), result.settings, findings);
  }
  if (result.settings.empty()) {
    findings.error(0, "no variable of NCCL is set in this text", "export NCCL_ALGO=ring");
  }
  for (NcclFault& fault : faults_of(result.settings))
    findings.error(result.find(fault.name)->line, std::move(fault.what));
  findings.throw_errors();
  if (const NcclSetting* algorithm = result.find("NCCL_ALGO")) {
    for (const std::string& unpriced : unpriced_in(algorithm->value)) {
      findings.note(
          algorithm->line,
          fmt::format("NCCL_ALGO {} has no price here: schedules of NCCL can be asked for "
                      "ring, tree, nvls and collnetdirect",
                      unpriced));
    }
  }
  result.notes = findings.take_notes();
  return result;
}

std::string to_nccl_environment(const std::vector<NcclSetting>& settings,
                                const std::vector<std::string>& header) {
  for (const NcclFault& fault : faults_of(settings)) WEFT_CHECK(false, "{}", fault.what);
  std::string text;
  for (const std::string& line : header) text += fmt::format("# {}\n", line);
  for (const NcclSetting& each : settings) {
    const bool plain = std::all_of(each.value.begin(), each.value.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == ',' || c == '.' || c == '/' || c == '-';
    });
    const char quote = each.value.find('\'') == std::string::npos ? '\'' : '"';
    text += plain && !each.value.empty()
                ? fmt::format("export {}={}\n", each.name, each.value)
                : fmt::format("export {}={}{}{}\n", each.name, quote, each.value, quote);
  }
  return text;
}

}  // namespace weft::model
