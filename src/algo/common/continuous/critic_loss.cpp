#include "algo/common/continuous/critic_loss.hpp"

#include <bit>

#include "algo/common/q/quantile_pairs.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

template <int kWidth>
using Array = Eigen::Array<float, kWidth, 1>;

template <int kWidth>
void mean_loss(const CriticLossBlock& b) {
  const Array<kWidth> error = ConstLanes<kWidth>(b.output) - ConstLanes<kWidth>(b.target);
  const ConstLanes<kWidth> share(b.share);
  Lanes<kWidth>(b.gradient) = share * error;
  Lanes<kWidth>(b.error) += error.abs();
  Lanes<kWidth>{b.loss} = 0.5f * share * error.square();
}

template <int kWidth>
void quantile_loss(const CriticLossBlock& b) {
  alignas(64) float sum[kLanes] = {}, slope[kLanes];
  const float scale = 1.0f / static_cast<float>(b.outputs * b.targets);
  for (int i = 0; i < b.outputs; ++i) {
    const float tau = (static_cast<float>(i) + 0.5f) / static_cast<float>(b.outputs);
    add_pairs<kWidth>(b.targets, tau, b.target, b.output + i * kLanes, slope, sum);
    Lanes<kWidth>(b.gradient + i * kLanes) =
        scale * ConstLanes<kWidth>(b.share) * ConstLanes<kWidth>(slope);
  }
  const Array<kWidth> loss = scale * ConstLanes<kWidth>(sum);
  Lanes<kWidth>(b.error) += loss;
  Lanes<kWidth>{b.loss} = ConstLanes<kWidth>(b.share) * loss;
}

}  // namespace

void critic_loss(const CriticLossBlock& b) {
  alignas(64) float q[kLanes];
  mean_of_lanes(b.output, b.outputs, b.width, q);
  with_width(b.width, [&]<int kWidth>() {
    b.quantiles ? quantile_loss<kWidth>(b) : mean_loss<kWidth>(b);
    Lanes<kWidth>{b.q} = ConstLanes<kWidth>(b.share) * ConstLanes<kWidth>(q);
  });
}

void mean_of_lanes(const float* values, int count, int width, float* mean) {
  with_width(width, [&]<int kWidth>() {
    Array<kWidth> sum = ConstLanes<kWidth>(values);
    for (int i = 1; i < count; ++i) sum += ConstLanes<kWidth>(values + i * kLanes);
    Lanes<kWidth>{mean} = sum / static_cast<float>(count);
  });
}

// Batcher's merge exchange (Knuth, volume 3, algorithm 5.2.2M): which pairs are compared does not
// depend on the values, so all lanes are sorted at once. A comparison is a minimum and a maximum.
void sort_lanes(float* values, int count, int width) {
  if (count < 2) return;
  const int top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count))) / 2;
  with_width(width, [&]<int kWidth>() {
    for (int p = top; p > 0; p /= 2) {
      for (int q = top, r = 0, d = p; q >= p; d = q - p, q /= 2, r = p) {
        for (int i = 0; i + d < count; ++i) {
          if ((i & p) != r) continue;
          Lanes<kWidth> low(values + i * kLanes), high(values + (i + d) * kLanes);
          const Array<kWidth> smaller = low.min(high);
          high = low.max(high).eval();
          low = smaller;
        }
      }
    }
  });
}

}  // namespace hotloop
