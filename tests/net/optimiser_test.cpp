#include "net/optimiser.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <hotloop/rng.hpp>

#include "reference/optimiser.hpp"

namespace hotloop {
namespace {

// Worked numbers of SLM-Lab's specification, check 5.
TEST(Optimiser, AdamWorkedNumbers) {
  Optimiser adam({.kind = OptimiserKind::adam}, 1);
  std::vector<float> p = {0};
  ThreadTeam team(1);
  adam.step(p, std::vector<float>{0.5f}, 0.02f, 1, team);
  EXPECT_NEAR(p[0], -0.0199999996, 1e-8);
  const float first = p[0];
  adam.step(p, std::vector<float>{-0.25f}, 0.02f, 1, team);
  EXPECT_NEAR(p[0] - first, -0.0053267407, 1e-8);
}

TEST(Optimiser, NormClipWorkedNumbers) {
  const std::vector<float> g = {0.6f, 0.8f, 2.4f};
  const float norm = euclidean_norm(g);
  EXPECT_NEAR(norm, 2.6, 1e-6);
  const float factor = clip_factor(norm, 0.5f);
  EXPECT_NEAR(g[0] * factor, 0.1153846, 1e-6);
  EXPECT_NEAR(g[1] * factor, 0.1538461, 1e-6);
  EXPECT_NEAR(g[2] * factor, 0.4615383, 1e-6);
  EXPECT_EQ(clip_factor(norm, 0), 1);
  EXPECT_EQ(clip_factor(0.4f, 0.5f), 1);
}

TEST(Optimiser, NormOfManySizes) {
  for (std::size_t size : {0u, 1u, 31u, 32u, 33u, 1000u}) {
    const std::vector<float> v(size, 2.0f);
    EXPECT_NEAR(euclidean_norm(v), 2 * std::sqrt(static_cast<double>(size)), 1e-3);
  }
}

class OptimiserTwin : public testing::TestWithParam<OptimiserKind> {};

TEST_P(OptimiserTwin, EqualsItsSlowTwinOver200Steps) {
  const OptimiserOptions options{
      .kind = GetParam(), .momentum = 0.5f, .weight_decay = 0.01f, .max_grad_norm = 1.0f};
  constexpr std::size_t kSize = 77;
  Rng rng(2, Purpose::test, 0, 0);
  std::vector<float> p(kSize), g(kSize);
  for (float& x : p) x = static_cast<float>(rng.normal());
  std::vector<double> exact(p.begin(), p.end());
  Optimiser fast(options, kSize);
  reference::Optimiser<double> slow(options, kSize);
  ThreadTeam team(1);
  for (int t = 0; t < 200; ++t) {
    for (float& x : g) x = static_cast<float>(rng.normal());
    std::vector<double> gd(g.begin(), g.end());
    reference::clip<double>(gd, options.max_grad_norm);
    slow.step(exact, gd, 0.01);
    fast.step(p, g, 0.01f, clip_factor(euclidean_norm(g), options.max_grad_norm), team);
  }
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_NEAR(p[i], exact[i], 3e-4) << i;
}

TEST_P(OptimiserTwin, ThreadsDivideALargeStepAndChangeNothing) {
  constexpr std::size_t kSize = 100'003;  // four parts, the last one odd
  const auto after_five = [&](int threads) {
    Rng rng(3, Purpose::test, 0, 0);
    std::vector<float> p(kSize), g(kSize);
    for (float& x : p) x = static_cast<float>(rng.normal());
    Optimiser optimiser({.kind = GetParam(), .momentum = 0.5f, .weight_decay = 0.01f}, kSize);
    ThreadTeam team(threads);
    for (int t = 0; t < 5; ++t) {
      for (float& x : g) x = static_cast<float>(rng.normal());
      optimiser.step(p, g, 0.01f, 0.7f, team);
    }
    return p;
  };
  const std::vector<float> alone = after_five(1);
  EXPECT_EQ(after_five(3), alone);
  EXPECT_EQ(after_five(8), alone);
}

INSTANTIATE_TEST_SUITE_P(Kinds, OptimiserTwin,
                         testing::Values(OptimiserKind::adam, OptimiserKind::adamw,
                                         OptimiserKind::rmsprop, OptimiserKind::sgd),
                         [](const auto& test) {
                           return std::string(kOptimiserNames[static_cast<int>(test.param)]);
                         });

}  // namespace
}  // namespace hotloop
