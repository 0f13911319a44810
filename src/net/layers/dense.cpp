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

class DenseKernel final : public LayerKernel {
 public:
  explicit DenseKernel(const DenseLayer& layer);
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;

 private:
  // For one block width: Z = W X, dX = W' dZ, dW = dZ X', dW += dZ X'. The gradient of W is
  // computed in panels of inputs, so that a panel of X stays in the L1 cache while all of dZ is
  // read.
  struct WeightGradient {
    Product set, add;
  };
  struct Products {
    Product forward, input_gradient;
    WeightGradient panel, rest;
  };
  const Products& products(int width) const { return products_[width / kLaneStep - 1]; }

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
    const auto weight_gradient = [&](int inputs) -> WeightGradient {
      ProductShape dw{.m = inputs,
                      .n = layer.out,
                      .k = width,
                      .lda = layer.stride,
                      .ldb = kLanes,
                      .ldc = layer.stride};
      if (inputs == 0) return {};
      const Product set(dw);
      dw.accumulate = true;
      return {set, Product(dw)};
    };
    if (layer.stride >= kPanel) p.panel = weight_gradient(kPanel);
    p.rest = weight_gradient(layer.stride % kPanel);
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
    if (b.gradient != nullptr) {
      lanes_to_rows(b.x + in, b.width, layer_.in, b.scratch, layer_.stride);
      for (int i = 0; i < layer_.stride; i += kPanel) {
        const WeightGradient& dw = i + kPanel <= layer_.stride ? p.panel : p.rest;
        (add ? dw.add : dw.set)(b.scratch + i, dz, b.gradient + layer_.weight + i);
      }
    }
    if (b.dx != nullptr) p.input_gradient(dz, b.parameters + layer_.weight, b.dx + in);
  }
  // The gradients of the stds follow from those of W and b: noise.hpp.
  if (layer_.noisy && !b.accumulate && b.gradient != nullptr) {
    std::fill_n(b.gradient + layer_.weight_sigma,
                static_cast<std::size_t>(layer_.out) * layer_.stride, 0.0f);
    std::fill_n(b.gradient + layer_.bias_sigma, layer_.out, 0.0f);
  }
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
          .scratch = static_cast<std::size_t>(kLanes) * layer.stride};
}

std::shared_ptr<const LayerKernel> make_kernel(const DenseLayer& layer) {
  return std::make_shared<DenseKernel>(layer);
}

}  // namespace hotloop
