#include "algo/common/q/head.hpp"

#include <algorithm>
#include <array>

#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

template <int kWidth>
Eigen::Array<float, kWidth, 1> largest(int count, const float* x) {
  Eigen::Array<float, kWidth, 1> top = ConstLanes<kWidth>(x);
  for (int k = 1; k < count; ++k) top = top.max(ConstLanes<kWidth>(x + k * kLanes));
  return top;
}

// Q of one action from its atoms [atoms][kLanes].
template <int kWidth>
void action_value(const QHead& head, const float* atoms, float* q) {
  using Array = Eigen::Array<float, kWidth, 1>;
  Array value = Array::Zero();
  if (head.kind == HeadKind::quantile) {
    for (int k = 0; k < head.atoms; ++k) value += ConstLanes<kWidth>(atoms + k * kLanes);
    value *= 1.0f / static_cast<float>(head.atoms);
  } else {
    const Array top = largest<kWidth>(head.atoms, atoms);
    Array sum = Array::Zero();
    for (int k = 0; k < head.atoms; ++k) {
      const Array e = (ConstLanes<kWidth>(atoms + k * kLanes) - top).exp();
      sum += e;
      value += head.support(k) * e;
    }
    value /= sum;
  }
  Lanes<kWidth>{q} = value;
}

}  // namespace

QHead make_head(const HeadOptions& options, int actions) {
  const bool scalar = options.kind == HeadKind::scalar;
  return {.kind = options.kind,
          .actions = actions,
          .atoms = scalar ? 1 : options.atoms,
          .v_min = static_cast<float>(options.v_min),
          .v_max = static_cast<float>(options.v_max)};
}

std::size_t values_scratch(const QHead& head) {
  return static_cast<std::size_t>(head.actions) * kLanes;
}

void softmax(int count, int width, float* x) {
  with_width(width, [&]<int kWidth>() {
    using Array = Eigen::Array<float, kWidth, 1>;
    const Array top = largest<kWidth>(count, x);
    Array sum = Array::Zero();
    for (int k = 0; k < count; ++k) {
      const Array e = (ConstLanes<kWidth>(x + k * kLanes) - top).exp();
      Lanes<kWidth>{x + k* kLanes} = e;
      sum += e;
    }
    sum = sum.inverse();
    for (int k = 0; k < count; ++k) Lanes<kWidth>{x + k* kLanes} *= sum;
  });
}

const float* action_values(const QHead& head, const float* outputs, int width, float* scratch) {
  if (head.kind == HeadKind::scalar) return outputs;
  with_width(width, [&]<int kWidth>() {
    for (int a = 0; a < head.actions; ++a) {
      action_value<kWidth>(head, outputs + a * head.atoms * kLanes, scratch + a * kLanes);
    }
  });
  return scratch;
}

void greedy_actions(const float* q, int actions, int rows, const std::uint8_t* masks,
                    std::int32_t* chosen) {
  if (masks == nullptr) {  // all lanes side by side
    return with_width(round_up(rows, kLaneStep), [&]<int kWidth>() {
      std::array<float, kWidth> best;
      std::copy_n(q, kWidth, best.begin());
      std::fill_n(chosen, kWidth, 0);
      for (int a = 1; a < actions; ++a) {
        for (int lane = 0; lane < kWidth; ++lane) {
          const float value = q[a * kLanes + lane];
          const bool better = value > best[lane];
          best[lane] = better ? value : best[lane];
          chosen[lane] = better ? a : chosen[lane];
        }
      }
    });
  }
  for (int lane = 0; lane < rows; ++lane) {
    const std::uint8_t* mask = masks + static_cast<std::size_t>(lane) * actions;
    int best = -1;
    for (int a = 0; a < actions; ++a) {
      const bool better = best < 0 || q[a * kLanes + lane] > q[best * kLanes + lane];
      if (mask[a] != 0 && better) best = a;
    }
    chosen[lane] = best;
  }
}

}  // namespace hotloop
