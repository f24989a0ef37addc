// SPDX-License-Identifier: Apache-2.0
#include "kernels/baseline/nccl.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/memory/check.hpp"

namespace weft::kernels {

/// The functions of NCCL 2.10 and later that are used here, as its nccl.h declares them.
struct Nccl::Table {
  struct UniqueId {
    char bytes[128];
  };
  using Communicator = void*;
  static constexpr int bf16 = 9;         // ncclBfloat16
  static constexpr int sum = 0;          // ncclSum
  static constexpr int in_progress = 7;  // ncclInProgress

  void* library = nullptr;
  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*init_all)(Communicator*, int, const int*) = nullptr;
  int (*init_rank)(Communicator*, int, UniqueId, int) = nullptr;
  int (*destroy)(Communicator) = nullptr;
  int (*abort)(Communicator) = nullptr;
  int (*async_error)(Communicator, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, Communicator, cudaStream_t) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, Communicator,
                        cudaStream_t) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Communicator,
                    cudaStream_t) = nullptr;
  int (*send)(const void*, std::size_t, int, int, Communicator, cudaStream_t) = nullptr;
  int (*receive)(void*, std::size_t, int, int, Communicator, cudaStream_t) = nullptr;

  // NCCL 2.27 and later; null before.
  static constexpr int symmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC
  int (*memory_allocate)(void**, std::size_t) = nullptr;
  int (*memory_free)(void*) = nullptr;
  int (*window_register)(Communicator, void*, std::size_t, void**, int) = nullptr;
  int (*window_deregister)(Communicator, void*) = nullptr;

  template <typename Function>
  void look_up(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, symbol));
  }
  template <typename Function>
  void load(const char* symbol, Function& function) {
    look_up(symbol, function);
    if (function == nullptr) throw std::runtime_error(std::string("NCCL lacks ") + symbol);
  }

  void check(int status, const char* call) const {
    if (status != 0)
      throw std::runtime_error(std::string("NCCL: ") + call + ": " + error_string(status));
  }
};

Nccl::Nccl() {
  auto table = std::make_unique<Table>();
  for (const char* name : {"libnccl.so.2", "libnccl.so"})
    if (table->library == nullptr) table->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (table->library == nullptr)
    throw std::runtime_error("NCCL is not here: no libnccl.so.2 on the library path");
  table->load("ncclGetVersion", table->get_version);
  table->load("ncclGetUniqueId", table->get_unique_id);
  table->load("ncclCommInitAll", table->init_all);
  table->load("ncclCommInitRank", table->init_rank);
  table->load("ncclCommDestroy", table->destroy);
  table->load("ncclCommAbort", table->abort);
  table->load("ncclCommGetAsyncError", table->async_error);
  table->load("ncclGetErrorString", table->error_string);
  table->load("ncclGroupStart", table->group_start);
  table->load("ncclGroupEnd", table->group_end);
  table->load("ncclAllGather", table->all_gather);
  table->load("ncclReduceScatter", table->reduce_scatter);
  table->load("ncclAllReduce", table->all_reduce);
  table->load("ncclSend", table->send);
  table->load("ncclRecv", table->receive);
  table->look_up("ncclMemAlloc", table->memory_allocate);
  table->look_up("ncclMemFree", table->memory_free);
  table->look_up("ncclCommWindowRegister", table->window_register);
  table->look_up("ncclCommWindowDeregister", table->window_deregister);
  table_ = std::move(table);
}

Nccl::~Nccl() = default;

int Nccl::version() const {
  int version = 0;
  table_->check(table_->get_version(&version), "ncclGetVersion");
  return version;
}

NcclId nccl_id(const Nccl& nccl) {
  Nccl::Table::UniqueId made{};
  nccl.table().check(nccl.table().get_unique_id(&made), "ncclGetUniqueId");
  NcclId id;
  std::memcpy(id.data(), made.bytes, id.size());
  return id;
}

namespace {

/// Says before the first communicator that multicast is not to be used.
void keep_multicast_off() {
  static_cast<void>(setenv("NCCL_NVLS_ENABLE", "0", 1));
}

}  // namespace

NcclGroup::NcclGroup(const Nccl& nccl, const std::vector<int>& devices)
    : nccl_(nccl),
      ranks_(static_cast<int>(devices.size())),
      communicators_(devices.size(), nullptr) {
  keep_multicast_off();
  nccl.table().check(nccl.table().init_all(communicators_.data(), ranks_, devices.data()),
                     "ncclCommInitAll");
}

