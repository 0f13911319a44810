#include "net/product.hpp"

#include <gtest/gtest.h>

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

TEST(Product, LibxsmmAndEigenEqualTheTripleLoopOverRandomShapes) {
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

}  // namespace
}  // namespace hotloop
