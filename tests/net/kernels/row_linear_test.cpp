#include "net/kernels/row_linear.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "net/lanes.hpp"
#include "tests/net/layers/forest/forests.hpp"

namespace hotloop {
namespace {

// All three products against sums in double precision, over shapes with every kind of remainder and
// over more rows than a stage has. dW always accumulates, the others optionally.
TEST(RowLinear, EqualsSums) {
  Rng rng(31, Purpose::test, 0, 0);
  for (const auto& [in, out] : {std::pair{3, 8}, {19, 40}, {32, 32}, {40, 24}, {64, 128}}) {
    const RowLinear linear(in, out);
    const int stride = round_up(in, kLaneStep);
    for (const int rows : {0, 1, 7, 63, 100, 600}) {
      Floats w = random_floats(out * stride, rng), x = random_floats(rows * stride, rng);
      for (int i = in; i < stride; ++i) {  // the padding
        for (int o = 0; o < out; ++o) w[o * stride + i] = 0;
        for (int r = 0; r < rows; ++r) x[r * stride + i] = 0;
      }
      const Floats dy = random_floats(rows * out, rng);
      Floats y(rows * out, 0.5f), dx(rows * stride, 0.5f), dw(out * stride, 0.5f);
      Floats only_y = y, only_dx = dx;
      linear.forward(w.data(), x.data(), rows, y.data(), true);
      linear.forward(w.data(), x.data(), rows, only_y.data(), false);
      linear.input_gradient(w.data(), dy.data(), rows, dx.data(), true);
      linear.input_gradient(w.data(), dy.data(), rows, only_dx.data(), false);
      linear.add_weight_gradient(x.data(), dy.data(), rows, dw.data());
      std::vector<double> ey(y.size(), 0.5), ex(dx.size(), 0.5), ew(dw.size(), 0.5);
      for (int r = 0; r < rows; ++r) {
        for (int o = 0; o < out; ++o) {
          for (int i = 0; i < in; ++i) {
            ey[r * out + o] += double(w[o * stride + i]) * x[r * stride + i];
            ex[r * stride + i] += double(w[o * stride + i]) * dy[r * out + o];
            ew[o * stride + i] += double(x[r * stride + i]) * dy[r * out + o];
          }
        }
      }
      const auto expect = [&](const Floats& found, const std::vector<double>& expected) {
        for (std::size_t i = 0; i < found.size(); ++i)
          ASSERT_NEAR(found[i], expected[i], 1e-4) << in << " " << out << " " << rows;
      };
      expect(y, ey);
      expect(dx, ex);
      expect(dw, ew);
      for (double& value : ey) value -= 0.5;
      for (double& value : ex) value -= 0.5;
      expect(only_y, ey);
      expect(only_dx, ex);
    }
  }
}

}  // namespace
}  // namespace hotloop
