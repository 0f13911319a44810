#include "net/row_linear.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "net/lanes.hpp"

namespace hotloop {
namespace {

// Calls visit(index of the chunk's size, its first row) for chunks that cover the rows.
template <class F>
void each_chunk(int rows, int largest, F&& visit) {
  int row = 0;
  for (int size = largest, index = 0; size > 0; size /= 2, ++index) {
    for (; row + size <= rows; row += size) visit(index, static_cast<std::size_t>(row));
  }
}

}  // namespace

// Column-major views: rows [n][d] are d x n, W [out, stride] is stride x out, and 32 rows of W as
// lanes [in][32] are 32 x in.
RowLinear::RowLinear(int in, int out) : in_(in), out_(out), stride_(round_up(in, kLaneStep)) {
  assert(in <= kMostInputs && out % kLaneStep == 0);
  for (int i = 0; i < kChunks; ++i) {
    const int rows = 1 << (kChunks - 1 - i);
    ProductShape forward{.m = kLanes,
                         .n = rows,
                         .k = in,
                         .lda = kLanes,
                         .ldb = stride_,
                         .ldc = out,
                         .accumulate = true};
    if (out >= kLanes) panel_[i] = Product(forward);
    forward.m = out % kLanes;
    if (forward.m > 0) last_panel_[i] = Product(forward);
    input_gradient_[i] = Product({.m = stride_,
                                  .n = rows,
                                  .k = out,
                                  .lda = stride_,
                                  .ldb = out,
                                  .ldc = stride_,
                                  .accumulate = true});
    weight_gradient_[i] = Product({.m = stride_,
                                   .n = out,
                                   .k = rows,
                                   .lda = stride_,
                                   .ldb = out,
                                   .ldc = stride_,
                                   .transpose_b = true,
                                   .accumulate = true});
  }
}

// The library wants W transposed: 32 outputs at a time, which stay in the first-level cache while all
// rows meet them.
void RowLinear::add_forward(const float* weight, const float* x, int rows, float* y) const {
  alignas(64) float panel[kMostInputs * kLanes];
  if (rows == 0) return;
  for (int o = 0; o < out_; o += kLanes) {
    const int outputs = std::min(kLanes, out_ - o);
    rows_to_lanes(weight + static_cast<std::size_t>(o) * stride_, stride_, outputs, in_, panel);
    const auto& products = outputs == kLanes ? panel_ : last_panel_;
    each_chunk(rows, 1 << (kChunks - 1), [&](int index, std::size_t row) {
      products[index](panel, x + row * stride_, y + row * out_ + o);
    });
  }
}

void RowLinear::add_input_gradient(const float* weight, const float* dy, int rows,
                                   float* dx) const {
  each_chunk(rows, 1 << (kChunks - 1), [&](int index, std::size_t row) {
    input_gradient_[index](weight, dy + row * out_, dx + row * stride_);
  });
}

void RowLinear::add_weight_gradient(const float* x, const float* dy, int rows,
                                    float* gradient) const {
  each_chunk(rows, 1 << (kChunks - 1), [&](int index, std::size_t row) {
    weight_gradient_[index](x + row * stride_, dy + row * out_, gradient);
  });
}

}  // namespace hotloop
