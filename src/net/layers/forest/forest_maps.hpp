// The linear maps of a forest layer over packed rows, and their backward passes.
#pragma once

#include <algorithm>

#include "net/kernels/row_linear.hpp"
#include "net/layers/forest/forest_pack.hpp"
#include "net/layers/forest/forest_places.hpp"
#include "net/layers/forest/row_maths.hpp"

namespace hotloop {

inline void add_to_rows(const float* row, int rows, int width, float* to) {
  for (int r = 0; r < rows; ++r) add_row(row, width, to + static_cast<std::size_t>(r) * width);
}

inline void add_up_rows(const float* from, int rows, int width, float* sum) {
  for (int r = 0; r < rows; ++r) add_row(from + static_cast<std::size_t>(r) * width, width, sum);
}

// Y = out(norm(GELU(in(features)))), for rows of features.
struct EmbeddingMaps {
  const ForestLayer::Embedding& layer;
  const RowLinear &in, &out;

  // `hidden` [rows][width] is a buffer; it may be keep.n if that is not kept.
  void forward(const float* p, const float* features, int rows, const NormRows<float>& keep,
               float* hidden, float* y) const {
    const int width = layer.norm.width;
    in.forward(p + layer.in.weight, features, rows, keep.n, false);
    for (int r = 0; r < rows; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * width;
      add_row(p + layer.in.bias, width, keep.n + at);
      gelu_row(width, keep.n + at, keep.slope == nullptr ? nullptr : keep.slope + at);
      const float inverse = normalise_row(layer.norm, p, keep.n + at, hidden + at);
      if (keep.inverse != nullptr) keep.inverse[r] = inverse;
    }
    out.forward(p + layer.out.weight, hidden, rows, y, false);
    add_to_rows(p + layer.out.bias, rows, width, y);
  }

  // Given dy [rows][width], adds to the gradient of the parameters, and writes that of the features
  // [rows][in.stride]; null: not wanted.
  void backward(const float* p, const float* features, int rows, const NormRows<const float>& kept,
                const float* dy, float* hidden, float* gradient, float* dfeatures) const {
    const int width = layer.norm.width;
    const float *scale = p + layer.norm.scale, *shift = p + layer.norm.shift;
    if (gradient != nullptr) {
      add_up_rows(dy, rows, width, gradient + layer.out.bias);
      for (int r = 0; r < rows; ++r) {  // recomputes the input of `out`
        const std::size_t at = static_cast<std::size_t>(r) * width;
        for (int i = 0; i < width; i += kVec)
          store(hidden + at + i,
                multiply_add(load(scale + i), load(kept.n + at + i), load(shift + i)));
      }
      out.add_weight_gradient(hidden, dy, rows, gradient + layer.out.weight);
    }
    out.input_gradient(p + layer.out.weight, dy, rows, hidden, false);
    for (int r = 0; r < rows; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * width;
      normalise_row_backward(layer.norm, p, kept.n + at, kept.inverse[r], hidden + at, gradient);
      multiply_row(kept.slope + at, width, hidden + at);
    }
    if (gradient != nullptr) {
      add_up_rows(hidden, rows, width, gradient + layer.in.bias);
      in.add_weight_gradient(features, hidden, rows, gradient + layer.in.weight);
    }
    if (dfeatures != nullptr)
      in.input_gradient(p + layer.in.weight, hidden, rows, dfeatures, false);
  }
};

// The first tokens of unit rows: the columns of the node map, and its bias.
inline void unit_tokens(const ForestLayer& layer, const float* p, float* units) {
  const int width = layer.width;
  const DenseLayer& node = layer.node;
  std::fill_n(units, unit_rows(layer) * width, 0.0f);
  for (int o = 0; o < width; ++o) {
    for (int f = 0; f < node.in; ++f) units[f * width + o] = p[node.weight + o * node.stride + f];
  }
  std::copy_n(p + node.bias, width, units + node.in * width);
}

inline void add_unit_gradient(const ForestLayer& layer, const float* d, float* gradient) {
  const int width = layer.width;
  const DenseLayer& node = layer.node;
  for (int o = 0; o < width; ++o) {
    for (int f = 0; f < node.in; ++f)
      gradient[node.weight + o * node.stride + f] += d[f * width + o];
  }
  add_row(d + node.in * width, width, gradient + node.bias);
}

// A map of the first round for all nodes: y = map(x), or x + map(x) if it is residual.
struct UnitMap {
  const ForestLayer& layer;
  const DenseLayer& map;
  bool residual;
  const RowLinear& square;
  const RowLinear& from_features;  // its input gradient weights the units by features
  const float* units;

  // The map of the units, [unit_rows][width].
  void map_units(const float* p, float* mapped) const {
    square.forward(p + map.weight, units, unit_rows(layer), mapped, false);
    if (residual) add_row(units, unit_rows(layer) * layer.width, mapped);
    add_row(p + map.bias, layer.width, mapped + layer.node.in * layer.width);
  }

  // `mapped` [unit_rows][width] is a buffer.
  void forward(const float* p, const float* features, int rows, float* mapped, float* y) const {
    map_units(p, mapped);
    from_features.input_gradient(mapped, features, rows, y, false);
  }

  // The gradient of the features [rows][unit_rows], given dy [rows][width].
  void feature_gradient(const float* p, const float* dy, int rows, float* mapped, float* dfeatures,
                        bool accumulate) const {
    map_units(p, mapped);
    from_features.forward(mapped, dy, rows, dfeatures, accumulate);
  }

  // Adds to the gradient of the weights and to that of the units.
  void backward(const float* p, const float* features, int rows, const float* dy, float* dmapped,
                float* dunits, float* gradient) const {
    const int size = unit_rows(layer) * layer.width;
    std::fill_n(dmapped, size, 0.0f);
    from_features.add_weight_gradient(dy, features, rows, dmapped);
    if (residual) add_row(dmapped, size, dunits);
    square.add_weight_gradient(units, dmapped, unit_rows(layer), gradient + map.weight);
    square.input_gradient(p + map.weight, dmapped, unit_rows(layer), dunits, true);
  }
};

}  // namespace hotloop
