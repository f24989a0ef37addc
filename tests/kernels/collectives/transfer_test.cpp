// SPDX-License-Identifier: Apache-2.0
// Copies that keep an exact window, between device memory and pinned host memory: every byte arrives once and
// nothing else is written, flags follow their bytes, and a flag that never comes is reported.
#include "kernels/collectives/transfer.hpp"

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/memory/check.hpp"
#include "tests/kernels/sm90/device_test.hpp"

namespace weft::kernels {
namespace {

enum class Place : std::uint8_t { device, host };

/// Memory that the device writes, on either side of the link.
class Memory {
 public:
  Memory(Place place, std::size_t bytes) : place_(place), bytes_(bytes) {
    if (place == Place::device)
      WEFT_CUDA(cudaMalloc(&at_, bytes));
    else
      WEFT_CUDA(cudaMallocHost(&at_, bytes));
  }
  ~Memory() { place_ == Place::device ? cudaFree(at_) : cudaFreeHost(at_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  template <class T = std::byte>
  T* as() const {
    return static_cast<T*>(at_);
  }
  void set(const std::vector<std::uint8_t>& values) const {
    WEFT_CUDA(cudaMemcpy(at_, values.data(), values.size(), cudaMemcpyDefault));
  }
  void fill(int value) const { WEFT_CUDA(cudaMemset(at_, value, bytes_)); }
  std::vector<std::uint8_t> read() const {
    std::vector<std::uint8_t> values(bytes_);
    WEFT_CUDA(cudaDeviceSynchronize());
    WEFT_CUDA(cudaMemcpy(values.data(), at_, bytes_, cudaMemcpyDefault));
    return values;
  }

 private:
  Place place_;
  std::size_t bytes_;
  void* at_ = nullptr;
};

std::vector<std::uint8_t> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<std::uint8_t> values(count);
  for (auto& value : values) value = static_cast<std::uint8_t>(engine());
  return values;
}

constexpr std::int64_t kRoom = 3 << 20;
constexpr int kPoison = 0xCD;

/// Pieces of ragged sizes that leave gaps, the targets in another order than the sources.
std::vector<TransferPiece> ragged_pieces() {
  std::vector<TransferPiece> pieces;
  std::int64_t source = 16;
  std::int64_t target = kRoom - 32;
  for (const std::int64_t bytes : {16, 1'008, 0, 4'112, 65'536, 1'048'576 + 48, 333 * 16}) {
    TransferPiece piece;
    target -= bytes + 48;
    piece.source_offset = source;
    piece.target_offset = target;
    piece.bytes = bytes;
    piece.chunk = static_cast<std::uint16_t>(pieces.size());
    piece.post_signal = static_cast<std::uint32_t>(pieces.size());
    source += bytes + 80;
    pieces.push_back(piece);
  }
  return pieces;
}

class WindowedTransfer : public test::DeviceTest {
 protected:
  /// A launch of `pieces`; what it points to lives as long as the test.
  TransferLaunch launch_of(const std::vector<TransferPiece>& pieces, const Memory& from,
                           const Memory& to) {
    const std::size_t bytes = pieces.size() * sizeof(TransferPiece);
    Memory& list = keep(Place::device, bytes);
    WEFT_CUDA(cudaMemcpy(list.as(), pieces.data(), bytes, cudaMemcpyDefault));
    TransferLaunch launch;
    launch.pieces = list.as<TransferPiece>();
    launch.count = static_cast<int>(pieces.size());
    launch.sources[0] = from.as();
    launch.targets[0] = to.as();
    launch.posts = zeroed<Signal>(pieces.size());
    launch.arrivals = zeroed<std::uint32_t>(pieces.size());
    launch.error = keep(Place::host, sizeof(TransferError)).as<TransferError>();
    *launch.error = {};
    return launch;
  }
  template <class T>
  T* zeroed(std::size_t count) {
    Memory& made = keep(Place::device, count * sizeof(T));
    made.fill(0);
    return made.as<T>();
  }
  Memory& keep(Place place, std::size_t bytes) {
    kept_.push_back(std::make_unique<Memory>(place, bytes));
    return *kept_.back();
  }
  static std::vector<Signal> values_of(const Signal* flags, std::size_t count) {
    std::vector<Signal> values(count);
    WEFT_CUDA(cudaDeviceSynchronize());
    WEFT_CUDA(cudaMemcpy(values.data(), flags, count * sizeof(Signal), cudaMemcpyDefault));
    return values;
  }
  static std::vector<std::uint8_t> expected(const std::vector<TransferPiece>& pieces,
                                            const std::vector<std::uint8_t>& source) {
    std::vector<std::uint8_t> all(kRoom, kPoison);
    for (const TransferPiece& piece : pieces)
      std::memcpy(all.data() + piece.target_offset, source.data() + piece.source_offset,
                  static_cast<std::size_t>(piece.bytes));
    return all;
  }

 private:
  std::vector<std::unique_ptr<Memory>> kept_;
};

struct Limits {
  std::int64_t loads, stores;
};

TEST_F(WindowedTransfer, MovesEveryByteAndNoOther) {
  const std::vector<TransferPiece> pieces = ragged_pieces();
  unsigned seed = 1;
  for (const auto& [from, to] :
       {std::pair(Place::device, Place::host), std::pair(Place::host, Place::device),
        std::pair(Place::device, Place::device)}) {
    const Memory source(from, kRoom);
    const Memory target(to, kRoom);
    for (const int ctas : {1, 3, 8})
      for (const Limits limits : {Limits{0, 1'000}, Limits{4'096, 0}, Limits{0, 16 << 10},
                                  Limits{20'000, 50'000}, Limits{1 << 20, 1 << 20}}) {
        const std::vector<std::uint8_t> values = random_bytes(kRoom, seed++);
        source.set(values);
        target.fill(kPoison);
        TransferLaunch launch = launch_of(pieces, source, target);
        launch.ctas = ctas;
        launch.loads_in_flight_bytes = limits.loads;
        launch.stores_in_flight_bytes = limits.stores;
        launch.bytes_per_ns = ctas == 3 ? 20 : 0;
        launch.post_value = seed;
        launch_transfer(launch, nullptr);
        EXPECT_EQ(target.read(), expected(pieces, values))
            << ctas << " CTAs, " << limits.loads << ", " << limits.stores;
        EXPECT_EQ(values_of(launch.posts, pieces.size()), std::vector<Signal>(pieces.size(), seed));
        EXPECT_EQ(values_of(launch.arrivals, pieces.size()), std::vector<Signal>(pieces.size(), 0));
      }
  }
}

TEST_F(WindowedTransfer, WhoWaitsForAFlagReadsWhatWasWrittenBeforeIt) {
  // Two launches at once: one writes to the middle and posts, the other reads from there when it may.
  const std::vector<TransferPiece> first = ragged_pieces();
  std::vector<TransferPiece> second = first;
  for (std::size_t i = 0; i < first.size(); ++i) {
    second[i].source_offset = second[i].target_offset = first[i].target_offset;
    second[i].wait_signal = static_cast<std::uint32_t>(i);
  }
  const test::OwnStream writing, reading;
  for (const Place place : {Place::device, Place::host}) {
    const Memory source(Place::device, kRoom), middle(place, kRoom), target(Place::device, kRoom);
    TransferLaunch write = launch_of(first, source, middle);
    TransferLaunch read = launch_of(second, middle, target);
    write.ctas = 5;
    read.ctas = 3;
    write.stores_in_flight_bytes = read.loads_in_flight_bytes = 8 << 10;
    read.waits = write.posts;
    Signal sequence = 0xFFFF'FFF0u;  // wraps
    WEFT_CUDA(cudaMemset(write.posts, 0xF0, first.size() * sizeof(Signal)));
    for (int round = 0; round < 40; ++round, ++sequence) {
      const std::vector<std::uint8_t> values = random_bytes(kRoom, 1'000u + sequence);
      source.set(values);
      middle.fill(kPoison);
      target.fill(kPoison);
      WEFT_CUDA(cudaDeviceSynchronize());
      write.post_value = read.wait_value = read.post_value = sequence;
      launch_transfer(read, reading.get());
      launch_transfer(write, writing.get());
      ASSERT_EQ(target.read(), expected(first, values)) << "round " << round;
      ASSERT_EQ(read.error->set, 0u);
    }
  }
}

TEST_F(WindowedTransfer, AStarvedFlagIsReportedAndTheProcessGoesOn) {
  std::vector<TransferPiece> pieces = ragged_pieces();
  pieces[4].wait_signal = 0;
  const Memory source(Place::device, kRoom), target(Place::host, kRoom);
  const std::vector<std::uint8_t> values = random_bytes(kRoom, 7);
  source.set(values);
  target.fill(kPoison);
  TransferLaunch launch = launch_of(pieces, source, target);
  launch.waits = zeroed<Signal>(1);
  launch.wait_value = launch.post_value = 9;
  launch.wait_budget_ns = 20'000'000;
  launch.rank = 3;
  launch.ctas = 4;
  launch.stores_in_flight_bytes = 4 << 10;
  launch_transfer(launch, nullptr);
  const std::vector<Signal> posted = values_of(launch.posts, pieces.size());
  EXPECT_EQ(posted, (std::vector<Signal>{9, 9, 9, 9, 0, 0, 0})) << "what came before it, no more";
  EXPECT_EQ(launch.error->set, 1u);
  EXPECT_EQ(launch.error->rank, 3);
  EXPECT_EQ(launch.error->chunk, 4);
  EXPECT_EQ(launch.error->expected, 9u);
  EXPECT_EQ(launch.error->seen, 0u);

  pieces[4].wait_signal = TransferPiece::kNoSignal;
  TransferLaunch again = launch_of(pieces, source, target);
  again.stores_in_flight_bytes = 4 << 10;
  launch_transfer(again, nullptr);
  EXPECT_EQ(target.read(), expected(pieces, values));
}

}  // namespace
}  // namespace weft::kernels
