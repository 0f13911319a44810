#include "net/structure.hpp"

#include <fmt/format.h>

#include <cmath>

#include "net/lanes.hpp"

namespace hotloop {
namespace {

// Appends layers, and hands out their places in the flat array.
class Builder {
 public:
  explicit Builder(Structure& structure) : structure_(structure) {}

  void dense(int in, int out, Activation activation, bool noisy, double noisy_sigma) {
    const int stride = round_up(in, kLaneStep);
    DenseLayer layer{.in = in, .out = out, .stride = stride, .activation = activation};
    layer.weight = matrix(out, in, stride);
    layer.bias = vector(out);
    if (noisy) {
      layer.noisy = true;
      layer.weight_sigma = matrix(out, in, stride);
      layer.bias_sigma = vector(out);
      layer.initial_sigma = static_cast<float>(noisy_sigma / std::sqrt(in));
    }
    structure_.layers.emplace_back(layer);
  }

  void norm(int width, Activation activation) {
    NormLayer layer{.width = width, .activation = activation};
    layer.scale = vector(width);
    layer.shift = vector(width);
    structure_.layers.emplace_back(layer);
  }

  void dueling(int actions, int atoms) {
    structure_.layers.emplace_back(DuelingLayer{.actions = actions, .atoms = atoms});
  }

 private:
  std::size_t matrix(int rows, int columns, int stride) {
    structure_.parameters += static_cast<std::size_t>(rows) * columns;
    return take(static_cast<std::size_t>(rows) * stride);
  }
  std::size_t vector(int size) {
    structure_.parameters += size;
    return take(size);
  }
  std::size_t take(std::size_t floats) {
    constexpr std::size_t kFloatsPerLine = 16;  // tensors start on cache lines
    const std::size_t offset = structure_.storage;
    structure_.storage += (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
    return offset;
  }

  Structure& structure_;
};

std::vector<TensorInfo> tensors_of(const DenseLayer& layer) {
  std::vector<TensorInfo> list = {{"weight", layer.weight, layer.out, layer.in, layer.stride},
                                  {"bias", layer.bias, 1, layer.out, 0}};
  if (layer.noisy) {
    list.push_back({"weight_sigma", layer.weight_sigma, layer.out, layer.in, layer.stride});
    list.push_back({"bias_sigma", layer.bias_sigma, 1, layer.out, 0});
  }
  return list;
}

std::vector<TensorInfo> tensors_of(const NormLayer& layer) {
  return {{"scale", layer.scale, 1, layer.width, 0}, {"shift", layer.shift, 1, layer.width, 0}};
}

std::vector<TensorInfo> tensors_of(const DuelingLayer&) { return {}; }

}  // namespace

Structure make_mlp(int inputs, int actions, const NetOptions& options, int atoms) {
  Structure structure{.inputs = inputs, .outputs = actions * atoms, .layers = {}};
  Builder add(structure);
  int width = inputs;
  for (const int hidden : options.hidden) {
    add.dense(width, hidden, options.layer_norm ? Activation::linear : options.activation,
              options.noisy == Noisy::all, options.noisy_sigma);
    if (options.layer_norm) add.norm(hidden, options.activation);
    width = hidden;
  }
  add.dense(width, (options.dueling ? 1 + actions : actions) * atoms, Activation::linear,
            options.noisy != Noisy::none, options.noisy_sigma);
  if (options.dueling) add.dueling(actions, atoms);
  return structure;
}

std::vector<TensorInfo> tensors(const Structure& structure) {
  std::vector<TensorInfo> all;
  for (std::size_t i = 0; i < structure.layers.size(); ++i) {
    for (TensorInfo& tensor :
         std::visit([](const auto& layer) { return tensors_of(layer); }, structure.layers[i])) {
      tensor.name = fmt::format("layer{}.{}", i, tensor.name);
      all.push_back(std::move(tensor));
    }
  }
  return all;
}

std::string Structure::describe() const {
  std::vector<DenseLayer> dense;
  const NormLayer* norm = nullptr;
  bool dueling = false;
  for (const Layer& layer : layers) {
    if (const auto* d = std::get_if<DenseLayer>(&layer)) dense.push_back(*d);
    if (const auto* n = std::get_if<NormLayer>(&layer)) norm = n;
    dueling |= std::holds_alternative<DuelingLayer>(layer);
  }
  std::string text = fmt::format("{}", inputs);
  for (std::size_t i = 0; i + 1 < dense.size(); ++i) text += fmt::format("-{}", dense[i].out);
  text += fmt::format("-{}", outputs);
  if (dense.size() > 1) {
    const Activation hidden = norm != nullptr ? norm->activation : dense[0].activation;
    text += fmt::format(" {}", kActivationNames[static_cast<int>(hidden)]);
  }
  if (norm != nullptr) text += ", layer norm";
  if (dueling) text += ", dueling";
  if (dense.back().noisy) text += dense[0].noisy ? ", noisy" : ", noisy head";
  return text + fmt::format(", {} parameters", parameters);
}

}  // namespace hotloop
