// Convolutions as matrix products. In lanes the neighbours of a position within one row of the grid
// are one matrix X [3C][32], and the weights of row i of the filters one matrix W_i [out][3C], so
//
//   Z_p = sum over i of W_i X_(row of p + i - 1);   dX_(row of p + i - 1) += W_i' dZ_p,
//   dW_i += dZ_p X_(row of p + i - 1)',             db = sum over p of dZ_p
//
// for each position p in turn. Terms beyond the border are left out: filter rows above and below,
// columns of both matrices on the left and on the right.
#include "net/layers/conv.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>

#include "net/initialise.hpp"
#include "net/kernels/activation.hpp"
#include "net/kernels/product.hpp"

namespace hotloop {
namespace {

constexpr int kFilter = 3;

// Which of at - 1, at, at + 1 are within [0, extent): `count` of them from `first` on, where
// `first` has index `filter` in the filter.
struct Neighbours {
  int first, count, filter;

  Neighbours(int at, int extent)
      : first(std::max(at - 1, 0)),
        count(std::min(at + 1, extent - 1) - first + 1),
        filter(first - (at - 1)) {}
};

// One product of a position: `count` neighbours in a row of the grid, and their weights.
struct Tap {
  int position;
  int row, column;  // of the first neighbour
  int count;
  int weight;        // offset within a row of W
  bool first, last;  // whether it is the first or last of its position
};

template <class F>
void each_tap(const ConvLayer& layer, F&& visit) {
  for (int y = 0; y < layer.height; ++y) {
    const Neighbours rows(y, layer.height);
    for (int x = 0; x < layer.width; ++x) {
      const Neighbours columns(x, layer.width);
      for (int i = 0; i < rows.count; ++i) {
        visit(Tap{.position = y * layer.width + x,
                  .row = rows.first + i,
                  .column = columns.first,
                  .count = columns.count,
                  .weight = ((rows.filter + i) * kFilter + columns.filter) * layer.in,
                  .first = i == 0,
                  .last = i == rows.count - 1});
      }
    }
  }
}

// The first input feature of a tap's neighbours.
int input_of(const ConvLayer& layer, const Tap& tap) {
  return (tap.row * layer.width + tap.column) * layer.in;
}

int row_stride(const ConvLayer& layer) { return round_up(layer.width * layer.in, kLaneStep); }

class ConvKernel final : public LayerKernel {
 public:
  explicit ConvKernel(const ConvLayer& layer);
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;
  int gradient_parts() const override { return 1; }
  void add_gradient(const BackwardBlock& block, int first, int last) const override;

 private:
  // For one block width, and one number of neighbours within a row of the grid (three; two at the
  // border; one in a grid of one column): Z = W X, Z += W X, dX += W' dZ, dW += dZ X'.
  struct Products {
    Product forward, add_forward, add_input_gradient, add_weight_gradient;
  };
  const Products& products(int width, int neighbours) const {
    return products_[width / kLaneStep - 1][neighbours - 1];
  }
  void weight_gradient(const BackwardBlock& block) const;  // dy is dz

