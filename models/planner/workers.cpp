// SPDX-License-Identifier: Apache-2.0
#include "models/planner/workers.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace weft::model {

struct Workers::Shared {
  std::mutex mutex;
  std::condition_variable begin, end;
  // Under the mutex; between begin and end of a round the workers read count and work without it.
  std::uint64_t round = 0;
  unsigned busy = 0;
  bool stopping = false;
  std::size_t count = 0;
  const Work* work = nullptr;
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> failures;  // by thread
  std::vector<std::thread> threads;

  void take_pieces(unsigned thread) {
    try {
      for (std::size_t i = next++; i < count; i = next++) (*work)(i, thread);
    } catch (...) {
      failures[thread] = std::current_exception();
      next = count;
    }
  }

  void serve(unsigned thread) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      begin.wait(lock, [&] { return stopping || round != seen; });
      if (stopping) return;
      seen = round;
      lock.unlock();
      take_pieces(thread);
      lock.lock();
      if (--busy == 0) end.notify_one();
    }
  }
};

Workers::Workers(unsigned threads)
    : threads_(std::max(1U, threads)), shared_(std::make_unique<Shared>()) {
  shared_->failures.resize(threads_);
  shared_->threads.reserve(threads_ - 1);
  Shared* const shared = shared_.get();
  for (unsigned thread = 1; thread < threads_; ++thread) {
    try {
      shared_->threads.emplace_back([shared, thread] { shared->serve(thread); });
    } catch (const std::system_error&) {
      // The system gives no more: fewer threads do the same work.
      threads_ = thread;
    }
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->begin.notify_all();
  for (std::thread& thread : shared_->threads) thread.join();
}

void Workers::run(std::size_t count, const Work& work) {
  if (threads_ == 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i, 0);
    return;
  }
  Shared& shared = *shared_;
  {
    const std::lock_guard lock(shared.mutex);
    shared.count = count;
    shared.work = &work;
    shared.next = 0;
    shared.busy = threads_ - 1;
    ++shared.round;
  }
  shared.begin.notify_all();
  shared.take_pieces(0);
  std::unique_lock lock(shared.mutex);
  shared.end.wait(lock, [&] { return shared.busy == 0; });
  for (std::exception_ptr& failure : shared.failures) {
    if (!failure) continue;
    const std::exception_ptr first = failure;
    std::fill(shared.failures.begin(), shared.failures.end(), nullptr);
    std::rethrow_exception(first);
  }
}

}  // namespace weft::model
