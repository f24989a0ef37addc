// SPDX-License-Identifier: Apache-2.0
// What the device tests share: memory, random operands, the reference product and the comparison,
// all on the device, written apart from the kernels under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace weft::kernels::test {

/// Returns why the device tests cannot run here, or nothing.
std::string missing_device();

/// Device memory for `count` elements of bf16, poisoned with NaN.
class Bf16 {
 public:
  explicit Bf16(std::size_t count);
  std::uint16_t* data() const { return memory_.get(); }
  std::size_t count() const { return count_; }
  /// Overwrites everything with NaN.
  void poison() const;
  /// Fills it with normal random numbers.
  void randomise(std::uint32_t seed) const;

 private:
  struct Free {
    void operator()(std::uint16_t* pointer) const { cudaFree(pointer); }
  };
  std::unique_ptr<std::uint16_t, Free> memory_;
  std::size_t count_;
};

/// Device words, zero at first.
class Words {
 public:
  explicit Words(std::size_t count);
  std::uint32_t* data() const { return memory_.get(); }
  /// Sets every word on the host's order.
  void set(std::uint32_t value) const;

 private:
  struct Free {
    void operator()(std::uint32_t* pointer) const { cudaFree(pointer); }
  };
  std::unique_ptr<std::uint32_t, Free> memory_;
  std::size_t count_;
};

/// A stream that other streams do not wait for.
class OwnStream {
 public:
  OwnStream();
  ~OwnStream() { cudaStreamDestroy(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The sum of products X_i W_i^T in fp64 (exact_bits 64) or fp32, row-major [m, n].
class Reference {
 public:
  Reference(int m, int n);
  /// Adds X W^T, rows tight at the strides given.
  void add(const std::uint16_t* x, std::size_t x_stride, const std::uint16_t* w,
           std::size_t w_stride, int k);

  struct Difference {
    double relative = 0;     ///< ||out - reference|| / ||reference||, NaN included
    std::size_t beyond = 0;  ///< elements off by more than bf16 rounding and `slack`
  };
  /// Compares rows [first, first + rows) with `out`, whose row 0 is row `first` here.
  Difference against(const std::uint16_t* out, std::size_t stride, int first, int rows,
                     double slack) const;

 private:
  struct Free {
    void operator()(double* pointer) const { cudaFree(pointer); }
  };
  std::unique_ptr<double, Free> sums_;
  int m_;
  int n_;
};

}  // namespace weft::kernels::test
