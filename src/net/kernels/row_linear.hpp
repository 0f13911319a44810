// A linear map over any number of consecutive rows: Y = X W', and its two gradients
// dX = dY W, dW += dY' X.
//
// X is [rows][stride], Y [rows][out], W [out, stride] as in Structure. Rows are processed in chunks
// of powers of two, each with its own planned product, so that no row is padding. In every chunk an
// element of Y or dX sums the same inputs in the same order: it does not depend on the rows around
// it. dW sums the rows in order.
#pragma once

#include <array>

#include "net/kernels/product.hpp"

namespace hotloop {

class RowLinear {
 public:
  static constexpr int kMaxWidth = 1024;  // in and out

  RowLinear(int in, int out);  // out is a multiple of 8
  // With `accumulate` the result is added to Y or dX.
  void forward(const float* weight, const float* x, int rows, float* y, bool accumulate) const;
  void input_gradient(const float* weight, const float* dy, int rows, float* dx,
                      bool accumulate) const;
  void add_weight_gradient(const float* x, const float* dy, int rows, float* gradient) const;

 private:
  static constexpr int kChunks = 7;  // of 64, 32, 16, 8, 4, 2 and 1 rows
  using Products = std::array<Product, kChunks>;
  // For 32 columns of Y or dX, and for the remaining ones.
  struct Panels {
    Products whole, rest;
  };
  using BothPanels = std::array<Panels, 2>;  // by `accumulate`
  static BothPanels plan_panels(int in, int in_stride, int out_stride);

  int in_, out_, stride_;
  BothPanels forward_, input_gradient_;
  Products weight_gradient_;
};

}  // namespace hotloop
