// The golden numbers of golden/make.py (PyTorch), and the inputs that it starts from.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "net/structure.hpp"
#include "reference/continuous.hpp"

namespace hotloop::golden {

using reference::Doubles;

inline constexpr int kRows = 5, kObs = 3, kActions = 2, kCritics = 2, kQuantiles = 5, kDrop = 1;
inline constexpr double kRate = 0.0625, kTau = 0.125;
inline constexpr double kRewardFactor = 0.5, kTargetEntropy = -2, kLogAlpha = -0.75;
inline constexpr double kSigma = 0.25, kNoiseClip = 0.375;
inline constexpr float kEpsilon = 0.05f;  // of Adam
inline const OptimiserOptions kAdam{.epsilon = kEpsilon};

// In [-1, 1), a multiple of 1/1024.
inline double number(int t, int i) {
  const long long base = 131LL * t + 29LL * i + 5;
  return static_cast<double>((base * base * base + 17LL * i + 3) % 2039) / 1024 - 1;
}
inline Doubles data(int t, int size, double scale = 1, double plus = 0) {
  Doubles values;
  for (int i = 0; i < size; ++i) values.push_back(plus + scale * number(t, i));
  return values;
}

inline Structure network(int inputs, int outputs) {
  return make_mlp(inputs, outputs, {.hidden = {8, 8}});
}

// The parameters of network n; `last` is added to the last bias.
inline Doubles parameters(const Structure& net, int n, const Doubles& last = {}) {
  Doubles p(net.storage, 0.0);
  int t = 10 * n;
  for (const TensorInfo& tensor : tensors(net)) {
    for (int i = 0; i < static_cast<int>(tensor.size()); ++i) {
      const int at = i / tensor.columns * tensor.stride + i % tensor.columns;
      p[tensor.offset + at] = number(t, i) * (tensor.is_vector() ? 0.25 : 1);
    }
    ++t;
  }
  for (std::size_t i = 0; i < last.size(); ++i) p[tensors(net).back().offset + i] += last[i];
  return p;
}
inline const Doubles kSacLast = {0, 0, 2, -0.5}, kTd3Last = {1.5, 0};

inline reference::Learnt learnt(const Structure& net, int n, const Doubles& last = {}) {
  return {net, parameters(net, n, last), kAdam};
}

struct Data {
  reference::ContinuousBatch batch;
  Doubles next_eps, eps;

  explicit Data(int t)
      : batch{.size = kRows,
              .obs = data(t, kRows * kObs),
              .next_obs = data(t + 1, kRows * kObs),
              .actions = data(t + 2, kRows * kActions),
              .rewards = data(t + 3, kRows, 4),
              .discounts = {0.9375, 0, 0.875, 0.9375, 0.8125},
              .weights = data(t + 4, kRows, 0.5, 1)},
        next_eps(data(t + 5, kRows * kActions, 2)),
        eps(data(t + 6, kRows * kActions, 2)) {}
};

// A file of golden/: lines of a name and its numbers.
class Numbers {
 public:
  explicit Numbers(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      for (double value = 0; words >> value;) numbers_[name].push_back(value);
    }
    EXPECT_FALSE(numbers_.empty()) << path;
  }

  template <class Values>
  void expect(const std::string& name, const Values& values, double tolerance = 1e-6) const {
    const auto found = numbers_.find(name);
    ASSERT_NE(found, numbers_.end()) << name;
    ASSERT_EQ(found->second.size(), values.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(found->second[i], values[i], tolerance) << name << " " << i;
  }
  void expect(const std::string& name, double value, double tolerance = 1e-6) const {
    expect(name, Doubles{value}, tolerance);
  }
  // The tensors of a network, from its flat parameters.
  template <class Parameters>
  void expect_network(const std::string& name, const Structure& net, const Parameters& p,
                      double tolerance = 1e-6) const {
    int index = 0;
    for (const TensorInfo& tensor : tensors(net)) {
      Doubles values;
      for (int i = 0; i < static_cast<int>(tensor.size()); ++i)
        values.push_back(
            p[tensor.offset + i / tensor.columns * tensor.stride + i % tensor.columns]);
      expect(name + "." + std::to_string(index++), values, tolerance);
    }
  }

 private:
  std::map<std::string, Doubles> numbers_;
};

}  // namespace hotloop::golden
