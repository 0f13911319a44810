#include "net/kernels/product.hpp"

#include <gtest/gtest.h>
#include <libxsmm.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <hotloop/rng.hpp>

namespace hotloop {
namespace {

void naive(const ProductShape& s, const std::vector<float>& a, const std::vector<float>& b,
           std::vector<float>& c) {
  for (int i = 0; i < s.m; ++i) {
    for (int j = 0; j < s.n; ++j) {
      double sum = s.accumulate ? c[j * s.ldc + i] : 0;
      for (int k = 0; k < s.k; ++k)
        sum += double{a[k * s.lda + i]} * (s.transpose_b ? b[k * s.ldb + j] : b[j * s.ldb + k]);
      c[j * s.ldc + i] = static_cast<float>(sum);
    }
  }
}

TEST(Product, AllKernelsEqualTheTripleLoopOverRandomShapes) {
  Rng rng(1, Purpose::test, 0, 0);
  for (int round = 0; round < 200; ++round) {
    ProductShape s{};
    s.m = 1 + static_cast<int>(rng.below(40));
    s.n = 1 + static_cast<int>(rng.below(40));
    s.k = 1 + static_cast<int>(rng.below(70));
    s.transpose_b = rng.below(2) != 0;
    s.accumulate = rng.below(2) != 0;
    s.lda = s.m + static_cast<int>(rng.below(5));
    s.ldb = (s.transpose_b ? s.n : s.k) + static_cast<int>(rng.below(5));
    s.ldc = s.m + static_cast<int>(rng.below(5));
    std::vector<float> a(s.lda * s.k), b(s.ldb * std::max(s.n, s.k)), c(s.ldc * s.n);
    for (auto* v : {&a, &b, &c}) {
      for (float& x : *v) x = static_cast<float>(rng.normal());
    }
    std::vector<float> expected = c, eigen = c;
    naive(s, a, b, expected);
    const Product product(s);
    product(a.data(), b.data(), c.data());
    Product::eigen_product(s, a.data(), b.data(), eigen.data());
    for (std::size_t i = 0; i < c.size(); ++i) {  // the gaps between columns must stay as they were
      ASSERT_NEAR(c[i], expected[i], 2e-5) << "round " << round << " index " << i;
      ASSERT_NEAR(eigen[i], expected[i], 2e-5) << "round " << round << " index " << i;
    }
  }
}

// Limits products to this instruction set; 0 means what the CPU has.
class SumsInOneOrder : public testing::TestWithParam<int> {
 protected:
  SumsInOneOrder() {
    libxsmm_init();
    best_ = libxsmm_get_target_archid();
    if (GetParam() > 0) libxsmm_set_target_archid(std::min(best_, GetParam()));
  }
  ~SumsInOneOrder() override { libxsmm_set_target_archid(best_); }

 private:
  int best_;
};

// Results must not depend on the CPU's vector width, to the bit. Libraries compile different code
// for shapes around the width of a vector, with few and with many columns.
TEST_P(SumsInOneOrder, WhateverTheShape) {
  if (!Product({.m = 32, .n = 32, .k = 32, .lda = 32, .ldb = 32, .ldc = 32}).compiled())
    GTEST_SKIP() << "libxsmm has no kernels for this CPU";
  Rng rng(2, Purpose::test, 0, 0);
  std::vector<float> a(128 * 130), b(130 * 130), c(128 * 130);
  for (auto* v : {&a, &b}) {
    for (float& x : *v) x = static_cast<float>(rng.normal());
  }
  for (const int m : {1, 5, 8, 15, 16, 17, 24, 31, 32, 40, 64, 128}) {
    for (int n = 1; n <= 40; ++n) {
      for (const int k : {1, 2, 3, 4, 7, 8, 16, 33, 64, 129}) {
        const ProductShape s{.m = m,
                             .n = n,
                             .k = k,
                             .lda = 128,
                             .ldb = 130,
                             .ldc = 128,
                             .transpose_b = (n + k) % 2 == 0,
                             .accumulate = k % 3 == 0};
        const Product product(s);
        std::fill(c.begin(), c.end(), 0.5f);
        product(a.data(), b.data(), c.data());
        for (int j = 0; j < n; ++j) {
          for (int i = 0; i < m; ++i) {
            float sum = s.accumulate ? 0.5f : 0.0f;
            for (int l = 0; l < k; ++l)
              sum = std::fma(a[l * s.lda + i], s.transpose_b ? b[l * s.ldb + j] : b[j * s.ldb + l],
                             sum);
            ASSERT_EQ(c[j * s.ldc + i], sum) << m << " x " << n << " x " << k;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Product, SumsInOneOrder, testing::Values(0, LIBXSMM_X86_AVX2),
                         [](const auto& set) { return set.param == 0 ? "this_cpu" : "avx2"; });

}  // namespace
}  // namespace hotloop
