// Dense layers, for each row of a sample: Y = act(W X + b); dZ = dY act'(Z), db = sum dZ,
// dW = dZ X', dX = W' dZ.
#include "net/layers/dense.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>

#include "net/initialise.hpp"
#include "net/kernels/activation.hpp"
#include "net/kernels/product.hpp"

namespace hotloop {
namespace {

constexpr int kPanel = 256;  // inputs; 32 KiB with 32 lanes
constexpr int kSlice = 32;   // outputs

class DenseKernel final : public LayerKernel {
 public:
  explicit DenseKernel(const DenseLayer& layer);
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;
  int gradient_parts() const override { return (layer_.out + kSlice - 1) / kSlice; }
  void add_gradient(const BackwardBlock& block, int first, int last) const override;

 private:
  // For one block width: Z = W X, dX = W' dZ, dW = dZ X', dW += dZ X'. The gradient of W is
  // computed in panels of inputs, so that a panel of X stays in the L1 cache while dZ is read, and
  // in slices of outputs, which threads can share.
  struct WeightGradient {
    Product set, add;
  };
  struct Products {
    Product forward, input_gradient;
    WeightGradient weight_gradient[2][2];  // [last panel][last slice], if that is smaller
  };
  const Products& products(int width) const { return products_[width / kLaneStep - 1]; }
  float* transpose(const BackwardBlock& block, int row) const;
  void add_weight_gradient(const BackwardBlock& block, const float* x, int row, int first,
                           int last) const;
  void clear_stds(const BackwardBlock& block) const;

