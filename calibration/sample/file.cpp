// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <zlib.h>

#include "calibration/sample/sample_file.hpp"
#include "calibration/sample/sample_json.hpp"
#include "configs/reader/atomic_file.hpp"
#include "configs/reader/error.hpp"

namespace weft::calibration {
namespace {

/// zlib's window bits for a gzip wrapper (zlib manual, deflateInit2).
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemoryLevel = 8;

bool is_compressed(const std::filesystem::path& file) {
  return file.extension() == ".gz";
}

bool is_sample_file(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
}

[[noreturn]] void refuse(const std::filesystem::path& file, std::string message, std::string hint) {
  config::ConfigError error;
  error.file = file.string();
  error.message = std::move(message);
  error.hint = std::move(hint);
  throw config::ConfigErrors(std::move(error));
}

Bytef* bytes_of(const char* text) {
  // zlib's next_in is not const in its default build, and is not written through.
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));
}

std::string decompress(const std::string& packed, const std::filesystem::path& file) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw std::runtime_error("zlib does not start");
  stream.next_in = bytes_of(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::array<char, 1 << 16> buffer{};
  int status = Z_OK;
  do {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) break;
    text.append(buffer.data(), buffer.size() - stream.avail_out);
    // A file that was appended to holds several members.
    if (status == Z_STREAM_END && stream.avail_in > 0) status = inflateReset(&stream);
  } while (status == Z_OK);
  inflateEnd(&stream);
  if (status != Z_STREAM_END) refuse(file, "this is no whole gzip file", "was it cut short?");
  return text;
}

}  // namespace

std::string compress(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib does not start");
  stream.next_in = bytes_of(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib cannot compress this");
  return packed;
}

std::string read_maybe_compressed(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "cannot be read", "");
  std::ostringstream content;
  content << in.rdbuf();
  return is_compressed(file) ? decompress(content.str(), file) : content.str();
}

SampleSet load_samples(const std::filesystem::path& file) {
  SampleSet set;
  read_lines(read_maybe_compressed(file), file.string(), set);
  return set;
}

SampleSet load_sample_tree(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return load_samples(place);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place))
    if (entry.is_regular_file() && is_sample_file(entry.path())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  SampleSet set;
  for (const auto& file : files) read_lines(read_maybe_compressed(file), file.string(), set);
  return set;
}

void save_samples(const std::filesystem::path& file, const SampleSet& set) {
  std::string text;
  std::size_t next = 0;
  for (std::size_t run = 0; run < set.runs.size(); ++run) {
    text += to_line(set.runs[run]) + '\n';
    for (; next < set.samples.size() && set.samples[next].run == static_cast<int>(run); ++next)
      text += to_line(set.samples[next]) + '\n';
  }
  config::write_file(file, is_compressed(file) ? compress(text) : text);
}

}  // namespace weft::calibration
