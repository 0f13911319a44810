// Eigen's view of lanes: one feature of a block as an array whose width the compiler knows.
#pragma once

#include <Eigen/Core>
#include <cmath>

#include "net/lanes.hpp"

namespace hotloop {

// One feature of a block: 8, 16, 24 or 32 lanes. A compile-time width lets the compiler unroll.
template <int kWidth>
using Lanes = Eigen::Map<Eigen::Array<float, kWidth, 1>, Eigen::Aligned32>;
template <int kWidth>
using ConstLanes = Eigen::Map<const Eigen::Array<float, kWidth, 1>, Eigen::Aligned32>;

// Square roots, correctly rounded. Eigen's start from an estimate by the CPU, which differs
// between vendors.
template <int kWidth>
Eigen::Array<float, kWidth, 1> square_roots(Eigen::Array<float, kWidth, 1> values) {
  for (int i = 0; i < kWidth; ++i) values[i] = std::sqrt(values[i]);
  return values;
}

// Calls f.operator()<width>(): turns a runtime width into a compile-time one.
template <class F>
void with_width(int width, F&& f) {
  switch (width) {
    case 8:
      return f.template operator()<8>();
    case 16:
      return f.template operator()<16>();
    case 24:
      return f.template operator()<24>();
    default:
      return f.template operator()<32>();
  }
}

}  // namespace hotloop
