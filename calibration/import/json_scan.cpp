// SPDX-License-Identifier: Apache-2.0
#include "calibration/import/json_scan.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <zlib.h>

#include "configs/reader/error.hpp"

namespace weft::calibration {
namespace {

constexpr std::size_t kBuffer = std::size_t{64} << 10;
constexpr std::size_t kLongestText = std::size_t{1} << 20;
constexpr std::size_t kDeepest = 10000;

void append_utf8(std::string& to, unsigned code) {
  const auto byte = [&](unsigned value) { to += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

}  // namespace

JsonScanner::JsonScanner(Source source) : source_(std::move(source)), buffer_(kBuffer) {}

bool JsonScanner::fill() {
  passed_ += size_;
  at_ = 0;
  size_ = source_(buffer_.data(), buffer_.size());
  return size_ != 0;
}

int JsonScanner::peek() {
  if (at_ == size_ && !fill()) return -1;
  return static_cast<unsigned char>(buffer_[at_]);
}

bool JsonScanner::escape() {
  const int c = peek();
  if (c < 0) return false;
  ++at_;
  switch (c) {
    case 'n':
      text_ += '\n';
      return true;
    case 't':
      text_ += '\t';
      return true;
    case 'r':
    case 'b':
    case 'f':
      text_ += ' ';
      return true;
    case 'u': {
      unsigned code = 0;
      for (int i = 0; i < 4; ++i) {
        const int digit = peek();
        if (digit < 0) return false;
        ++at_;
        const unsigned value =
            digit >= '0' && digit <= '9'   ? static_cast<unsigned>(digit - '0')
            : digit >= 'a' && digit <= 'f' ? static_cast<unsigned>(digit - 'a' + 10)
            : digit >= 'A' && digit <= 'F' ? static_cast<unsigned>(digit - 'A' + 10)
                                           : 0U;
        code = code * 16 + value;
      }
      append_utf8(text_, code);
      return true;
    }
    default:
      text_ += static_cast<char>(c);
      return true;
  }
}

JsonScanner::Token JsonScanner::string_token() {
  text_.clear();
  ++at_;  // the quote
  while (true) {
    if (at_ == size_ && !fill()) {
      broken_ = true;
      return Token::broken;
    }
    const char* begin = buffer_.data() + at_;
    const char* end = buffer_.data() + size_;
    const char* stop = begin;
    while (stop != end && *stop != '"' && *stop != '\\') ++stop;
    if (text_.size() < kLongestText) text_.append(begin, stop);
    at_ += static_cast<std::size_t>(stop - begin);
    if (stop == end) continue;
    ++at_;
    if (*stop == '"') return Token::string;
    if (!escape()) {
      broken_ = true;
      return Token::broken;
    }
  }
}

JsonScanner::Token JsonScanner::word_token() {
  text_.clear();
  for (int c = peek(); c >= 0; c = peek()) {
    const bool part = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '-' || c == '+' || c == '.' || c == '_';
    if (!part) break;
    if (text_.size() < 64) text_ += static_cast<char>(c);
    ++at_;
  }
  if (text_.empty()) {
    broken_ = true;
    return Token::broken;
  }
  const char first = text_.front();
  return first == '-' || (first >= '0' && first <= '9') ? Token::number : Token::literal;
}

JsonScanner::Token JsonScanner::next() {
  while (!broken_) {
    const int c = peek();
    switch (c) {
      case -1:
        if (objects_.empty()) return Token::end;
        broken_ = true;
        return Token::broken;
      case '\n':
        ++line_;
        [[fallthrough]];
      case ' ':
      case '\t':
      case '\r':
      case ':':
        ++at_;
        break;
      case ',':
        ++at_;
        expects_key_ = !objects_.empty() && objects_.back();
        break;
      case '{':
      case '[':
        ++at_;
        if (objects_.size() >= kDeepest) {
          broken_ = true;
          return Token::broken;
        }
        objects_.push_back(c == '{');
        expects_key_ = c == '{';
        return c == '{' ? Token::begin_object : Token::begin_array;
      case '}':
      case ']':
        ++at_;
        if (objects_.empty() || objects_.back() != (c == '}')) {
          broken_ = true;
          return Token::broken;
        }
        objects_.pop_back();
        expects_key_ = false;
        return c == '}' ? Token::end_object : Token::end_array;
      case '"': {
        const Token token = string_token();
        if (token == Token::string && expects_key_) {
          expects_key_ = false;
          return Token::key;
        }
        return token;
      }
      default:
        return word_token();
    }
  }
  return Token::broken;
}

void JsonScanner::skip_string() {
  ++at_;
  while (true) {
    if (at_ == size_ && !fill()) {
      broken_ = true;
      return;
    }
    const char* begin = buffer_.data() + at_;
    const char* end = buffer_.data() + size_;
    const char* stop = begin;
    while (stop != end && *stop != '"' && *stop != '\\') ++stop;
    at_ += static_cast<std::size_t>(stop - begin);
    if (stop == end) continue;
    ++at_;
    if (*stop == '"') return;
    if (peek() < 0) {
      broken_ = true;
      return;
    }
    ++at_;
  }
}

void JsonScanner::leave() {
  const std::size_t depth = objects_.size();
  if (depth == 0) return;
  std::size_t open = 1;
  while (open > 0 && !broken_) {
    const int c = peek();
    if (c < 0) {
      broken_ = true;
      return;
    }
    if (c == '"') {
      skip_string();
      continue;
    }
    ++at_;
    if (c == '\n') ++line_;
    if (c == '{' || c == '[') ++open;
    if (c == '}' || c == ']') --open;
  }
  objects_.pop_back();
  expects_key_ = false;
}

void JsonScanner::skip() {
  const Token token = next();
  if (token == Token::begin_object || token == Token::begin_array) leave();
}

JsonScanner::Source file_source(const std::string& file) {
  const std::shared_ptr<gzFile_s> open(gzopen(file.c_str(), "rb"), [](gzFile handle) {
    if (handle != nullptr) gzclose(handle);
  });
  if (!open) {
    throw config::ConfigErrors({.file = file,
                                .line = 0,
                                .column = 0,
                                .json_pointer = {},
                                .message = "cannot be opened",
                                .hint = {}});
  }
  gzbuffer(open.get(), 1U << 18);
  return [open](char* to, std::size_t size) -> std::size_t {
    const int got = gzread(open.get(), to, static_cast<unsigned>(size));
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  };
}

JsonScanner::Source text_source(std::string_view text) {
  auto at = std::make_shared<std::size_t>(0);
  return [text, at](char* to, std::size_t size) {
    const std::size_t got = std::min(size, text.size() - *at);
    std::memcpy(to, text.data() + *at, got);
    *at += got;
    return got;
  };
}

}  // namespace weft::calibration
