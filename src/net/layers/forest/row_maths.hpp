// Operations on single rows [width] between products, where width is a multiple of 8: the formulas
// of norm.cpp and of GELU on contiguous rows.
#pragma once

#include <Eigen/Core>
#include <cmath>

#include "core/cpu/vec.hpp"
#include "net/kernels/gelu.hpp"
#include "net/layers/norm.hpp"

namespace hotloop {

inline void add_row(const float* from, int width, float* to) {
  for (int i = 0; i < width; i += kVec) store(to + i, load(to + i) + load(from + i));
}

// Sums over a row: f(i, sum) adds the kVec numbers from i on. Four independent sums, so that an
// addition does not wait for the previous one.
template <class F>
float sum_over_row(int width, F&& f) {
  Vec a = {}, b = {}, c = {}, d = {};
  int i = 0;
  for (; i + 4 * kVec <= width; i += 4 * kVec) {
    f(i, a);
    f(i + kVec, b);
    f(i + 2 * kVec, c);
    f(i + 3 * kVec, d);
  }
  for (; i < width; i += kVec) f(i, a);
  return sum((a + b) + (c + d));
}

// u becomes n = (u - mean) / sqrt(variance + 1e-5), y = scale n + shift (y may be u). Returns
// 1 / sqrt(variance + 1e-5).
inline float normalise_row(const NormLayer& norm, const float* parameters, float* u, float* y) {
  const auto count = static_cast<float>(norm.width);
  const Vec mean =
      broadcast(sum_over_row(norm.width, [&](int i, Vec& total) { total += load(u + i); }) / count);
  const float squares = sum_over_row(norm.width, [&](int i, Vec& total) {
    const Vec centred = load(u + i) - mean;
    total = multiply_add(centred, centred, total);
  });
  const float inverse = 1.0f / std::sqrt(squares / count + kNormEpsilon);
  for (int i = 0; i < norm.width; i += kVec) {
    const Vec n = (load(u + i) - mean) * inverse;
    store(u + i, n);
    const Vec scale = load(parameters + norm.scale + i), shift = load(parameters + norm.shift + i);
    store(y + i, multiply_add(scale, n, shift));
  }
  return inverse;
}

// dy becomes du; adds to the gradients of scale and shift, unless `gradient` is null.
inline void normalise_row_backward(const NormLayer& norm, const float* parameters, const float* n,
                                   float inverse, float* d, float* gradient) {
  const auto count = static_cast<float>(norm.width);
  Vec total = {}, total_n = {};  // of g = scale dy, and of g n
  for (int i = 0; i < norm.width; i += kVec) {
    const Vec dy = load(d + i), normal = load(n + i);
    if (gradient != nullptr) {
      float *dscale = gradient + norm.scale + i, *dshift = gradient + norm.shift + i;
      store(dscale, multiply_add(dy, normal, load(dscale)));
      store(dshift, load(dshift) + dy);
    }
    const Vec g = load(parameters + norm.scale + i) * dy;
    store(d + i, g);
    total += g;
    total_n = multiply_add(g, normal, total_n);
  }
  const Vec mean = broadcast(sum(total) / count), mean_n = broadcast(sum(total_n) / count);
  for (int i = 0; i < norm.width; i += kVec)
    store(d + i, (load(d + i) - mean - load(n + i) * mean_n) * inverse);
}

// z becomes GELU(z); `slope`, if it is not null, its derivative.
inline void gelu_row(int width, float* z, float* slope) {
  for (int i = 0; i < width; i += kVec) {
    const Gelu result = gelu(load(z + i));
    store(z + i, result.value);
    if (slope != nullptr) store(slope + i, result.slope);
  }
}

inline void multiply_row(const float* factor, int width, float* d) {
  for (int i = 0; i < width; i += kVec) store(d + i, load(d + i) * load(factor + i));
}

// Simplicial embedding (Lavoie et al. 2022): softmax within each of `groups` groups of neighbours.
inline void simplices_of_row(int groups, int width, float* z) {
  using Array = Eigen::Array<float, kVec, 1>;
  const int size = width / groups;
  for (float* group = z; group < z + width; group += size) {
    float largest = group[0];
    for (int i = 1; i < size; ++i) largest = std::max(largest, group[i]);
    for (int i = 0; i < size; ++i) group[i] -= largest;
  }
  for (int i = 0; i < width; i += kVec) {
    Eigen::Map<Array> y(z + i);
    y = y.exp().eval();
  }
  for (float* group = z; group < z + width; group += size) {
    float total = 0;
    for (int i = 0; i < size; ++i) total += group[i];
    const float inverse = 1 / total;
    for (int i = 0; i < size; ++i) group[i] *= inverse;
  }
}

// dp becomes dz = p (dp - sum of p dp).
inline void simplices_of_row_backward(int groups, int width, const float* p, float* d) {
  const int size = width / groups;
  for (int first = 0; first < width; first += size) {
    float total = 0;
    for (int i = first; i < first + size; ++i) total += p[i] * d[i];
    for (int i = first; i < first + size; ++i) d[i] = p[i] * (d[i] - total);
  }
}

}  // namespace hotloop
