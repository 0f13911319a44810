#include "algo/q_head.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>

namespace hotloop {
namespace {

using Lanes = Eigen::Map<Eigen::Array<float, Eigen::Dynamic, 1>, Eigen::Aligned32>;
using ConstLanes = Eigen::Map<const Eigen::Array<float, Eigen::Dynamic, 1>, Eigen::Aligned32>;

}  // namespace

QHead make_head(const QOptions& options, int actions) {
  const bool scalar = options.head == HeadKind::scalar;
  return {.kind = options.head,
          .actions = actions,
          .atoms = scalar ? 1 : options.atoms,
          .v_min = static_cast<float>(options.v_min),
          .v_max = static_cast<float>(options.v_max)};
}

std::size_t values_scratch(const QHead& head) {
  return static_cast<std::size_t>(head.actions + head.atoms) * kLanes;
}

void softmax(int count, int width, float* x) {
  alignas(64) std::array<float, kLanes> top_lanes, sum_lanes;
  Lanes top(top_lanes.data(), width), sum(sum_lanes.data(), width);
  top = ConstLanes(x, width);
  for (int k = 1; k < count; ++k) top = top.max(ConstLanes(x + k * kLanes, width));
  sum.setZero();
  for (int k = 0; k < count; ++k) {
    Lanes lane(x + k * kLanes, width);
    lane = (lane - top).exp();
    sum += lane;
  }
  sum = sum.inverse();
  for (int k = 0; k < count; ++k) Lanes(x + k * kLanes, width) *= sum;
}

const float* action_values(const QHead& head, const float* outputs, int width, float* scratch) {
  if (head.kind == HeadKind::scalar) return outputs;
  float* q = scratch;
  float* p = scratch + head.actions * kLanes;
  for (int a = 0; a < head.actions; ++a) {
    const float* atoms = outputs + a * head.atoms * kLanes;
    Lanes value(q + a * kLanes, width);
    value.setZero();
    if (head.kind == HeadKind::quantile) {
      for (int k = 0; k < head.atoms; ++k) value += ConstLanes(atoms + k * kLanes, width);
      value *= 1.0f / static_cast<float>(head.atoms);
    } else {
      std::copy_n(atoms, head.atoms * kLanes, p);
      softmax(head.atoms, width, p);
      for (int k = 0; k < head.atoms; ++k) {
        value += head.support(k) * ConstLanes(p + k * kLanes, width);
      }
    }
  }
  return q;
}

void greedy_actions(const float* q, int actions, int rows, const std::uint8_t* masks,
                    std::int32_t* chosen) {
  if (masks == nullptr) {  // all lanes side by side
    std::array<float, kLanes> best;
    std::copy_n(q, kLanes, best.begin());
    std::fill_n(chosen, kLanes, 0);
    for (int a = 1; a < actions; ++a) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float value = q[a * kLanes + lane];
        const bool better = value > best[lane];
        best[lane] = better ? value : best[lane];
        chosen[lane] = better ? a : chosen[lane];
      }
    }
    return;
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
