// SPDX-License-Identifier: Apache-2.0
// Parsing with nlohmann/json 3.11: its SAX interface over an iterator that counts bytes gives every
// value its place (its own tree has none, and drops duplicate keys silently). Nesting is bounded
// before it starts.
#include "configs/reader/document.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "configs/reader/document_builder.hpp"
#include "configs/reader/place_counter.hpp"
#include "sim/units/format.hpp"

namespace weft::config {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// A pointer that counts how often it has been advanced.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  std::size_t* count_;
};

// A syntax error: the byte where it stands, what is wrong, and a hint.
struct SyntaxError {
  std::size_t offset = 0;
  std::string message;
  std::string hint;
};

// The events of the parser, passed on to the builder.
class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  Events(std::string_view text, DocumentBuilder& builder) : text_(text), builder_(builder) {}

  bool null() override { return builder_.add(nullptr), true; }
  bool boolean(bool flag) override { return builder_.add(flag), true; }
  bool number_integer(number_integer_t number) override { return builder_.add(number), true; }
  bool number_unsigned(number_unsigned_t number) override {
    if (std::in_range<std::int64_t>(number)) {
      builder_.add(number);
    } else {
      builder_.add(static_cast<double>(number));
    }
    return true;
  }
  bool number_float(number_float_t number, const string_t&) override {
    return builder_.add(number), true;
  }
  bool string(string_t& text) override { return builder_.add(std::move(text)), true; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return builder_.begin(Value::object()), true; }
  bool key(string_t& key) override { return builder_.key(std::move(key)), true; }
  bool end_object() override { return builder_.end(), true; }
  bool start_array(std::size_t) override { return builder_.begin(Value::array()), true; }
  bool end_array() override { return builder_.end(), true; }

  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::json::exception& exception) override;

  const std::optional<SyntaxError>& error() const { return error_; }

 private:
  std::string hint_at(std::size_t offset) const;

  std::string_view text_;
  DocumentBuilder& builder_;
  std::optional<SyntaxError> error_;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Takes the sentence out of "[json.exception...] parse error at line 1, column 2: syntax error while parsing
// value - unexpected '}'; expected ...; last read: '...'".
std::string sentence_of(std::string_view what) {
  if (what.find("number overflow") != std::string_view::npos) return "the number is too large";
  const std::size_t syntax = what.find("syntax error");
  const std::size_t dash = what.find(" - ", syntax == std::string_view::npos ? 0 : syntax);
  if (dash == std::string_view::npos) return std::string(what);
  what.remove_prefix(dash + 3);
  std::string sentence(what.substr(0, what.find("; last read: ")));
  replace_all(sentence, "'[', '{', or a literal", "a value");
  replace_all(sentence, "; expected", ", expected");
  replace_all(sentence, ", expected string literal", ", expected a string");
  if (sentence.starts_with("unexpected")) replace_all(sentence, " literal", "");
  return sentence;
}

bool Events::parse_error(std::size_t position, const std::string&,
                         const nlohmann::json::exception& exception) {
  SyntaxError error;
  error.message = sentence_of(exception.what());
  const bool at_last_byte = error.message.starts_with("invalid string") ||
                            error.message.starts_with("invalid number") ||
                            error.message.starts_with("unexpected '");
  if (position > text_.size()) {
    // The parser counts the end of the text as one more byte.
    error.offset =
        error.message.starts_with("invalid literal") ? builder_.next_token() : text_.size();
  } else {
    error.offset = at_last_byte ? position - 1 : builder_.next_token();
  }
  if (error.message.starts_with("unexpected") || error.message.starts_with("invalid literal")) {
    error.hint = hint_at(error.offset);
  }
  error_ = std::move(error);
  return false;
}

// Names the usual reasons why JSON written by hand does not parse.
std::string Events::hint_at(std::size_t offset) const {
  const std::string_view rest = text_.substr(offset);
  if (rest.empty()) return {};
  const std::size_t before = text_.substr(0, offset).find_last_not_of(" \t\r\n");
  const char previous = before == std::string_view::npos ? '\0' : text_[before];
  if (rest.starts_with("//") || rest.starts_with("/*") || rest.front() == '#') {
    return "JSON has no comments: remove it";
  }
  if ((rest.front() == '}' || rest.front() == ']') && previous == ',') {
    return "JSON has no comma after the last item: remove it";
  }
  if (rest.front() == '\'') return "JSON writes strings in double quotes";
  if (rest.front() == '"' && previous != ',' && previous != '{' && previous != '[' &&
      previous != ':') {
    return "is a comma missing before this?";
  }
  if (rest.starts_with("NaN") || rest.starts_with("Infinity") || rest.starts_with("-Infinity")) {
    return "JSON has no such number";
  }
  if (rest.starts_with("True") || rest.starts_with("False") || rest.starts_with("None")) {
    return "JSON writes true, false and null in lower case";
  }
  return {};
}

