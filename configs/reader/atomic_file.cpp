// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/atomic_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <ostream>
#include <streambuf>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace weft::config {
namespace {

namespace fs = std::filesystem;

constexpr int kMostAttempts = 1000;

[[noreturn]] void fail(const std::string& what, const fs::path& file) {
  throw std::system_error(errno, std::generic_category(), what + " " + file.string());
}

void write_all(int descriptor, std::string_view content, const fs::path& file) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", file);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A temporary file beside its target; removed unless it has been renamed into place.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : target_(target) {
    // O_EXCL: a name that somebody else has is not ours to write.
    for (int attempt = 0; descriptor_ < 0; ++attempt) {
      name_ = (target.parent_path() /
               fmt::format(".{}.{}.{}", target.filename().string(), ::getpid(), attempt))
                  .string();
      descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ < 0 && (errno != EEXIST || attempt == kMostAttempts)) {
        fail("cannot write", target_);
      }
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(name_.c_str());
  }

  void write(std::string_view content) { write_all(descriptor_, content, target_); }

  // Syncs the file, gives it its name, and syncs the folder that holds the name.
  void commit() {
    take_mode();
    if (::fsync(descriptor_) != 0) fail("cannot write", target_);
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) fail("cannot write", target_);
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail("cannot replace", target_);
    renamed_ = true;
    const fs::path folder = target_.parent_path().empty() ? "." : target_.parent_path();
    const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle >= 0) {
      ::fsync(handle);
      ::close(handle);
    }
  }

 private:
  // The file that is replaced hands on its mode; a new one has what the process gives new files.
  void take_mode() {
    struct stat old = {};
    if (::stat(target_.c_str(), &old) != 0) return;
    if (::fchmod(descriptor_, old.st_mode & 07777U) != 0) fail("cannot set the mode of", target_);
  }

  fs::path target_;
  std::string name_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

// A stream buffer that hands blocks to a sink.
template <class Sink>
class BlockBuffer : public std::streambuf {
 public:
  explicit BlockBuffer(Sink sink) : sink_(std::move(sink)), block_(std::size_t{64} << 10) {
    setp(block_.data(), block_.data() + block_.size());
  }

 protected:
  int_type overflow(int_type c) override {
    sync();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      sputc(traits_type::to_char_type(c));
    }
    return traits_type::not_eof(c);
  }
  int sync() override {
    const auto size = static_cast<std::size_t>(pptr() - pbase());
    setp(block_.data(), block_.data() + block_.size());
    sink_(std::string_view(block_.data(), size));
    return 0;
  }

 private:
  Sink sink_;
  std::vector<char> block_;
};

template <class Sink>
void stream_into(Sink sink, const std::function<void(std::ostream&)>& write, const fs::path& file) {
  BlockBuffer<Sink> buffer(std::move(sink));
  std::ostream out(&buffer);
  out.exceptions(std::ios::badbit | std::ios::failbit);
  write(out);
  if (out) out.flush();
  if (!out) {
    throw std::system_error(std::make_error_code(std::errc::io_error),
                            "cannot write " + file.string());
  }
}

}  // namespace

void write_file(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  std::error_code ignored;
  const fs::file_status status = fs::status(file, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    // A terminal, a pipe or a device cannot be replaced; a folder is refused by open().
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) fail("cannot write", file);
    struct Closer {
      int descriptor;
      ~Closer() { ::close(descriptor); }
    } const closer{descriptor};
    stream_into([&](std::string_view block) { write_all(descriptor, block, file); }, write, file);
    return;
  }
  // Through a symbolic link, the file it leads to is replaced and the link stays.
  TemporaryFile temporary(
      fs::is_symlink(fs::symlink_status(file, ignored)) ? fs::weakly_canonical(file) : file);
  stream_into([&](std::string_view block) { temporary.write(block); }, write, file);
  temporary.commit();
}

void write_file(const fs::path& file, std::string_view content) {
  write_file(file, [&](std::ostream& out) { out << content; });
}

}  // namespace weft::config
