#include "net/structure_builder.hpp"

#include <cmath>

namespace hotloop {
namespace {

// Places the trained tensors of a layer, or its statistics.
class PlaceTensors final : public TensorVisitor {
 public:
  PlaceTensors(Structure& structure, bool statistics)
      : structure_(structure), statistics_(statistics) {}

  void matrix(const std::string&, std::size_t& offset, int rows, int columns) const override {
    if (statistics_) return;
    structure_.parameters += static_cast<std::size_t>(rows) * columns;
    offset = take(static_cast<std::size_t>(rows) * padded_row(columns));
  }
  void vector(const std::string&, std::size_t& offset, int size) const override {
    if (statistics_) return;
    structure_.parameters += size;
    offset = take(size);
  }
  void statistic(const std::string&, std::size_t& offset, int size, const Limits&) const override {
    if (statistics_) offset = take(size);
  }

 private:
  std::size_t take(std::size_t floats) const {
    constexpr std::size_t kFloatsPerLine = 16;  // tensors start on cache lines
    const std::size_t offset = structure_.storage;
    structure_.storage += (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
    return offset;
  }

  Structure& structure_;
  bool statistics_;
};

void place_tensors(Structure& structure) {
  structure.storage = structure.parameters = 0;
  for (const bool statistics : {false, true}) {
    for (Layer& layer : structure.layers)
      std::visit([&](auto& kind) { each_tensor(kind, PlaceTensors(structure, statistics)); },
                 layer);
    if (!statistics) structure.trainable = structure.storage;
  }
}

}  // namespace

void StructureBuilder::add(Layer layer, int from, int to) {
  structure_.layers.push_back(std::move(layer));
  structure_.places.push_back({from, to});
  place_tensors(structure_);
}

int StructureBuilder::add(Layer layer, int from) {
  const int to = take_features(outputs_of(layer));
  add(std::move(layer), from, to);
  return to;
}

DenseLayer dense_layer(const NetOptions& options, int in, int out, Activation activation,
                       bool noisy) {
  DenseLayer layer{.in = in, .out = out, .activation = activation, .noisy = noisy};
  if (noisy) layer.initial_sigma = static_cast<float>(options.noisy_sigma / std::sqrt(in));
  return layer;
}

}  // namespace hotloop
