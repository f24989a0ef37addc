// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/memory/check.hpp"
#include "tests/kernels/sm90/device.hpp"

namespace weft::kernels::test {
namespace {

__device__ float widened(std::uint16_t bits) {
  return __uint_as_float(std::uint32_t{bits} << 16);
}

__device__ std::uint16_t rounded(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

__device__ std::uint32_t scrambled(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDull;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53ull;
  return static_cast<std::uint32_t>(x >> 32);
}

__global__ void fill_normal(std::uint16_t* out, std::size_t count, std::uint32_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += gridDim.x * std::size_t{blockDim.x}) {
    const std::uint64_t key = (std::uint64_t{seed} << 40) + 2 * i;
    const float radius = (static_cast<float>(scrambled(key + 1)) + 1.0f) * 2.3283e-10f;
    const float angle = static_cast<float>(scrambled(key + 2)) * 2.3283e-10f;
    out[i] = rounded(sqrtf(-2.0f * logf(fminf(radius, 1.0f))) * cospif(2.0f * angle));
  }
}

template <class Sum>
__global__ void multiply(const std::uint16_t* x, std::size_t x_stride, const std::uint16_t* w,
                         std::size_t w_stride, double* sums, int m, int n, int k) {
  __shared__ float xs[32][33];
  __shared__ float ws[32][33];
  const int tx = static_cast<int>(threadIdx.x);
  const int ty = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * 32;
  const int column = static_cast<int>(blockIdx.x) * 32;
  Sum sum[4] = {};
  for (int depth = 0; depth < k; depth += 32) {
    for (int i = ty; i < 32; i += 8) {
      const bool inside = depth + tx < k;
      xs[i][tx] = inside && row + i < m ? widened(x[(row + i) * x_stride + depth + tx]) : 0.0f;
      ws[i][tx] =
          inside && column + i < n ? widened(w[(column + i) * w_stride + depth + tx]) : 0.0f;
    }
    __syncthreads();
    for (int d = 0; d < 32; ++d)
      for (int i = 0; i < 4; ++i)
        sum[i] += static_cast<Sum>(xs[ty + 8 * i][d]) * static_cast<Sum>(ws[tx][d]);
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    const int r = row + ty + 8 * i;
    if (r < m && column + tx < n) sums[r * std::size_t(n) + column + tx] += sum[i];
  }
}

__global__ void compare(const std::uint16_t* out, std::size_t stride, const double* sums, int rows,
                        int n, double slack, double* totals) {
  double off = 0;
  double size = 0;
  double beyond = 0;
  const std::size_t count = std::size_t(rows) * n;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += gridDim.x * std::size_t{blockDim.x}) {
    const double is = widened(out[i / n * stride + i % n]);
    const double should = sums[i];
    if (!(fabs(is - should) <= fabs(should) / 128 + slack)) beyond += 1;
    off += (is - should) * (is - should);
    size += should * should;
  }
  atomicAdd(&totals[0], off);
  atomicAdd(&totals[1], size);
  atomicAdd(&totals[2], beyond);
}

}  // namespace

std::string missing_device() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return "no CUDA device";
  int major = 0;
  WEFT_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  return major == 9 ? "" : "no device of compute capability 9.0";
}

Bf16::Bf16(std::size_t count) : count_(count) {
  std::uint16_t* memory = nullptr;
  WEFT_CUDA(cudaMalloc(&memory, std::max<std::size_t>(count, 8) * 2));
  memory_.reset(memory);
  poison();
}

void Bf16::poison() const {
  WEFT_CUDA(cudaMemset(data(), 0xFF, count_ * 2));
  WEFT_CUDA(cudaDeviceSynchronize());
}

void Bf16::randomise(std::uint32_t seed) const {
  fill_normal<<<1'024, 256>>>(data(), count_, seed);
  WEFT_CUDA(cudaGetLastError());
  WEFT_CUDA(cudaDeviceSynchronize());
}

Words::Words(std::size_t count) : count_(count) {
  std::uint32_t* memory = nullptr;
  WEFT_CUDA(cudaMalloc(&memory, std::max<std::size_t>(count, 1) * 4));
  memory_.reset(memory);
  set(0);
}

void Words::set(std::uint32_t value) const {
  const std::vector<std::uint32_t> words(count_, value);
  WEFT_CUDA(cudaMemcpy(data(), words.data(), count_ * 4, cudaMemcpyHostToDevice));
}

OwnStream::OwnStream() {
  WEFT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Reference::Reference(int m, int n) : m_(m), n_(n) {
  double* memory = nullptr;
  WEFT_CUDA(cudaMalloc(&memory, std::size_t(m) * n * sizeof(double)));
  sums_.reset(memory);
  WEFT_CUDA(cudaMemset(memory, 0, std::size_t(m) * n * sizeof(double)));
}

void Reference::add(const std::uint16_t* x, std::size_t x_stride, const std::uint16_t* w,
                    std::size_t w_stride, int k) {
  const dim3 grid((n_ + 31) / 32, (m_ + 31) / 32);
  // fp64 where it is cheap enough, fp32 for large products.
  if (double(m_) * n_ * k < 2e10)
    multiply<double><<<grid, dim3(32, 8)>>>(x, x_stride, w, w_stride, sums_.get(), m_, n_, k);
  else
    multiply<float><<<grid, dim3(32, 8)>>>(x, x_stride, w, w_stride, sums_.get(), m_, n_, k);
  WEFT_CUDA(cudaGetLastError());
  WEFT_CUDA(cudaDeviceSynchronize());
}

Reference::Difference Reference::against(const std::uint16_t* out, std::size_t stride, int first,
                                         int rows, double slack) const {
  if (rows == 0) return {};
  double* totals = nullptr;
  WEFT_CUDA(cudaMalloc(&totals, 3 * sizeof(double)));
  WEFT_CUDA(cudaMemset(totals, 0, 3 * sizeof(double)));
  compare<<<264, 256>>>(out, stride, sums_.get() + std::size_t(first) * n_, rows, n_, slack,
                        totals);
  double host[3] = {};
  WEFT_CUDA(cudaMemcpy(host, totals, sizeof host, cudaMemcpyDeviceToHost));
  cudaFree(totals);
  return {std::sqrt(host[0] / host[1]), static_cast<std::size_t>(host[2])};
}

}  // namespace weft::kernels::test
