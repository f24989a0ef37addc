// SPDX-License-Identifier: Apache-2.0
// Lines of text over a socket: how a program and the ranks that it started speak.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weft::kernels {

/// One end of a connection, which it owns.
class LineSocket {
 public:
  explicit LineSocket(int descriptor) : descriptor_(descriptor) {}
  ~LineSocket();
  LineSocket(LineSocket&& other) noexcept;
  LineSocket(const LineSocket&) = delete;
  LineSocket& operator=(const LineSocket&) = delete;
  LineSocket& operator=(LineSocket&&) = delete;

  /// Sends a line; false where the other end is gone.
  bool send(std::string_view line) const;
  /// Reads what has come, without waiting; false once the other end is gone.
  bool fill();
  /// The next whole line that was read.
  std::optional<std::string> take();
  /// The next line, however long it takes; nothing once the other end is gone.
  std::optional<std::string> wait();
  /// True where the other end is gone.
  bool hung_up() const;
  /// To be polled.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::string read_;
};

}  // namespace weft::kernels
