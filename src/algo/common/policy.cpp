#include "algo/common/policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

constexpr float kForbidden = -1e30f;
const float kHalfLogTwoPi = static_cast<float>(0.5 * std::log(2 * std::numbers::pi));

template <int kWidth>
using Array = Eigen::Array<float, kWidth, 1>;

void copy_with_mask(const PolicyHead& head, const PolicyLanes& lanes, float* d) {
  for (int a = 0; a < head.actions; ++a)
    std::copy_n(lanes.outputs + a * kLanes, lanes.width, d + a * kLanes);
  if (lanes.mask == nullptr) return;
  for (int lane = 0; lane < lanes.rows; ++lane) {
    const std::size_t row = lanes.mask_at == nullptr ? lane : lanes.mask_at[lane];
    const std::uint8_t* allowed = lanes.mask + row * head.actions;
    for (int a = 0; a < head.actions; ++a) {
      if (allowed[a] == 0) d[a * kLanes + lane] = kForbidden;
    }
  }
}

template <int kWidth>
void log_softmax(int count, float* x) {
  Array<kWidth> top = ConstLanes<kWidth>(x);
  for (int a = 1; a < count; ++a) top = top.max(ConstLanes<kWidth>(x + a * kLanes));
  Array<kWidth> sum = Array<kWidth>::Zero();
  for (int a = 0; a < count; ++a) sum += (ConstLanes<kWidth>(x + a * kLanes) - top).exp();
  const Array<kWidth> shift = top + sum.log();
  for (int a = 0; a < count; ++a) {
    Lanes<kWidth> lane(x + a * kLanes);
    lane = (lane - shift).max(kForbidden);
  }
}

float mean_bound(const PolicyHead& head) {
  return head.squash == Squash::smooth ? kMeanBound : std::numeric_limits<float>::max();
}

bool is_symmetric(const PolicyHead& head, int i) { return head.low[i] == -head.high[i]; }

}  // namespace

void distribution(const PolicyHead& head, const PolicyLanes& lanes, float* d) {
  if (!head.is_continuous()) {
    copy_with_mask(head, lanes, d);
    with_width(lanes.width, [&]<int kWidth>() { log_softmax<kWidth>(head.actions, d); });
    return;
  }
  const float bound = mean_bound(head);
  with_width(lanes.width, [&]<int kWidth>() {
    for (int i = 0; i < 2 * head.actions; ++i) {
      const bool is_mean = i < head.actions;
      Lanes<kWidth>(d + i * kLanes) = ConstLanes<kWidth>(lanes.outputs + i * kLanes)
                                          .max(is_mean ? -bound : kMinLogStd)
                                          .min(is_mean ? bound : kMaxLogStd);
    }
  });
}

void log_probability(const PolicyHead& head, const float* d, int width, const float* raw,
                     float* p) {
  if (!head.is_continuous()) {
    for (int lane = 0; lane < width; ++lane) {
      p[lane] = d[static_cast<int>(raw[lane]) * kLanes + lane];
    }
    return;
  }
  with_width(width, [&]<int kWidth>() {
    Array<kWidth> sum = Array<kWidth>::Zero();
    for (int i = 0; i < head.actions; ++i) {
      const ConstLanes<kWidth> s(d + (head.actions + i) * kLanes);
      const Array<kWidth> z =
          (ConstLanes<kWidth>(raw + i * kLanes) - ConstLanes<kWidth>(d + i * kLanes)) * (-s).exp();
      sum -= 0.5f * z.square() + s + kHalfLogTwoPi;
    }
    Lanes<kWidth>{p} = sum;
  });
}

void entropy(const PolicyHead& head, const float* d, int width, float* h) {
  with_width(width, [&]<int kWidth>() {
    Array<kWidth> sum = Array<kWidth>::Zero();
    for (int i = 0; i < head.actions; ++i) {
      if (head.is_continuous()) {
        sum += ConstLanes<kWidth>(d + (head.actions + i) * kLanes) + (0.5f + kHalfLogTwoPi);
      } else {
        const ConstLanes<kWidth> log_p(d + i * kLanes);
        sum -= log_p.exp() * log_p;
      }
    }
    Lanes<kWidth>{h} = sum;
  });
}

