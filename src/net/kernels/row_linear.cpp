#include "net/kernels/row_linear.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "core/cpu/vec.hpp"
#include "net/lanes.hpp"

namespace hotloop {
namespace {

constexpr int kPanel = kLanes;  // columns
constexpr int kMaxRows = 64;    // rows in a chunk
// The same for dW: more rows would evict each other from the L1 cache.
constexpr int kMaxGradientRows = 32;
// Rows that stay in the L2 cache while all panels are applied to them.
constexpr int kStage = 512;

// Calls visit(index of the chunk's size, its first row) for chunks that cover rows [first, last).
template <class F>
void each_chunk(int first, int last, int max_rows, F&& visit) {
  int index = 0;
  for (int size = kMaxRows; size > 0; size /= 2, ++index) {
    if (size > max_rows) continue;
    for (; first + size <= last; first += size) visit(index, static_cast<std::size_t>(first));
  }
}

// Calls visit(first column, columns, first row, last row) for panels that cover all columns, over
// stages that cover all rows.
template <class F>
void each_panel(int columns, int rows, F&& visit) {
  for (int row = 0; row < rows; row += kStage) {
    for (int c = 0; c < columns; c += kPanel)
      visit(c, std::min(kPanel, columns - c), row, std::min(rows, row + kStage));
  }
}

}  // namespace

// Column-major views: rows [n][d] are d x n, and a panel [in][kPanel] is kPanel x in.
RowLinear::BothPanels RowLinear::plan_panels(int in, int in_stride, int out_stride) {
  BothPanels both;
  for (const bool accumulate : {false, true}) {
    for (int i = 0; i < kChunks; ++i) {
      ProductShape shape{.m = kPanel,
                         .n = kMaxRows >> i,
                         .k = in,
                         .lda = kPanel,
                         .ldb = in_stride,
                         .ldc = out_stride,
                         .accumulate = accumulate};
      if (out_stride >= kPanel) both[accumulate].whole[i] = Product(shape);
      shape.m = out_stride % kPanel;
      if (shape.m > 0) both[accumulate].rest[i] = Product(shape);
    }
  }
  return both;
}

RowLinear::RowLinear(int in, int out)
    : in_(in),
      out_(out),
      stride_(round_up(in, kLaneStep)),
      forward_(plan_panels(in, stride_, out)),
      input_gradient_(plan_panels(out, out, stride_)) {
  assert(in <= kMaxWidth && out <= kMaxWidth && out % kLaneStep == 0);
  for (int i = 0; i < kChunks; ++i) {  // W [out, stride] is stride x out
    weight_gradient_[i] = Product({.m = stride_,
                                   .n = out,
                                   .k = kMaxRows >> i,
                                   .lda = stride_,
                                   .ldb = out,
                                   .ldc = stride_,
                                   .transpose_b = true,
                                   .accumulate = true});
  }
}

// libxsmm needs W transposed.
void RowLinear::forward(const float* weight, const float* x, int rows, float* y,
                        bool accumulate) const {
  const Panels& panels = forward_[accumulate];
  alignas(64) float panel[kMaxWidth * kPanel];
  each_panel(out_, rows, [&](int o, int columns, int first, int last) {
    rows_to_lanes(weight + static_cast<std::size_t>(o) * stride_, stride_, columns, in_, panel);
    const Products& products = columns == kPanel ? panels.whole : panels.rest;
    each_chunk(first, last, kMaxRows, [&](int index, std::size_t row) {
      products[index](panel, x + row * stride_, y + row * out_ + o);
    });
  });
}

// Copies panels of W: its columns are far apart and would evict each other from the L1 cache.
void RowLinear::input_gradient(const float* weight, const float* dy, int rows, float* dx,
                               bool accumulate) const {
  const Panels& panels = input_gradient_[accumulate];
  alignas(64) float panel[kMaxWidth * kPanel];
  each_panel(stride_, rows, [&](int i, int columns, int first, int last) {
    for (int o = 0; o < out_; ++o) {
      const float* from = weight + static_cast<std::size_t>(o) * stride_ + i;
      for (int c = 0; c < columns; c += kVec) store(panel + o * kPanel + c, load(from + c));
    }
    const Products& products = columns == kPanel ? panels.whole : panels.rest;
    each_chunk(first, last, kMaxRows, [&](int index, std::size_t row) {
      products[index](panel, dy + row * out_, dx + row * stride_ + i);
    });
  });
}

void RowLinear::add_weight_gradient(const float* x, const float* dy, int rows,
                                    float* gradient) const {
  each_chunk(0, rows, kMaxGradientRows, [&](int index, std::size_t row) {
    weight_gradient_[index](x + row * stride_, dy + row * out_, gradient);
  });
}

}  // namespace hotloop
