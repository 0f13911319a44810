// The peak is a bound: no matrix product on this core may beat it.
#include "profile/peak.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "net/kernels/product.hpp"

namespace hotloop {
namespace {

double best_product_gflops() {
  constexpr int kSize = 64, kCalls = 200;
  const Product product({kSize, kSize, kSize, kSize, kSize, kSize});
  const std::vector<float> a(kSize * kSize, 0.5f), b(kSize * kSize, 0.25f);
  std::vector<float> c(kSize * kSize);
  double best = 0;
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) product(a.data(), b.data(), c.data());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * kSize * kSize * kSize * kCalls / time.count() / 1e9);
  }
  return best;
}

TEST(Peak, NoMatrixProductIsFaster) {
  EXPECT_GT(measure_peak_gflops(), 0.95 * best_product_gflops());
}

}  // namespace
}  // namespace hotloop
