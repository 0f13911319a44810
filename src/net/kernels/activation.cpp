#include "net/kernels/activation.hpp"

#include <Eigen/Core>
#include <algorithm>

#include "net/kernels/activation_formulas.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

template <Activation kActivation, int kWidth>
void activate(const float* bias, int features, float* z, float* slope) {
  using Array = Eigen::Array<float, kWidth, 1>;
  for (int f = 0; f < features; ++f) {
    Lanes<kWidth> y(z + f * kLanes);
    const Array x = y + bias[f];
    if constexpr (kActivation == Activation::gelu) {
      if (slope != nullptr) {
        for (int i = 0; i < kWidth; i += kVec) {
          const Gelu result = gelu(load(x.data() + i));
          store(z + f * kLanes + i, result.value);
          store(slope + f * kLanes + i, result.slope);
        }
        continue;
      }
    }
    y = activation_of<kActivation>(x);
  }
}

// For one feature; its bias gradient is the sum over the result.
template <Activation kActivation, int kWidth>
Vec differentiate_lanes(const float* y, const float* slope, float* delta) {
  Vec total = {};
  for (int i = 0; i < kWidth; i += kVec) {
    const float* kept = kActivation == Activation::gelu ? slope + i : nullptr;
    const Vec d = differentiate<kActivation>(load(delta + i), load(y + i), kept);
    store(delta + i, d);
    total += d;
  }
  return total;
}

// bias_gradient[f] (+)= sum over total(f), one register of partial sums. Four features at a time:
// their sums share most of their work.
template <class Total>
void add_totals(int features, float* bias_gradient, bool accumulate, Total&& total) {
  int f = 0;
  for (; f + 4 <= features; f += 4) {
    const Vec first = total(f), second = total(f + 1), third = total(f + 2), fourth = total(f + 3);
    auto& gradient = *reinterpret_cast<Four*>(bias_gradient + f);
    const Four sum = sums(first, second, third, fourth);
    gradient = accumulate ? gradient + sum : sum;
  }
  for (; f < features; ++f) {
    const float one = sum(total(f));
    bias_gradient[f] = accumulate ? bias_gradient[f] + one : one;
  }
}

template <Activation kActivation, int kWidth>
void differentiate_features(const float* y, const float* slope, int features, float* delta,
                            float* bias_gradient, bool accumulate) {
  const auto total = [&](int f) {
    const std::size_t at = static_cast<std::size_t>(f) * kLanes;
    const float* kept = kActivation == Activation::gelu ? slope + at : nullptr;
    return differentiate_lanes<kActivation, kWidth>(y + at, kept, delta + at);
  };
  if (bias_gradient != nullptr) return add_totals(features, bias_gradient, accumulate, total);
  for (int f = 0; f < features; ++f) total(f);
}

}  // namespace

void add_bias_and_activate(Activation activation, const float* bias, int features, int width,
                           float* z, float* slope) {
  with_activation(activation, [&]<Activation kActivation>() {
    with_width(width,
               [&]<int kWidth>() { activate<kActivation, kWidth>(bias, features, z, slope); });
  });
}

void add_bias_and_activate_one(Activation activation, const float* bias, int features, float* z) {
  with_activation(activation, [&]<Activation kActivation>() {
    using Array = Eigen::Array<float, kLaneStep, 1>;
    const auto step = [](const float* b, float* at) {
      const Array x = Eigen::Map<const Array>(at) + Eigen::Map<const Array>(b);
      Eigen::Map<Array>{at} = activation_of<kActivation>(x);
    };
    int f = 0;
    for (; f + kLaneStep <= features; f += kLaneStep) step(bias + f, z + f);
    if (f == features) return;
    float rest[kLaneStep] = {};
    std::copy(z + f, z + features, rest);
    step(bias + f, rest);
    std::copy_n(rest, features - f, z + f);
  });
}

void backward_through_activation(Activation activation, const float* y, const float* slope,
                                 int features, int width, float* d, float* bias_gradient,
                                 bool accumulate) {
  with_activation(activation, [&]<Activation kActivation>() {
    with_width(width, [&]<int kWidth>() {
      differentiate_features<kActivation, kWidth>(y, slope, features, d, bias_gradient, accumulate);
    });
  });
}

void add_bias_gradient(const float* dz, int features, int width, float* bias_gradient,
                       bool accumulate) {
  with_width(width, [&]<int kWidth>() {
    add_totals(features, bias_gradient, accumulate, [&](int f) {
      Vec total = {};
      for (int i = 0; i < kWidth; i += kVec) total += load(dz + f * kLanes + i);
      return total;
    });
  });
}

}  // namespace hotloop