NcclGroup::NcclGroup(const Nccl& nccl, const NcclId& id, int ranks, int rank)
    : nccl_(nccl), ranks_(ranks), communicators_(1, nullptr) {
  keep_multicast_off();
  Nccl::Table::UniqueId same{};
  std::memcpy(same.bytes, id.data(), id.size());
  nccl.table().check(nccl.table().init_rank(communicators_.data(), ranks, same, rank),
                     "ncclCommInitRank");
}

NcclGroup::~NcclGroup() {
  for (void* communicator : communicators_)
    if (communicator != nullptr) static_cast<void>(nccl_.table().destroy(communicator));
}

std::byte* NcclGroup::allocate(std::size_t bytes) const {
  if (nccl_.table().memory_allocate == nullptr || nccl_.table().window_register == nullptr)
    throw std::runtime_error("this NCCL has no windows");
  void* memory = nullptr;
  nccl_.table().check(nccl_.table().memory_allocate(&memory, bytes), "ncclMemAlloc");
  return static_cast<std::byte*>(memory);
}

void NcclGroup::free(std::byte* memory) const {
  static_cast<void>(nccl_.table().memory_free(memory));
}

void* NcclGroup::open_window(int rank, std::byte* memory, std::size_t bytes) const {
  void* window = nullptr;
  nccl_.table().check(
      nccl_.table().window_register(communicators_.at(static_cast<std::size_t>(rank)), memory,
                                    bytes, &window, Nccl::Table::symmetric),
      "ncclCommWindowRegister");
  // NCCL calls it a success where the ranks share no addresses, and gives no window then.
  if (window == nullptr)
    throw std::runtime_error("NCCL maps no windows between these GPUs (see NCCL_WIN_ENABLE)");
  return window;
}

void NcclGroup::close_window(int rank, void* window) const {
  static_cast<void>(
      nccl_.table().window_deregister(communicators_.at(static_cast<std::size_t>(rank)), window));
}

std::string NcclGroup::failure() const {
  for (void* communicator : communicators_) {
    int status = 0;
    if (communicator == nullptr || nccl_.table().async_error(communicator, &status) != 0) continue;
    if (status != 0 && status != Nccl::Table::in_progress)
      return nccl_.table().error_string(status);
  }
  return {};
}

void NcclGroup::abort() {
  for (void*& communicator : communicators_)
    if (void* one = std::exchange(communicator, nullptr))
      static_cast<void>(nccl_.table().abort(one));
}

void NcclGroup::enqueue(NcclOperation operation, std::int64_t bytes,
                        const std::vector<Share>& shares) const {
  const Nccl::Table& nccl = nccl_.table();
  const auto all = static_cast<std::size_t>(bytes) / 2;
  const std::size_t part = all / static_cast<std::size_t>(ranks_);
  nccl.check(nccl.group_start(), "ncclGroupStart");
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Share& share = shares[i];
    void* communicator = communicators_.at(i);
    switch (operation) {
      case NcclOperation::all_gather:
        nccl.check(nccl.all_gather(share.send, share.receive, part, Nccl::Table::bf16, communicator,
                                   share.stream),
                   "ncclAllGather");
        break;
      case NcclOperation::reduce_scatter:
        nccl.check(nccl.reduce_scatter(share.send, share.receive, part, Nccl::Table::bf16,
                                       Nccl::Table::sum, communicator, share.stream),
                   "ncclReduceScatter");
        break;
      case NcclOperation::all_reduce:
        nccl.check(nccl.all_reduce(share.send, share.receive, all, Nccl::Table::bf16,
                                   Nccl::Table::sum, communicator, share.stream),
                   "ncclAllReduce");
        break;
      case NcclOperation::all_to_all:
        for (int peer = 0; peer < ranks_; ++peer) {
          const std::size_t at = static_cast<std::size_t>(peer) * part * 2;
          nccl.check(nccl.send(static_cast<const std::byte*>(share.send) + at, part,
                               Nccl::Table::bf16, peer, communicator, share.stream),
                     "ncclSend");
          nccl.check(nccl.receive(static_cast<std::byte*>(share.receive) + at, part,
                                  Nccl::Table::bf16, peer, communicator, share.stream),
                     "ncclRecv");
        }
        break;
    }
  }
  nccl.check(nccl.group_end(), "ncclGroupEnd");
}

}  // namespace weft::kernels
