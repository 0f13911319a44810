#include "net/network.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <utility>

#include "net/activation.hpp"

namespace hotloop {

Plan::Plan(Structure structure)
    : structure_(std::move(structure)), products_(structure_.layers.size()) {
  for (std::size_t l = 0; l < products_.size(); ++l) {
    const DenseLayer& layer = structure_.layers[l];
    for (int i = 0; i < kWidths; ++i) {
      const int width = (i + 1) * kLaneStep;
      LayerProducts& p = products_[l][i];
      // Column-major views: lanes [D][32] are 32 x D; W [out, stride] is stride x out; rows
      // [32][stride] are stride x 32.
      p.forward = Product({.m = width,
                           .n = layer.out,
                           .k = layer.in,
                           .lda = kLanes,
                           .ldb = layer.stride,
                           .ldc = kLanes});
      ProductShape dw{.m = layer.stride,
                      .n = layer.out,
                      .k = width,
                      .lda = layer.stride,
                      .ldb = kLanes,
                      .ldc = layer.stride};
      p.weight_gradient = Product(dw);
      dw.accumulate = true;
      p.add_weight_gradient = Product(dw);
      if (l == 0) continue;  // nobody asks for the gradient of the observation
      p.input_gradient = Product({.m = width,
                                  .n = layer.in,
                                  .k = layer.out,
                                  .lda = kLanes,
                                  .ldb = layer.stride,
                                  .ldc = kLanes,
                                  .transpose_b = true});
    }
  }
}

Workspace::Workspace(const Structure& structure, int capacity, Use use)
    : capacity_(capacity), use_(use) {
  const std::size_t blocks = block_count(capacity);
  const auto level = [&](int features) {
    const std::size_t block_floats = static_cast<std::size_t>(features) * kLanes;
    return Level{arena_.take<float>(block_floats * blocks).data(), block_floats};
  };
  lanes_.push_back(level(structure.inputs));
  slope_.emplace_back();
  int widest = 0;
  int widest_out = 0;
  for (const DenseLayer& layer : structure.layers) {
    lanes_.push_back(level(layer.out));
    const bool keeps_slope = use == Use::training && layer.activation == Activation::gelu;
    slope_.push_back(keeps_slope ? level(layer.out) : Level{});
    widest = std::max(widest, layer.in);
    widest_out = std::max(widest_out, layer.out);
  }
  for (auto& column : column_)
    column = arena_.take<float>(round_up(std::max(widest, widest_out), kLaneStep));
  if (use == Use::inference) return;
  gradient_ = level(structure.outputs);
  for (const DenseLayer& layer : structure.layers) {
    rows_.push_back(arena_.take<float>(static_cast<std::size_t>(kLanes) * layer.stride));
  }
  for (auto& delta : delta_) delta = arena_.take<float>(static_cast<std::size_t>(widest) * kLanes);
}

namespace {

// A single sample (one environment that acts) is a matrix-vector product per layer: the lane
// kernels would spend seven eighths of their work on padding. The result stands in lane 0.
void forward_one(const Structure& net, std::span<const float> parameters, const float* row,
                 Workspace& workspace) {
  using Matrix =
      Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0,
                 Eigen::OuterStride<>>;
  float* x = workspace.column(0);
  float* z = workspace.column(1);
  std::copy_n(row, net.inputs, x);
  for (int l = 0; l < static_cast<int>(net.layers.size()); ++l) {
    const DenseLayer& layer = net.layers[l];
    const Matrix weight(&parameters[layer.weight], layer.out, layer.in,
                        Eigen::OuterStride<>(layer.stride));
    Eigen::Map<Eigen::VectorXf>(z, layer.out).noalias() =
        weight * Eigen::Map<const Eigen::VectorXf>(x, layer.in);
    float* y = workspace.lanes(l + 1, 0);
    for (int o = 0; o < layer.out; ++o) y[o * kLanes] = z[o];
    add_bias_and_activate(layer.activation, &parameters[layer.bias], layer.out, kLaneStep, y,
                          nullptr);
    for (int o = 0; o < layer.out; ++o) x[o] = y[o * kLanes];
  }
}

}  // namespace

void forward(const Plan& plan, std::span<const float> parameters, const float* rows, int batch,
             int first, int last, Workspace& workspace) {
  const Structure& net = plan.structure();
  if (batch == 1 && workspace.use() == Use::inference) {
    forward_one(net, parameters, rows, workspace);
    return;
  }
  for (int block = first; block < last; ++block) {
    const int width = block_width(batch, block);
    const int row = block * kLanes;
    rows_to_lanes(rows + static_cast<std::size_t>(row) * net.inputs, net.inputs,
                  std::min(kLanes, batch - row), net.inputs, workspace.lanes(0, block));
    for (int l = 0; l < static_cast<int>(net.layers.size()); ++l) {
      const DenseLayer& layer = net.layers[l];
      float* y = workspace.lanes(l + 1, block);
      plan.forward(l, width)(workspace.lanes(l, block), &parameters[layer.weight], y);
      add_bias_and_activate(layer.activation, &parameters[layer.bias], layer.out, width, y,
                            workspace.slope(l + 1, block));
    }
  }
}

void backward(const Plan& plan, std::span<const float> parameters, int batch, Workspace& workspace,
              std::span<float> gradient) {
  const Structure& net = plan.structure();
  for (int block = 0; block < block_count(batch); ++block) {
    const int width = block_width(batch, block);
    const bool accumulate = block > 0;
    float* d = workspace.output_gradient(block);
    for (int l = static_cast<int>(net.layers.size()) - 1; l >= 0; --l) {
      const DenseLayer& layer = net.layers[l];
      // dZ = dY * act'(Z), db = sum dZ
      backward_through_activation(layer.activation, workspace.lanes(l + 1, block),
                                  workspace.slope(l + 1, block), layer.out, width, d,
                                  &gradient[layer.bias], accumulate);
      // dW = dZ X'
      lanes_to_rows(workspace.lanes(l, block), width, layer.in, workspace.rows(l), layer.stride);
      plan.weight_gradient(l, width, accumulate)(workspace.rows(l), d, &gradient[layer.weight]);
      if (l == 0) break;
      // dX = W' dZ
      float* dx = workspace.delta(l % 2);
      plan.input_gradient(l, width)(d, &parameters[layer.weight], dx);
      d = dx;
    }
  }
}

}  // namespace hotloop
