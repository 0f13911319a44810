// The structure of a network: layers and shapes, immutable, and where each tensor lies in the flat
// parameter array.
//
// All parameters of a network are one aligned array of floats. A target copy is a memcpy, an
// optimiser step one loop, an all-reduce one call. Weights are [out, in] with rows padded to a
// multiple of 8 floats; the padding is zero, has zero gradient, and so stays zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "net/options.hpp"

namespace hotloop {

// y = act(W x + b)
struct DenseLayer {
  int in = 0;
  int out = 0;
  int stride = 0;  // floats from one row of W to the next: `in` rounded up to 8
  Activation activation = Activation::linear;
  std::size_t weight = 0;  // offset of W [out, stride] in the flat array
  std::size_t bias = 0;    // offset of b [out]
};

struct Structure {
  int inputs = 0;
  int outputs = 0;
  std::vector<DenseLayer> layers;
  std::size_t storage = 0;     // floats in the flat array, padding included
  std::size_t parameters = 0;  // real parameters

  bool operator==(const Structure&) const = default;
  std::string describe() const;  // "4-64-64-2 relu, 4,610 parameters"
};
inline bool operator==(const DenseLayer& a, const DenseLayer& b) {
  return a.in == b.in && a.out == b.out && a.activation == b.activation;
}

Structure make_mlp(int inputs, int outputs, const NetOptions& options);

// Fills `parameters` (structure.storage floats) from the stream of (seed, initialisation).
void initialise(const Structure& structure, Initialiser init, std::uint64_t seed,
                std::span<float> parameters);

}  // namespace hotloop
