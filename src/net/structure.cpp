#include "net/structure.hpp"

#include <fmt/format.h>

#include "net/lanes.hpp"

namespace hotloop {

Structure make_mlp(int inputs, int outputs, const NetOptions& options) {
  constexpr std::size_t kFloatsPerLine = 16;  // tensors start on cache lines
  Structure s{.inputs = inputs, .outputs = outputs, .layers = {}};
  const auto take = [&s](std::size_t floats) {
    const std::size_t offset = s.storage;
    s.storage += (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
    return offset;
  };
  const auto add = [&](int in, int out, Activation activation) {
    const int stride = round_up(in, kLaneStep);
    const std::size_t weight = take(static_cast<std::size_t>(out) * stride);
    const std::size_t bias = take(out);
    s.layers.push_back({in, out, stride, activation, weight, bias});
    s.parameters += static_cast<std::size_t>(out) * (in + 1);
  };
  int width = inputs;
  for (int hidden : options.hidden) {
    add(width, hidden, options.activation);
    width = hidden;
  }
  add(width, outputs, Activation::linear);
  return s;
}

std::string Structure::describe() const {
  std::string text = fmt::format("{}", inputs);
  for (const DenseLayer& layer : layers) text += fmt::format("-{}", layer.out);
  if (layers.size() > 1) {
    text += fmt::format(" {}", kActivationNames[static_cast<int>(layers[0].activation)]);
  }
  return text + fmt::format(", {} parameters", parameters);
}

}  // namespace hotloop
