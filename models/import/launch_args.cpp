// SPDX-License-Identifier: Apache-2.0
// This is no shell: it reads words with their quotes, assignments of one line and ${VAR}; loops,
// branches and commands are words like others. What it cannot expand it says.
#include "models/import/launch_args.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "sim/units/quote.hpp"

namespace weft::model {
namespace {

using config::Findings;
using config::TextLine;

constexpr std::size_t kLongestWord = 4096;
// Arguments in a variable in a variable: scripts go two deep; one that holds itself has no end.
constexpr int kDeepestAssignment = 8;
// Values written out, all of a text together: scripts need some kilobytes; those whose variables hold each other
// several times over would grow with a power of their depth.
constexpr std::size_t kMostExpanded = std::size_t{1} << 20;

/// Keys without dashes that NeMo's YAML and Hydra use for the same settings.
constexpr std::string_view kNemoKeys[] = {
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "sequence_parallel",
    "num_layers",
    "hidden_size",
    "ffn_hidden_size",
    "num_attention_heads",
    "num_query_groups",
    "kv_channels",
    "encoder_seq_length",
    "seq_length",
    "micro_batch_size",
    "global_batch_size",
    "ub_tp_comm_overlap",
    "tp_comm_overlap",
    "tp_comm_overlap_cfg",
    "max_position_embeddings",
    "vocab_size",
    "num_nodes",
    "devices",
    "precision",
    "num_experts",
};

bool is_nemo_key(std::string_view name) {
  return std::find(std::begin(kNemoKeys), std::end(kNemoKeys), name) != std::end(kNemoKeys);
}

bool is_identifier(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

struct Word {
  std::string text;
  bool quoted = false;
};

/// The words of a line up to a comment, quotes taken off, parentheses and separators apart.
std::vector<Word> shell_words(std::string_view line) {
  std::vector<Word> words;
  std::string word;
  bool in_word = false, quoted = false;
  const auto flush = [&] {
    if (in_word && word.size() <= kLongestWord) words.push_back({word, quoted});
    word.clear();
    in_word = quoted = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\'' || c == '"') {
      const std::size_t end = std::min(line.find(c, i + 1), line.size());
      word.append(line.substr(i + 1, end - i - 1));
      in_word = quoted = true;
      i = end;
    } else if (c == '#' && !in_word) {
      break;
    } else if (c == ' ' || c == '\t' || c == ';') {
      flush();
    } else if ((c == '(' || c == ')') && (word.empty() || word.back() != '$') &&
               word.find("$(") == word.npos) {
      if (c == '(' && !word.empty() && word.back() == '=') word.pop_back();  // NAME=( of an array
      if (in_word && c == '(' && is_identifier(word)) {
        word.clear();
        in_word = false;
      }
      flush();
    } else {
      word += c;
      in_word = true;
    }
  }
  flush();
  return words;
}

class ArgumentReader {
 public:
  ArgumentReader(LaunchArguments& result, Findings& findings)
      : result_(result), findings_(findings) {}

  void read(const std::vector<TextLine>& lines) {
    for (const TextLine& line : lines) {
      std::string_view text = line.text;
      // To sbatch these are arguments and no remarks.
      if (text.starts_with("#SBATCH")) text.remove_prefix(7);
      const auto words = shell_words(text);
      for (std::size_t i = 0; i < words.size(); ++i) read_word(words, i, line.number);
      if (words.empty() || words.back().text != "\\") end_argument();
    }
    end_argument();
  }

 private:
  void read_word(const std::vector<Word>& words, std::size_t i, std::uint32_t line) {
    const std::string& text = words[i].text;
    if (text == "\\" || text == "export" || text == "&&" || text == "|") {
      if (text == "&&" || text == "|") end_argument();
      return;
    }
    if (text.starts_with("--") && text.size() > 2) return dashed(text.substr(2), line);
    const std::size_t equals = text.find('=');
    const std::size_t dot = text.find('.');
    if (equals != text.npos && dot != text.npos && dot < equals && pending_.empty()) {
      return hydra(text, equals, line);
    }
    if (equals != text.npos && is_identifier(std::string_view(text).substr(0, equals)) &&
        !words[i].text.starts_with("-")) {
      end_argument();
      return assignment(text.substr(0, equals), expand(text.substr(equals + 1), line), line);
    }
    if (!pending_.empty()) {
      const bool array = text.starts_with('$') && text.find("[@]") != text.npos;
      if (value_.empty() && !array) {
        value_ = text;
      } else {
        end_argument();  // one value an argument: what follows is the command's
      }
      return;
    }
    if (i == 0 && text.ends_with(':') && words.size() >= 2 &&
        is_nemo_key(std::string_view(text).substr(0, text.size() - 1))) {
      set(text.substr(0, text.size() - 1), words[1].text, line, false);
    }
  }

