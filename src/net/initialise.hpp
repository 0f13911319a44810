// Initial values of y = W x + b, by name of the initialiser:
//   pytorch     W, b ~ U(-1/sqrt(in), 1/sqrt(in))                     (torch.nn.Linear's default)
//   glorot      W ~ U(-a, a), a = sqrt(6 / (in + out)), b = 0         (Glorot & Bengio 2010)
//   he          W ~ N(0, 2 / in), b = 0                               (He et al. 2015)
//   orthogonal  W with orthonormal rows or columns, times sqrt(2) where ReLU follows, b = 0
//               (Saxe et al. 2014)
//   small_world for graphs only: dag.cpp
// The file of each kind of layer says how it uses them.
#pragma once

#include <cstdint>

#include <hotloop/rng.hpp>

#include "net/options.hpp"

namespace hotloop {

// The random streams of a layer, one for each row of its weights.
struct Draws {
  std::uint64_t seed;
  std::uint32_t layer;  // its index in the structure
  int first = 0;

  Rng row(int o) const { return Rng(seed, Purpose::initialisation, layer, first + o); }
  Draws after(int rows) const { return {seed, layer, first + rows}; }
};

// y = W x (+ b) as an initialiser sees it: its shape, and where W and b are.
struct Affine {
  int in, out, fan_out, stride;
  Activation activation;
  float* weight;  // [out, stride]
  float* bias;    // [out]; null: no bias
};

void initialise(const Affine& map, Initialiser init, const Draws& draws);

}  // namespace hotloop