  DenseLayer layer_;
  std::array<Products, kLanes / kLaneStep> products_;  // [width / 8 - 1]
};

DenseKernel::DenseKernel(const DenseLayer& layer) : layer_(layer) {
  for (std::size_t i = 0; i < products_.size(); ++i) {
    const int width = static_cast<int>(i + 1) * kLaneStep;
    // Column-major views: lanes [D][32] are 32 x D; W [out, stride] is stride x out; rows
    // [32][stride] are stride x 32.
    Products& p = products_[i];
    p.forward = Product({.m = width,
                         .n = layer.out,
                         .k = layer.in,
                         .lda = kLanes,
                         .ldb = layer.stride,
                         .ldc = kLanes});
    p.input_gradient = Product({.m = width,
                                .n = layer.in,
                                .k = layer.out,
                                .lda = kLanes,
                                .ldb = layer.stride,
                                .ldc = kLanes,
                                .transpose_b = true});
    const auto weight_gradient = [&](int inputs, int outputs) -> WeightGradient {
      if (inputs == 0 || outputs == 0) return {};
      ProductShape dw{.m = inputs,
                      .n = outputs,
                      .k = width,
                      .lda = layer.stride,
                      .ldb = kLanes,
                      .ldc = layer.stride};
      const Product set(dw);
      dw.accumulate = true;
      return {set, Product(dw)};
    };
    const int panels[] = {layer.stride < kPanel ? 0 : kPanel, layer.stride % kPanel};
    const int slices[] = {layer.out < kSlice ? 0 : kSlice, layer.out % kSlice};
    for (int a = 0; a < 2; ++a) {
      for (int c = 0; c < 2; ++c) p.weight_gradient[a][c] = weight_gradient(panels[a], slices[c]);
    }
  }
}

void DenseKernel::forward(const ForwardBlock& b) const {
  for (int row = 0; row < layer_.rows; ++row) {
    float* y = b.y + row * layer_.out * kLanes;
    products(b.width).forward(b.x + row * layer_.in * kLanes, b.parameters + layer_.weight, y);
    add_bias_and_activate(layer_.activation, b.parameters + layer_.bias, layer_.out, b.width, y,
                          b.kept == nullptr ? nullptr : b.kept + row * layer_.out * kLanes);
  }
}

void DenseKernel::forward_one(const float* parameters, const float* x, float* y, float*) const {
  using Matrix =
      Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0,
                 Eigen::OuterStride<>>;
  const Matrix weight(parameters + layer_.weight, layer_.out, layer_.in,
                      Eigen::OuterStride<>(layer_.stride));
  for (int row = 0; row < layer_.rows; ++row, x += layer_.in, y += layer_.out) {
    Eigen::Map<Eigen::VectorXf>(y, layer_.out).noalias() =
        weight * Eigen::Map<const Eigen::VectorXf>(x, layer_.in);
    add_bias_and_activate_one(layer_.activation, parameters + layer_.bias, layer_.out, y);
  }
}

void DenseKernel::backward(const BackwardBlock& b) const {
  const Products& p = products(b.width);
  for (int row = 0; row < layer_.rows; ++row) {
    const int in = row * layer_.in * kLanes, out = row * layer_.out * kLanes;
    const bool add = b.accumulate || row > 0;
    float* dz = b.dy + out;
    backward_through_activation(layer_.activation, b.y + out,
                                b.kept == nullptr ? nullptr : b.kept + out, layer_.out, b.width, dz,
                                b.gradient_of(layer_.bias), add);
    if (b.gradient != nullptr || b.rows != nullptr) {
      const float* x = transpose(b, row);
      if (b.gradient != nullptr) add_weight_gradient(b, x, row, 0, gradient_parts());
    }
    if (b.dx != nullptr) p.input_gradient(dz, b.parameters + layer_.weight, b.dx + in);
  }
  if (b.gradient != nullptr) clear_stds(b);
}

void DenseKernel::add_gradient(const BackwardBlock& b, int first, int last) const {
  const int begin = first * kSlice, end = std::min(last * kSlice, layer_.out);
  for (int row = 0; row < layer_.rows; ++row) {
    add_bias_gradient(b.dy + (row * layer_.out + begin) * kLanes, end - begin, b.width,
                      b.gradient + layer_.bias + begin, b.accumulate || row > 0);
    add_weight_gradient(b, b.rows + static_cast<std::size_t>(row) * kLanes * layer_.stride, row,
                        first, last);
  }
  if (first == 0) clear_stds(b);
}

// X' [width][stride] for one row of x.
float* DenseKernel::transpose(const BackwardBlock& b, int row) const {
  const std::size_t at = static_cast<std::size_t>(row * kLanes + b.lane) * layer_.stride;
  float* x = b.rows == nullptr ? b.scratch : b.rows + at;
  lanes_to_rows(b.x + row * layer_.in * kLanes, b.width, layer_.in, x, layer_.stride);
  return x;
}

// dW (+)= dZ X' for one row of x and slices [first, last) of outputs.
void DenseKernel::add_weight_gradient(const BackwardBlock& b, const float* x, int row, int first,
                                      int last) const {
  const float* dz = b.dy + row * layer_.out * kLanes;
  const bool add = b.accumulate || row > 0;
  for (int i = 0; i < layer_.stride; i += kPanel) {
    for (int o = first * kSlice; o < std::min(last * kSlice, layer_.out); o += kSlice) {
      const WeightGradient& dw =
          products(b.width).weight_gradient[i + kPanel > layer_.stride][o + kSlice > layer_.out];
      (add ? dw.add : dw.set)(x + i, dz + o * kLanes,
                              b.gradient + layer_.weight + o * layer_.stride + i);
    }
  }
}

// The gradients of the stds follow from those of W and b: noise.hpp.
void DenseKernel::clear_stds(const BackwardBlock& b) const {
  if (!layer_.noisy || b.accumulate) return;
  std::fill_n(b.gradient + layer_.weight_sigma,
              static_cast<std::size_t>(layer_.out) * layer_.stride, 0.0f);
  std::fill_n(b.gradient + layer_.bias_sigma, layer_.out, 0.0f);
}

}  // namespace

void each_tensor(DenseLayer& layer, const TensorVisitor& visit) {
  layer.stride = padded_row(layer.in);
  visit.matrix("weight", layer.weight, layer.out, layer.in);
  visit.vector("bias", layer.bias, layer.out);
  if (!layer.noisy) return;
  visit.matrix("weight_sigma", layer.weight_sigma, layer.out, layer.in);
  visit.vector("bias_sigma", layer.bias_sigma, layer.out);
}

// The gain multiplies the weights, and the bias if that is drawn. Noisy layers start as in
// Fortunato et al. 2018 with any initialiser: means as `pytorch`, stds at a constant.
void initialise(const DenseLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  initialise(Affine{layer.in, layer.out, layer.out, layer.stride, layer.activation,
                    parameters + layer.weight, parameters + layer.bias},
             layer.noisy ? Initialiser::pytorch : init, draws);
  if (layer.gain != 1) {
    const auto scale = [&](float& value) { value *= layer.gain; };
    std::for_each_n(parameters + layer.weight, layer.out * layer.stride, scale);
    std::for_each_n(parameters + layer.bias, layer.out, scale);
  }
  if (!layer.noisy) return;
  for (int o = 0; o < layer.out; ++o) {
    std::fill_n(parameters + layer.weight_sigma + static_cast<std::size_t>(o) * layer.stride,
                layer.in, layer.initial_sigma);
  }
  std::fill_n(parameters + layer.bias_sigma, layer.out, layer.initial_sigma);
}

double multiply_adds(const DenseLayer& layer) { return 1.0 * layer.rows * layer.in * layer.out; }

// GELU keeps its slope. The scratch is one row of x of each sample, [kLanes][stride]; its
// padding is never written and stays zero.
LayerMemory memory_of(const DenseLayer& layer) {
  return {.kept = layer.activation == Activation::gelu ? layer.outputs() : 0,
          .scratch = static_cast<std::size_t>(kLanes) * layer.stride,
          .rows = layer.rows * layer.stride};
}

std::shared_ptr<const LayerKernel> make_kernel(const DenseLayer& layer) {
  return std::make_shared<DenseKernel>(layer);
}

}  // namespace hotloop