  void dashed(std::string name, std::uint32_t line) {
    end_argument();
    std::string value;
    const std::size_t equals = name.find('=');
    if (equals != name.npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (name.ends_with(':')) {
      name.pop_back();
    }
    std::replace(name.begin(), name.end(), '-', '_');
    if (!is_identifier(name)) return;
    pending_ = name;
    pending_line_ = line;
    value_ = value;
  }

  void end_argument() {
    if (pending_.empty()) return;
    const std::string name = std::exchange(pending_, {});
    set(name, std::exchange(value_, {}), pending_line_, true);
  }

  void hydra(const std::string& text, std::size_t equals, std::uint32_t line) {
    std::string name = text.substr(0, equals);
    name = name.substr(name.rfind('.') + 1);
    if (is_identifier(name)) set(name, text.substr(equals + 1), line, false);
  }

  void set(const std::string& name, const std::string& raw, std::uint32_t line, bool dashed) {
    const std::string value = expand(raw, line);
    const auto [place, fresh] =
        result_.arguments.try_emplace(name, LaunchArgument{value, line, dashed});
    if (fresh) return;
    if (place->second.value != value) {
      findings_.note(line,
                     fmt::format("{} {} takes the place of {} on line {}", name, in_quotes(value),
                                 in_quotes(place->second.value), place->second.line));
    }
    place->second = {value, line, dashed};
  }

  void assignment(const std::string& name, const std::string& value, std::uint32_t line) {
    variables_[name] = value;
    result_.environment[name] = {value, line};
    // "ARGS=\"--a 1 --b\"" holds arguments itself.
    if (value.find("--") != value.npos && nested_ < kDeepestAssignment) {
      ++nested_;
      const auto words = shell_words(value);
      for (std::size_t i = 0; i < words.size(); ++i) read_word(words, i, line);
      end_argument();
      --nested_;
    }
  }

  /// ${NAME}, $NAME and ${NAME:-default}; what cannot be expanded stays and is said.
  std::string expand(const std::string& text, std::uint32_t line) {
    if (expanded_ > kMostExpanded) return {};
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '$' || i + 1 == text.size()) {
        result += text[i];
        continue;
      }
      const bool braces = text[i + 1] == '{';
      const std::size_t begin = i + (braces ? 2 : 1);
      std::size_t end = begin;
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
        ++end;
      const std::string name = text.substr(begin, end - begin);
      std::string fallback;
      bool has_fallback = false;
      std::size_t after = end;
      if (braces) {
        const std::size_t close = std::min(text.find('}', end), text.size());
        const std::string rest = text.substr(end, close - end);
        has_fallback = rest.starts_with(":-") || rest.starts_with("-");
        if (has_fallback) fallback = rest.substr(rest.find('-') + 1);
        after = std::min(close + 1, text.size());
      }
      if (const auto known = variables_.find(name); known != variables_.end()) {
        result += known->second;
      } else if (has_fallback) {
        result += fallback;
      } else {
        if (!name.empty() && unknown_.insert(name).second && !pass_through(name)) {
          findings_.note(line, fmt::format("${} is set nowhere in the file: what it stands for is "
                                           "unknown",
                                           name));
        }
        result += text.substr(i, after - i);
      }
      i = after - 1;
      if (result.size() > kLongestWord) break;
    }
    expanded_ += result.size();
    if (expanded_ > kMostExpanded) {
      findings_.error(line, "its variables hold each other so often that they grow without end",
                      "write the arguments out");
    }
    return result;
  }

  /// Arrays whose arguments have been read where they stand.
  static bool pass_through(std::string_view name) { return name.find("ARGS") != name.npos; }

  LaunchArguments& result_;
  Findings& findings_;
  std::map<std::string, std::string> variables_;
  std::set<std::string> unknown_;
  std::string pending_, value_;
  std::uint32_t pending_line_ = 0;
  int nested_ = 0;  ///< assignments whose value is being read as arguments
  std::size_t expanded_ = 0;
};

}  // namespace

const LaunchArgument* LaunchArguments::find(std::string_view name) const {
  const auto found = arguments.find(std::string(name));
  return found == arguments.end() ? nullptr : &found->second;
}

bool LaunchArguments::on(std::string_view name) const {
  const LaunchArgument* argument = find(name);
  if (argument == nullptr) return false;
  const std::string& value = argument->value;
  return value != "False" && value != "false" && value != "0" && value != "no";
}

bool looks_like_launch_arguments(std::string_view text) {
  for (const std::string_view sign :
       {"--tensor-model-parallel-size", "--num-attention-heads", "tensor_model_parallel_size",
        "pretrain_gpt.py", "--tp-comm-overlap", "--hidden-size"}) {
    if (text.find(sign) != text.npos) return true;
  }
  return false;
}

bool is_launch_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string head(std::size_t{64} << 10, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool json = first != head.npos && (head[first] == '{' || head[first] == '[');
  return !json && looks_like_launch_arguments(head);
}

LaunchArguments read_launch_arguments(std::string_view text, const std::string& name) {
  Findings findings(name);
  LaunchArguments result;
  result.file = name;
  ArgumentReader(result, findings).read(config::text_lines(text));
  if (result.arguments.empty()) {
    findings.error(0, "no argument is in this text", "--hidden-size 4096, or hidden_size: 4096");
  }
  findings.throw_errors();
  result.notes = findings.take_notes();
  return result;
}

}  // namespace weft::model
