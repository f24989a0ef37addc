// SPDX-License-Identifier: Apache-2.0
// How a boundary is cut and moved: the knobs that the fused and chunked cases share.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/measure/multiplier.hpp"

namespace weft::kernels {

/// What moves the bytes.
enum class Mover : std::uint8_t { copy_engine, ctas, library };

/// How long a kernel of a case waits for one flag: far longer than any transfer takes.
inline constexpr std::int64_t kWaitBudgetNs = 300'000'000;

/// Knobs of a schedule.
struct Cut {
  int chunks = 1;  ///< pieces of each rank's shard
  Mover mover = Mover::copy_engine;
  int margin = 0;  ///< SMs that the product leaves free
  int ctas = 8;    ///< that move data, with Mover::ctas
  std::int64_t pace_bytes_per_second = 0;
  std::int64_t in_flight_bytes = 0;
  bool owners_in_turns = false;   ///< the order of tiles that are stored at their owners
  bool sums_in_epilogue = false;  ///< of the own tiles, in place of a pass of their own
};

/// A boundary of one product and the collective beside it, on every rank that runs. All forms give the
/// same outputs; `serial` is the collective and the product one after the other.
class BoundaryCase {
 public:
  virtual ~BoundaryCase() = default;

  /// A: the product alone, whole, on all SMs.
  virtual Enqueue compute() = 0;
  /// B: the collective alone, whole.
  virtual Enqueue collective(const Cut& cut) = 0;
  /// C: both in stream order.
  virtual Enqueue serial(const Cut& cut) = 0;
  /// D of the many-launch form: a product and a transfer a chunk, joined by events.
  virtual Enqueue chunked(const Cut& cut) = 0;
  /// Its products with every wait satisfied.
  virtual Enqueue chunked_compute(const Cut& cut) = 0;
  /// Its transfers with products of zero length.
  virtual Enqueue chunked_transfers(const Cut& cut) = 0;
  /// D of the single persistent launch that waits for, or posts, a flag a chunk.
  virtual Enqueue device_flag(const Cut& cut) = 0;
  /// Its tile work with every wait satisfied and nothing moved.
  virtual Enqueue device_flag_compute(const Cut& cut) = 0;
  /// Its transfers and posts without tile work.
  virtual Enqueue device_flag_transfers(const Cut& cut) = 0;

  /// Poisons every output, runs `work` once and returns the worst error over its tolerance; throws
  /// std::runtime_error where elements were not written or a wait gave up.
  virtual double check(const Enqueue& work) = 0;
  /// The kernel of the last product that was prepared.
  const calibration::Kernel& kernel() const { return kernel_; }
  /// Bytes that the first rank receives and sends.
  std::int64_t bytes_in() const { return bytes_in_; }
  std::int64_t bytes_out() const { return bytes_out_; }

 protected:
  calibration::Kernel kernel_;
  std::int64_t bytes_in_ = 0;
  std::int64_t bytes_out_ = 0;
};

/// Gathering X [m, k] by rows, then times W [n, k] transposed.
std::unique_ptr<BoundaryCase> make_gather_case(Stage& stage, const calibration::Shape& shape,
                                               const GemmChoice& choice);

/// X [m, k] times W [n, k] transposed, then by `operation`: the sum of all ranks' products scattered by
/// rows (gemm_rs) or whole on each rank (gemm_ar), or the rows at their owners as they are (gemm_a2a).
std::unique_ptr<BoundaryCase> make_scatter_case(Stage& stage, const calibration::Shape& shape,
                                                const GemmChoice& choice,
                                                const std::string& operation);

}  // namespace weft::kernels
