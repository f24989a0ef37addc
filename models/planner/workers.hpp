// SPDX-License-Identifier: Apache-2.0
// Threads that do numbered pieces of work together, as often as they are asked.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace weft::model {

class Workers {
 public:
  /// `work(i, thread)`: piece i, on the thread of that number.
  using Work = std::function<void(std::size_t, unsigned)>;

  /// `threads` in all, the caller's one of them.
  explicit Workers(unsigned threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] unsigned threads() const { return threads_; }
  /// Does pieces 0 to count - 1, each once, in no order that is promised; the first thread's exception, if any, is
  /// thrown again once all have stopped.
  void run(std::size_t count, const Work& work);

 private:
  struct Shared;
  unsigned threads_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace weft::model