// Finds the bracket that opens more levels than allowed, without recursion.
std::optional<std::size_t> find_too_deep(std::string_view text, int max_depth) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::nullopt;
}

[[noreturn]] void fail(const std::string& name, Place place, std::string pointer,
                       std::string message, std::string hint = {}) {
  throw ConfigErrors(ConfigError{name, place.line, place.column, std::move(pointer),
                                 std::move(message), std::move(hint)});
}

void check_limits(std::string_view text, const std::string& name, const ParseOptions& options) {
  if (const auto deep = find_too_deep(text, options.max_depth)) {
    fail(name, detail::PlaceCounter(text, options.first_line).at(*deep), {},
         fmt::format("nested deeper than {} levels", options.max_depth));
  }
  if (std::cmp_greater(text.size(), options.max_size.count())) {
    fail(name, {}, {}, fmt::format("the file is larger than {}", options.max_size));
  }
}

// Reads a file, but no more than one byte beyond the limit, and no more than its first block if that is nested too
// deep already.
std::string read_bounded(const std::filesystem::path& file, Bytes max_size,
                         std::optional<int> max_depth = std::nullopt) {
  const std::string name = file.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) fail(name, {}, {}, "this is a folder");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(name.c_str(), "rbe"),
                                                               &std::fclose);
  if (!stream) {
    fail(name, {}, {},
         fmt::format("cannot open the file: {}", std::generic_category().message(errno)));
  }
  std::string text;
  const auto limit = static_cast<std::size_t>(max_size.count()) + 1;
  char block[std::size_t{64} << 10];
  while (text.size() < limit) {
    const std::size_t wanted = std::min(sizeof block, limit - text.size());
    const std::size_t got = std::fread(block, 1, wanted, stream.get());
    text.append(block, got);
    if (got < wanted) break;
    if (max_depth && text.size() == got && find_too_deep(text, *max_depth)) break;
  }
  if (std::ferror(stream.get()) != 0) {
    fail(name, {}, {},
         fmt::format("cannot read the file: {}", std::generic_category().message(errno)));
  }
  return text;
}

}  // namespace

std::string read_text(const std::filesystem::path& file, Bytes max_size) {
  std::string text = read_bounded(file, max_size);
  if (std::cmp_greater(text.size(), max_size.count())) {
    fail(file.string(), {}, {}, fmt::format("the file is larger than {}", max_size));
  }
  return text;
}

Document Document::load(const std::filesystem::path& file, const ParseOptions& options) {
  return parse(read_bounded(file, options.max_size, options.max_depth), file.string(), options);
}

Document Document::parse(std::string_view text, std::string name, const ParseOptions& options) {
  Document document;
  document.name_ = std::move(name);
  document.dialect_ = options.dialect;
  check_limits(text, document.name_, options);
  const bool marked = text.starts_with(kByteOrderMark);
  if (marked && options.dialect == Dialect::strict) {
    fail(document.name_, {options.first_line, 1}, {}, "the file begins with a byte order mark",
         "save it as UTF-8 without one");
  }
  if (marked) text.remove_prefix(kByteOrderMark.size());

  std::size_t consumed = 0;
  DocumentBuilder builder(text, document.name_, options, consumed);
  Events events(text, builder);
  const char* begin = text.data();
  nlohmann::json::sax_parse(CountingIterator(begin, &consumed),
                            CountingIterator(begin + text.size(), &consumed), &events);
  if (events.error()) {
    const SyntaxError& error = *events.error();
    fail(document.name_, builder.place_at(error.offset), builder.pointer(), error.message,
         error.hint);
  }
  document.root_ = builder.take_root();
  document.findings_ = builder.take_findings();
  if (marked) {
    document.findings_.insert(
        document.findings_.begin(),
        {document.name_, options.first_line, 1, {}, "byte order mark is ignored", {}});
  }
  return document;
}

std::string Document::schema() const {
  const Value* schema = root_.find("schema");
  return schema != nullptr && schema->is_string() ? schema->as_string() : std::string();
}

}  // namespace weft::config
