#include "net/kernels/activation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "net/kernels/gelu.hpp"
#include "net/lanes.hpp"
#include "reference/network.hpp"

namespace hotloop {
namespace {

float activate_one(Activation activation, float z) {
  alignas(32) float lanes[kLanes] = {z};
  const float bias = 0;
  add_bias_and_activate(activation, &bias, 1, 8, lanes, nullptr);
  return lanes[0];
}

// Worked numbers of SLM-Lab's specification, check 5.
TEST(Activation, SeluWorkedNumbers) {
  EXPECT_NEAR(activate_one(Activation::selu, -1), -1.1113307, 1e-6);
  EXPECT_NEAR(activate_one(Activation::selu, 2), 2.1014020, 1e-6);
}

// GELU(1) = Phi(1) = 0.841344746..., from tables of the normal distribution.
TEST(Activation, GeluIsExact) {
  EXPECT_NEAR(activate_one(Activation::gelu, 1), 0.8413447, 1e-6);
  EXPECT_NEAR(activate_one(Activation::gelu, -1), -0.1586553, 1e-6);
}

// Against the library's erfc and exp in double precision, over the whole range and beyond.
TEST(Activation, GeluIsExactEverywhere) {
  double worst = 0, worst_slope = 0;
  for (int i = -160'000; i <= 160'000; ++i) {
    const float x = static_cast<float>(i) * 1e-4f;
    const double phi = 0.5 * std::erfc(-x * std::sqrt(0.5));
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    const Gelu fast = gelu(broadcast(x));
    // In units of the float spacing there.
    worst = std::max(worst, std::abs(fast.value[0] - x * phi) / std::max(1.0f, std::abs(x)));
    worst_slope = std::max(worst_slope, std::abs(fast.slope[0] - (phi + x * density)));
  }
  EXPECT_LT(worst, 1.2e-7);
  EXPECT_LT(worst_slope, 2.5e-7);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(gelu(broadcast(kInfinity)).value[0], kInfinity);
  EXPECT_EQ(gelu(broadcast(kInfinity)).slope[0], 1);
  EXPECT_NEAR(gelu(broadcast(-kInfinity)).value[0], 0, 1e-30);
  EXPECT_NEAR(gelu(broadcast(-kInfinity)).slope[0], 0, 1e-30);
  EXPECT_TRUE(std::isnan(gelu(broadcast(NAN)).value[0]));
  EXPECT_TRUE(std::isnan(gelu(broadcast(NAN)).slope[0]));
}

TEST(Activation, EveryWidthAndManyValuesEqualTheSlowTwin) {
  for (int a = 0; a < static_cast<int>(kActivationNames.size()); ++a) {
    const auto activation = static_cast<Activation>(a);
    for (int width : {8, 16, 24, 32}) {
      constexpr int kFeatures = 3;
      alignas(32) float y[kFeatures * kLanes], slope[kFeatures * kLanes], d[kFeatures * kLanes];
      const float bias[kFeatures] = {0.5f, -1.0f, 0.0f};
      float bias_gradient[kFeatures] = {1, 2, 3};
      double expected_bias[kFeatures] = {1, 2, 3};
      std::vector<double> z(kFeatures * kLanes);
      for (int i = 0; i < kFeatures * kLanes; ++i) {
        y[i] = 0.37f * static_cast<float>(i % 23 - 11);
        z[i] = double{y[i]} + bias[i / kLanes];
        d[i] = 1;
      }
      add_bias_and_activate(activation, bias, kFeatures, width, y, slope);
      backward_through_activation(activation, y, slope, kFeatures, width, d, bias_gradient, true);
      for (int f = 0; f < kFeatures; ++f) {
        for (int lane = 0; lane < width; ++lane) {
          const int i = f * kLanes + lane;
          ASSERT_NEAR(y[i], reference::activate(activation, z[i]), 2e-6)
              << kActivationNames[a] << " of " << z[i];
          ASSERT_NEAR(d[i], reference::slope(activation, z[i]), 2e-5)
              << kActivationNames[a] << "' at " << z[i];
          expected_bias[f] += reference::slope(activation, z[i]);
        }
        ASSERT_NEAR(bias_gradient[f], expected_bias[f], 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace hotloop
