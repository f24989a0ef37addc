// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/line_socket.hpp"

#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace weft::kernels {

LineSocket::~LineSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

LineSocket::LineSocket(LineSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), read_(std::move(other.read_)) {}

bool LineSocket::send(std::string_view line) const {
  std::string text(line);
  text += '\n';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t part = ::send(descriptor_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return false;
    sent += static_cast<std::size_t>(part);
  }
  return true;
}

bool LineSocket::fill() {
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t count = recv(descriptor_, part.data(), part.size(), MSG_DONTWAIT);
    if (count > 0)
      read_.append(part.data(), static_cast<std::size_t>(count));
    else if (count == 0)
      return false;
    else if (errno != EINTR)
      return errno == EAGAIN;
  }
}

std::optional<std::string> LineSocket::take() {
  const std::size_t end = read_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

std::optional<std::string> LineSocket::wait() {
  for (;;) {
    if (auto line = take()) return line;
    pollfd one{descriptor_, POLLIN, 0};
    if (poll(&one, 1, -1) < 0 && errno != EINTR) return std::nullopt;
    if (!fill()) return take();
  }
}

bool LineSocket::hung_up() const {
  pollfd one{descriptor_, POLLRDHUP, 0};
  return poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace weft::kernels
