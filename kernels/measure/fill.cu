// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "kernels/collectives/device.cuh"
#include "kernels/measure/fill.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1056;

struct Addends {
  const std::byte* at[8];
  int count;
};

/// splitmix64's finaliser: a well mixed word for each counter.
__device__ std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// The sum of four uniforms, centred and scaled to unit deviation: close enough to a normal.
__device__ float normal(std::uint64_t word) {
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<float>((word >> (16 * i)) & 0xffff);
  constexpr float kMean = 2.0f * 65535.0f;
  constexpr float kDeviation = 65536.0f * 0.57735027f;  // sqrt(4 / 12)
  return (sum - kMean) / kDeviation;
}

__global__ void random_kernel(unsigned int* target, std::size_t pairs, std::uint64_t seed,
                              float scale) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < pairs;
       i += std::size_t{gridDim.x} * blockDim.x)
    target[i] =
        device::pack_bf16(scale * normal(mix(seed + 2 * i)), scale * normal(mix(seed + 2 * i + 1)));
}

__device__ float value(const std::byte* array, std::int64_t index) {
  return __uint_as_float(
      static_cast<unsigned int>(reinterpret_cast<const unsigned short*>(array)[index]) << 16);
}

__device__ void atomic_max(float* target, float candidate) {
  atomicMax(reinterpret_cast<int*>(target), __float_as_int(candidate));
}

__global__ void product_kernel(const ProductCheck check, CheckResult* result) {
  const std::uint64_t word = mix(check.seed * 0x10001 + blockIdx.x);
  std::int64_t row = static_cast<std::int64_t>((word >> 32) % static_cast<std::uint64_t>(check.m));
  std::int64_t column =
      static_cast<std::int64_t>((word & 0xffffffffu) % static_cast<std::uint64_t>(check.n));
  if (blockIdx.x == 0) row = column = 0;
  if (blockIdx.x == 1) row = check.m - 1, column = check.n - 1;
  float sum = 0;
  float magnitude = 0;
  for (std::int64_t i = threadIdx.x; i < check.k; i += blockDim.x) {
    const float term = value(check.x, row * check.k + i) * value(check.w, column * check.k + i);
    sum += term;
    magnitude += fabsf(term);
  }
  __shared__ float sums[kThreads];
  __shared__ float magnitudes[kThreads];
  sums[threadIdx.x] = sum;
  magnitudes[threadIdx.x] = magnitude;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      sums[threadIdx.x] += sums[threadIdx.x + half];
      magnitudes[threadIdx.x] += magnitudes[threadIdx.x + half];
    }
  }
  if (threadIdx.x != 0) return;
  // A partial may have been rounded to bf16 on its way: one rounding for it, one for the result.
  constexpr float kBf16Half = 1.0f / 256.0f;
  constexpr float kAccumulate = 1e-6f;
  float reference = sums[0];
  float tolerance = magnitudes[0] * kAccumulate + fabsf(sums[0]) * kBf16Half;
  for (int i = 0; i < check.addend_count; ++i) {
    const float addend = value(check.addends[i], row * check.n + column);
    reference += addend;
    tolerance += fabsf(addend) * kBf16Half;
  }
  tolerance += fabsf(reference) * kBf16Half + 1e-6f;
  const float out = value(check.out, row * check.n + column);
  const float error = fabsf(out - reference) / tolerance;
  atomic_max(&result->worst, isnan(error) ? 1e30f : error);
  atomicAdd(&result->sampled, 1u);
}

__global__ void poison_kernel(const unsigned short* out, std::int64_t elements,
                              CheckResult* result) {
  unsigned long long found = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < elements;
       i += std::int64_t{gridDim.x} * blockDim.x)
    found += out[i] == 0xffffu;
  if (found != 0) atomicAdd(&result->poison, found);
}

__global__ void equal_kernel(const uint4* a, const uint4* b, std::size_t vectors,
                             CheckResult* result) {
  unsigned long long found = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < vectors;
       i += std::size_t{gridDim.x} * blockDim.x)
    found += a[i].x != b[i].x || a[i].y != b[i].y || a[i].z != b[i].z || a[i].w != b[i].w;
  if (found != 0) atomicAdd(&result->poison, found);
}

__global__ void sum_kernel(const std::byte* out, const Addends addends, std::int64_t elements,
                           int roundings, CheckResult* result) {
  // bf16 keeps 8 bits: a rounding is off by 2^-8 at most, and twice that is allowed.
  const float allowed = static_cast<float>(roundings) / 128.0f;
  float worst = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < elements;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    float sum = 0;
    float magnitude = 0;
    for (int a = 0; a < addends.count; ++a) {
      sum += value(addends.at[a], i);
      magnitude += fabsf(value(addends.at[a], i));
    }
    const float error = fabsf(value(out, i) - sum) / (magnitude * allowed + 1e-6f);
    worst = isnan(error) ? 1e30f : fmaxf(worst, error);
  }
  atomic_max(&result->worst, worst);
  if (threadIdx.x == 0) atomicAdd(&result->sampled, 1u);
}

}  // namespace

void fill_random_bf16(std::byte* target, std::size_t bytes, std::uint64_t seed, float scale,
                      cudaStream_t stream) {
  random_kernel<<<kBlocks, kThreads, 0, stream>>>(reinterpret_cast<unsigned int*>(target),
                                                  bytes / 4, seed, scale);
  WEFT_CUDA(cudaGetLastError());
}

void fill_poison(std::byte* target, std::size_t bytes, cudaStream_t stream) {
  WEFT_CUDA(cudaMemsetAsync(target, 0xff, bytes, stream));
}

void check_product(const ProductCheck& check, CheckResult* result, cudaStream_t stream) {
  product_kernel<<<check.samples, kThreads, 0, stream>>>(check, result);
  WEFT_CUDA(cudaGetLastError());
  poison_kernel<<<kBlocks, kThreads, 0, stream>>>(
      reinterpret_cast<const unsigned short*>(check.out), check.m * check.n, result);
  WEFT_CUDA(cudaGetLastError());
}

void check_equal(const std::byte* a, const std::byte* b, std::size_t bytes, CheckResult* result,
                 cudaStream_t stream) {
  equal_kernel<<<kBlocks, kThreads, 0, stream>>>(
      reinterpret_cast<const uint4*>(a), reinterpret_cast<const uint4*>(b), bytes / 16, result);
  WEFT_CUDA(cudaGetLastError());
}

void check_sum(const std::byte* out, const std::byte* const* addends, int count, std::size_t bytes,
               int roundings, CheckResult* result, cudaStream_t stream) {
  if (count > 8) throw std::invalid_argument("at most 8 addends");
  Addends list{};
  for (int i = 0; i < count; ++i) list.at[i] = addends[i];
  list.count = count;
  sum_kernel<<<kBlocks, kThreads, 0, stream>>>(out, list, static_cast<std::int64_t>(bytes / 2),
                                               roundings, result);
  WEFT_CUDA(cudaGetLastError());
}

}  // namespace weft::kernels
