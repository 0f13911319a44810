// A linear map over any number of rows that lie one after the other: Y = X W', and its two gradients
// dX = dY W, dW += dY' X.
//
// X is [rows][stride], Y [rows][out], W [out, stride] as in Structure. Rows are taken in chunks of
// powers of two, each with a product planned for it, so that no row is padding. A number of Y or dX
// is added up over the same inputs in the same order whatever the chunk: it does not depend on the
// rows around it. dW adds up the rows in their order.
#pragma once

#include <array>

#include "net/kernels/product.hpp"

namespace hotloop {

class RowLinear {
 public:
  static constexpr int kMaxWidth = 1024;  // in and out

  RowLinear(int in, int out);  // out is a multiple of 8
  // With `accumulate` Y and dX are added to.
  void forward(const float* weight, const float* x, int rows, float* y, bool accumulate) const;
  void input_gradient(const float* weight, const float* dy, int rows, float* dx,
                      bool accumulate) const;
  void add_weight_gradient(const float* x, const float* dy, int rows, float* gradient) const;

 private:
  static constexpr int kChunks = 7;  // of 64, 32, 16, 8, 4, 2 and 1 rows
  using Products = std::array<Product, kChunks>;
  // Over 32 columns of Y or dX, and over those that are left.
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
