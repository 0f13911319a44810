#include "core/cpu/flush_denormals.hpp"

#include <gtest/gtest.h>

namespace hotloop {
namespace {

// Goes through memory, so that the compiler cannot compute it.
float product(float a, float b) {
  volatile float left = a, right = b;
  volatile float result = left * right;
  return result;
}

TEST(FlushDenormals, DenormalsAreZeroWhileItLives) {
  EXPECT_GT(product(1e-38f, 0.1f), 0);
#ifdef __SSE2__
  {
    const FlushDenormals flush;
    EXPECT_EQ(product(1e-38f, 0.1f), 0);   // a result
    EXPECT_EQ(product(1e-40f, 1e10f), 0);  // an operand
    EXPECT_FLOAT_EQ(product(2, 3), 6);
    { const FlushDenormals within; }
    EXPECT_EQ(product(1e-38f, 0.1f), 0) << "it lives on";
  }
#endif
  EXPECT_GT(product(1e-38f, 0.1f), 0);
  EXPECT_GT(product(1e-40f, 1e10f), 0);
}

}  // namespace
}  // namespace hotloop
