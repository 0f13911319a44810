// A convolution of 3 x 3 filters over a grid, zero-padded, stride 1:
//   y[r, s, o] = act(b[o] + sum over i, j, c of W[o, i, j, c] x[r + i - 1, s + j - 1, c]).
// Features are channel-last, (row * width + column) * channels + channel, in and out: the three
// neighbours within a row are contiguous, and so are their weights in a row of W.
#pragma once

#include "net/layers/layer.hpp"

namespace hotloop {

struct ConvLayer {
  int height = 0;
  int width = 0;
  int in = 0;      // channels
  int out = 0;     // channels
  int stride = 0;  // floats from one row of W to the next: padded_row(9 * in)
  Activation activation = Activation::linear;
  std::size_t weight = 0;  // offset of W [out, stride], a row being [3, 3, in]
  std::size_t bias = 0;    // offset of b [out]

  int positions() const { return height * width; }
  int fan_in() const { return 9 * in; }
  int inputs() const { return positions() * in; }
  int outputs() const { return positions() * out; }
  bool operator==(const ConvLayer&) const = default;
};

void each_tensor(ConvLayer& layer, const TensorVisitor& visit);
void initialise(const ConvLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const ConvLayer& layer);
LayerMemory memory_of(const ConvLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const ConvLayer& layer);

}  // namespace hotloop