  ConvLayer layer_;
  std::array<std::array<Products, 3>, kLanes / kLaneStep> products_;  // [width / 8 - 1][count - 1]
};

ConvKernel::ConvKernel(const ConvLayer& layer) : layer_(layer) {
  for (int width = kLaneStep; width <= kLanes; width += kLaneStep) {
    for (int count = std::min(layer.width, 2); count <= std::min(layer.width, kFilter); ++count) {
      // Column-major views as in dense.cpp.
      Products& p = products_[width / kLaneStep - 1][count - 1];
      const int inputs = count * layer.in;
      ProductShape z{.m = width,
                     .n = layer.out,
                     .k = inputs,
                     .lda = kLanes,
                     .ldb = layer.stride,
                     .ldc = kLanes};
      p.forward = Product(z);
      z.accumulate = true;
      p.add_forward = Product(z);
      p.add_input_gradient = Product({.m = width,
                                      .n = inputs,
                                      .k = layer.out,
                                      .lda = kLanes,
                                      .ldb = layer.stride,
                                      .ldc = kLanes,
                                      .transpose_b = true,
                                      .accumulate = true});
      p.add_weight_gradient = Product({.m = inputs,
                                       .n = layer.out,
                                       .k = width,
                                       .lda = row_stride(layer),
                                       .ldb = kLanes,
                                       .ldc = layer.stride,
                                       .accumulate = true});
    }
  }
}

void ConvKernel::forward(const ForwardBlock& b) const {
  const float* weight = b.parameters + layer_.weight;
  each_tap(layer_, [&](const Tap& tap) {
    const Products& p = products(b.width, tap.count);
    const std::size_t at = static_cast<std::size_t>(tap.position) * layer_.out * kLanes;
    (tap.first ? p.forward : p.add_forward)(b.x + input_of(layer_, tap) * kLanes,
                                            weight + tap.weight, b.y + at);
    if (!tap.last) return;
    add_bias_and_activate(layer_.activation, b.parameters + layer_.bias, layer_.out, b.width,
                          b.y + at, b.kept == nullptr ? nullptr : b.kept + at);
  });
}

void ConvKernel::forward_one(const float* parameters, const float* x, float* y, float*) const {
  using Matrix =
      Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0,
                 Eigen::OuterStride<>>;
  each_tap(layer_, [&](const Tap& tap) {
    const int inputs = tap.count * layer_.in;
    const Matrix weight(parameters + layer_.weight + tap.weight, layer_.out, inputs,
                        Eigen::OuterStride<>(layer_.stride));
    float* at = y + tap.position * layer_.out;
    Eigen::Map<Eigen::VectorXf> z(at, layer_.out);
    if (tap.first) z.setZero();
    z.noalias() += weight * Eigen::Map<const Eigen::VectorXf>(x + input_of(layer_, tap), inputs);
    if (!tap.last) return;
    add_bias_and_activate_one(layer_.activation, parameters + layer_.bias, layer_.out, at);
  });
}

void ConvKernel::backward(const BackwardBlock& b) const {
  for (int position = 0; position < layer_.positions(); ++position) {
    const std::size_t at = static_cast<std::size_t>(position) * layer_.out * kLanes;
    backward_through_activation(
        layer_.activation, b.y + at, b.kept == nullptr ? nullptr : b.kept + at, layer_.out, b.width,
        b.dy + at, b.gradient_of(layer_.bias), b.accumulate || position > 0);
  }
  if (b.gradient != nullptr) weight_gradient(b);
  if (b.dx == nullptr) return;
  for (int f = 0; f < layer_.inputs(); ++f) std::fill_n(b.dx + f * kLanes, b.width, 0.0f);
  each_tap(layer_, [&](const Tap& tap) {
    const float* dz = b.dy + static_cast<std::size_t>(tap.position) * layer_.out * kLanes;
    products(b.width, tap.count)
        .add_input_gradient(dz, b.parameters + layer_.weight + tap.weight,
                            b.dx + input_of(layer_, tap) * kLanes);
  });
}

void ConvKernel::add_gradient(const BackwardBlock& b, int, int) const {
  for (int position = 0; position < layer_.positions(); ++position) {
    add_bias_gradient(b.dy + static_cast<std::size_t>(position) * layer_.out * kLanes, layer_.out,
                      b.width, b.gradient + layer_.bias, b.accumulate || position > 0);
  }
  weight_gradient(b);
}

void ConvKernel::weight_gradient(const BackwardBlock& b) const {
  const int stride = row_stride(layer_);
  for (int row = 0; row < layer_.height; ++row) {
    const int features = layer_.width * layer_.in;
    lanes_to_rows(b.x + row * features * kLanes, b.width, features,
                  b.scratch + row * kLanes * stride, stride);
  }
  float* gradient = b.gradient + layer_.weight;
  for (int o = 0; !b.accumulate && o < layer_.out; ++o) {
    std::fill_n(gradient + o * layer_.stride, layer_.fan_in(), 0.0f);
  }
  each_tap(layer_, [&](const Tap& tap) {
    const float* dz = b.dy + static_cast<std::size_t>(tap.position) * layer_.out * kLanes;
    products(b.width, tap.count)
        .add_weight_gradient(b.scratch + tap.row * kLanes * stride + tap.column * layer_.in, dz,
                             gradient + tap.weight);
  });
}

}  // namespace

void each_tensor(ConvLayer& layer, const TensorVisitor& visit) {
  layer.stride = padded_row(layer.fan_in());
  visit.matrix("weight", layer.weight, layer.out, layer.fan_in());
  visit.vector("bias", layer.bias, layer.out);
}

// Fan-in is the 9 * in inputs of an output, fan-out the 9 * out outputs of an input. `orthogonal`
// treats W as a matrix [out, 9 * in].
void initialise(const ConvLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  initialise(Affine{layer.fan_in(), layer.out, 9 * layer.out, layer.stride, layer.activation,
                    parameters + layer.weight, parameters + layer.bias},
             init, draws);
}

double multiply_adds(const ConvLayer& layer) {
  return 1.0 * layer.positions() * layer.fan_in() * layer.out;
}

// GELU keeps its slope. The scratch is X as rows, one grid row after the other:
// [height][kLanes][row_stride].
LayerMemory memory_of(const ConvLayer& layer) {
  return {.kept = layer.activation == Activation::gelu ? layer.outputs() : 0,
          .scratch = static_cast<std::size_t>(layer.height) * kLanes * row_stride(layer)};
}

std::shared_ptr<const LayerKernel> make_kernel(const ConvLayer& layer) {
  return std::make_shared<ConvKernel>(layer);
}

}  // namespace hotloop
