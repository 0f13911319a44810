// Central finite differences of a function of parameters, in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hotloop {

// Calls loss() with each parameter shifted. Errors are relative to 1 + |gradient|.
template <class Loss>
void expect_gradient(std::vector<double>& p, const std::vector<double>& gradient, Loss&& loss,
                     double tolerance = 1e-8) {
  ASSERT_EQ(p.size(), gradient.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double kept = p[i], h = 1e-5;
    p[i] = kept + h;
    const double up = loss();
    p[i] = kept - h;
    const double down = loss();
    p[i] = kept;
    EXPECT_NEAR((up - down) / (2 * h), gradient[i], tolerance * (1 + std::abs(gradient[i])))
        << "parameter " << i;
  }
}

}  // namespace hotloop