void divergence(const PolicyHead& head, const float* old, const float* d, int width, float* kl) {
  with_width(width, [&]<int kWidth>() {
    Array<kWidth> sum = Array<kWidth>::Zero();
    for (int i = 0; i < head.actions; ++i) {
      const ConstLanes<kWidth> a(old + i * kLanes), b(d + i * kLanes);
      if (!head.is_continuous()) {
        sum += a.exp() * (a - b);
        continue;
      }
      const ConstLanes<kWidth> s_old(old + (head.actions + i) * kLanes);
      const ConstLanes<kWidth> s_new(d + (head.actions + i) * kLanes);
      sum +=
          s_new - s_old - 0.5f + 0.5f * ((2 * s_old).exp() + (a - b).square()) * (-2 * s_new).exp();
    }
    Lanes<kWidth>{kl} = sum;
  });
}

void policy_gradient(const PolicyHead& head, const PolicyLanes& lanes, const float* d,
                     const float* raw, const float* h, const float* d_log_probability,
                     const float* d_entropy, float* d_outputs) {
  const float bound = mean_bound(head);
  with_width(lanes.width, [&]<int kWidth>() {
    const ConstLanes<kWidth> dp(d_log_probability), dh(d_entropy);
    for (int i = 0; i < head.actions; ++i) {
      Lanes<kWidth> to(d_outputs + i * kLanes);
      if (!head.is_continuous()) {
        const ConstLanes<kWidth> log_p(d + i * kLanes);
        const Array<kWidth> is_taken =
            (ConstLanes<kWidth>(raw) == static_cast<float>(i)).template cast<float>();
        const Array<kWidth> p = log_p.exp();
        to = dp * (is_taken - p) - dh * p * (log_p + ConstLanes<kWidth>(h));
        continue;
      }
      const int log_std = (head.actions + i) * kLanes;
      const ConstLanes<kWidth> mean_given(lanes.outputs + i * kLanes);
      const ConstLanes<kWidth> given(lanes.outputs + log_std);
      const Array<kWidth> inverse = (-ConstLanes<kWidth>(d + log_std)).exp();
      const Array<kWidth> z =
          (ConstLanes<kWidth>(raw + i * kLanes) - ConstLanes<kWidth>(d + i * kLanes)) * inverse;
      to = (mean_given.abs() <= bound).template cast<float>() * dp * z * inverse;
      Lanes<kWidth>(d_outputs + log_std) =
          ((given >= kMinLogStd) && (given <= kMaxLogStd)).template cast<float>() *
          (dp * (z.square() - 1) + dh);
    }
  });
}

void sample(const PolicyHead& head, const float* d, int lane, Rng& rng, float* raw) {
  if (!head.is_continuous()) {
    auto left = static_cast<float>(rng.uniform());
    int choice = 0;  // stays 0 if all are NaN; the caller notices by the log probability
    for (int a = 0; a < head.actions && left >= 0; ++a) {
      const float p = std::exp(d[a * kLanes + lane]);
      if (p > 0) choice = a;  // if rounding leaves some mass over, the last possible action
      left -= p;
    }
    *raw = static_cast<float>(choice);
    return;
  }
  for (int i = 0; i < head.actions; ++i) {
    const float sigma = std::exp(d[(head.actions + i) * kLanes + lane]);
    raw[i * kLanes] = d[i * kLanes + lane] + sigma * static_cast<float>(rng.normal());
  }
}

void squash(const PolicyHead& head, const float* raw, int stride, float* action) {
  for (int i = 0; i < head.actions; ++i) {
    const float u = raw[i * stride], low = head.low[i], high = head.high[i];
    if (head.squash == Squash::clip) {
      action[i] = std::clamp(u, low, high);
    } else if (is_symmetric(head, i)) {
      action[i] = high * std::tanh(u);
    } else {
      action[i] = std::clamp(low + (high - low) / (1 + std::exp(-u)), low, high);
    }
  }
}

}  // namespace hotloop
