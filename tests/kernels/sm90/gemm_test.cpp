// SPDX-License-Identifier: Apache-2.0
// The plain GEMM against an fp64 (small) and fp32 (large) product, every tile, both ways of handing
// out.
#include "kernels/sm90/gemm.hpp"

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "kernels/shapes/table.hpp"
#include "tests/kernels/sm90/device.hpp"
#include "tests/kernels/sm90/device_test.hpp"

namespace weft::kernels {
namespace {

using test::Bf16;
using test::Reference;

struct Extents {
  int m;
  int n;
  int k;
};

class SmallProducts : public test::DeviceTest {};
using Gemm = SmallProducts;

/// bf16 keeps 8 bits: uniform rounding errors of a normal product lie near 2^-9 / sqrt(3) of its
/// norm.
constexpr double bf16_relative = 3e-3;

void expect_right(const Extents& e, const Options& options, std::uint32_t seed, int padding = 0) {
  const auto xs = static_cast<std::size_t>(e.k + padding);
  const auto ds = static_cast<std::size_t>(e.n + padding);
  const Bf16 x(static_cast<std::size_t>(e.m) * xs);
  const Bf16 w(static_cast<std::size_t>(e.n) * xs);
  const Bf16 out(static_cast<std::size_t>(e.m) * ds);
  x.randomise(seed);
  w.randomise(seed + 1);
  const Workspace workspace;
  const Plan plan = plan_gemm({e.m, e.n, e.k, x.data(), e.k + padding, w.data(), e.k + padding},
                              {out.data(), e.n + padding}, options, workspace);
  plan.launch(nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  Reference reference(e.m, e.n);
  reference.add(x.data(), xs, w.data(), xs, e.k);
  const auto difference = reference.against(out.data(), ds, 0, e.m, 1e-3 * std::sqrt(e.k));
  const std::string what = std::to_string(e.m) + "x" + std::to_string(e.n) + "x" +
                           std::to_string(e.k) + ", tile " + std::to_string(plan.tile()) +
                           ", grid " + std::to_string(plan.grid());
  EXPECT_LT(difference.relative, bf16_relative) << what;
  EXPECT_EQ(difference.beyond, 0u) << what;
}

template <class Each>
void for_tiles_and_schedulers(const Each& each) {
  for (std::size_t tile = 0; tile < shapes::tiles.size(); ++tile)
    for (const Scheduler scheduler : {Scheduler::static_shares, Scheduler::counter}) {
      Options options;
      options.tile = static_cast<int>(tile);
      options.scheduler = scheduler;
      each(options);
    }
}

TEST_F(Gemm, RaggedShapesMatchTheReferenceOnEveryTile) {
  constexpr std::array<Extents, 9> shapes{{{1, 8, 8},
                                           {1, 264, 72},
                                           {7, 136, 200},
                                           {127, 520, 264},
                                           {129, 1'032, 136},
                                           {300, 1'000, 520},
                                           {257, 264, 4'096},
                                           {2'000, 3'000, 1'000},
                                           {640, 5'128, 768}}};
  std::uint32_t seed = 1;
  for (const Extents& e : shapes)
    for_tiles_and_schedulers([&](const Options& options) { expect_right(e, options, seed += 2); });
}

TEST_F(Gemm, AnySizeOfGridComputesEverything) {
  std::uint32_t seed = 1'001;
  for (const int sms : {1, 4, 20, 130})
    for_tiles_and_schedulers([&](Options options) {
      options.sms = sms;
      expect_right({1'500, 2'200, 640}, options, seed += 2);
    });
}

TEST_F(Gemm, StridesMayExceedTheWidth) {
  std::uint32_t seed = 2'001;
  for_tiles_and_schedulers([&](const Options& options) {
    expect_right({300, 520, 264}, options, seed += 2, 16);
  });
}

TEST_F(Gemm, LargeProductsMatchTheReferenceOnEveryTile) {
  std::uint32_t seed = 3'001;
  for_tiles_and_schedulers([&](const Options& options) {
    expect_right({4'096, 7'392, 3'696}, options, seed += 2);
  });
}

TEST_F(Gemm, MoreCtasThanFitStillEndsWithTheCounter) {
  // Two launches of a full grid side by side: the second one's CTAs become resident late.
  const Extents e{2'048, 4'096, 1'024};
  const Bf16 x(static_cast<std::size_t>(e.m * e.k));
  const Bf16 w(static_cast<std::size_t>(e.n * e.k));
  x.randomise(5);
  w.randomise(6);
  Reference reference(e.m, e.n);
  reference.add(x.data(), static_cast<std::size_t>(e.k), w.data(), static_cast<std::size_t>(e.k),
                e.k);
  const test::OwnStream streams[2];
  const Bf16 outs[2] = {Bf16(static_cast<std::size_t>(e.m * e.n)),
                        Bf16(static_cast<std::size_t>(e.m * e.n))};
  const Workspace workspaces[2];
  Options options;
  options.scheduler = Scheduler::counter;
  for (int i = 0; i < 2; ++i)
    plan_gemm({e.m, e.n, e.k, x.data(), 0, w.data(), 0}, {outs[i].data(), 0}, options,
              workspaces[i])
        .launch(streams[i].get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (const Bf16& out : outs)
    EXPECT_LT(reference.against(out.data(), static_cast<std::size_t>(e.n), 0, e.m, 0).relative,
              bf16_relative);
}

TEST_F(Gemm, EveryMistakeOfARequestIsNamed) {
  const Workspace workspace;
  try {
    plan_gemm({0, 12, 20, nullptr, 0, nullptr, 0}, {nullptr, 0}, {}, workspace);
    FAIL() << "nothing was refused";
  } catch (const std::invalid_argument& refusal) {
    const std::string text = refusal.what();
    for (const char* part :
         {"m must be", "n must be", "k must be", "x must be", "w must be", "out must be"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  }
}

}  // namespace
}  // namespace weft::kernels
