#include "algo/sac/squashed.hpp"

#include <cmath>
#include <numbers>

#include "algo/common/continuous/tanh_head.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

const float kHalfLogTwoPi = static_cast<float>(0.5 * std::log(2 * std::numbers::pi));
constexpr float kLogTwo = std::numbers::ln2_v<float>;

}  // namespace

void sample_squashed(int actions, int width, const float* outputs, const float* noise,
                     float* action, float* spread, float* log_probability) {
  with_width(width, [&]<int kWidth>() {
    using Array = Eigen::Array<float, kWidth, 1>;
    Array sum = Array::Zero();
    for (int i = 0; i < actions; ++i) {
      const int at = i * kLanes;
      const ConstLanes<kWidth> mean(outputs + at), e(noise + at);
      const Array log_std = ConstLanes<kWidth>(outputs + at + actions * kLanes)
                                .max(kMinSquashedLogStd)
                                .min(kMaxSquashedLogStd);
      const Array scaled = log_std.exp() * e;
      const Array u = mean + scaled, size = u.abs();
      const Array log_slope = 2 * (kLogTwo - size - ((-2 * size).exp() + 1).log());
      Lanes<kWidth>(spread + at) = scaled;
      Lanes<kWidth>(action + at) = u.tanh();
      sum -= 0.5f * e.square() + log_std + kHalfLogTwoPi + log_slope;
    }
    Lanes<kWidth>{log_probability} = sum;
  });
}

void squashed_gradient(int actions, int width, const float* outputs, const float* action,
                       const float* spread, const float* d_action, const float* d_log_probability,
                       float* d_outputs) {
  with_width(width, [&]<int kWidth>() {
    using Array = Eigen::Array<float, kWidth, 1>;
    const ConstLanes<kWidth> dp(d_log_probability);
    for (int i = 0; i < actions; ++i) {
      const int at = i * kLanes, log_std = at + actions * kLanes;
      const ConstLanes<kWidth> a(action + at), given(outputs + log_std);
      const Array du = ConstLanes<kWidth>(d_action + at) * (1 - a.square()) + 2 * a * dp;
      Lanes<kWidth>(d_outputs + at) = du;
      Lanes<kWidth>(d_outputs + log_std) =
          ((given >= kMinSquashedLogStd) && (given <= kMaxSquashedLogStd)).template cast<float>() *
          (ConstLanes<kWidth>(spread + at) * du - dp);
    }
  });
}

}  // namespace hotloop
