#include "algo/common/q/loss.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "algo/common/q/quantile_pairs.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

float weight_of(const LossBlock& block, int row) {
  return block.weights == nullptr ? 1.0f : block.weights[row];
}

void scalar_loss(Loss loss, const LossBlock& block) {
  for (int row = 0; row < block.rows; ++row) {
    float y = block.rewards[row] * block.reward_factor;
    if (block.bonus != nullptr) y += block.bonus[row];
    if (block.discounts[row] != 0) {
      y += block.discounts[row] * (block.next_values != nullptr
                                       ? block.next_values[row]
                                       : block.next[block.next_actions[row] * kLanes + row]);
    }
    const int taken = block.actions[row] * kLanes + row;
    const float q = block.outputs[taken];
    const LossTerm term = td_loss(loss, y - q);
    const float weight = weight_of(block, row);
    block.gradient[taken] = weight * term.slope * block.share;
    block.errors[row] = std::abs(y - q);
    block.losses[row] = weight * term.value;
    block.values[row] = q;
  }
}

// Copies the atoms of one action per row to [atoms][kLanes].
void gather_atoms(const QHead& head, const float* outputs, const std::int32_t* actions, int rows,
                  float* atoms) {
  for (int row = 0; row < rows; ++row) {
    const float* from = outputs + actions[row] * head.atoms * kLanes + row;
    for (int k = 0; k < head.atoms; ++k) atoms[k * kLanes + row] = from[k * kLanes];
  }
}

// m [atoms][kLanes]: the distribution `next` over r + d z, projected onto the support.
void project(const QHead& head, const LossBlock& block, const float* next, float* m) {
  std::array<float, kLanes> reward{}, discount{}, above;
  std::array<std::int32_t, kLanes> below;
  for (int row = 0; row < block.rows; ++row) {
    reward[row] = block.rewards[row] * block.reward_factor;
    discount[row] = block.discounts[row];
  }
  std::fill_n(m, head.atoms * kLanes, 0.0f);
  const float per_atom = 1 / head.spacing();
  const auto last = static_cast<float>(head.atoms - 1);
  for (int k = 0; k < head.atoms; ++k) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float z = reward[lane] + discount[lane] * head.support(k);
      const float place = std::min(std::max((z - head.v_min) * per_atom, 0.0f), last);
      below[lane] = std::min(static_cast<std::int32_t>(place), head.atoms - 2);
      above[lane] = place - static_cast<float>(below[lane]);
    }
    for (int row = 0; row < block.rows; ++row) {
      float* lower = m + below[row] * kLanes + row;
      const float mass = next[k * kLanes + row];
      lower[0] += mass * (1 - above[row]);
      lower[kLanes] += mass * above[row];
    }
  }
}

void c51_loss(const QHead& head, const LossBlock& block, float* scratch) {
  const int atoms = head.atoms;
  float* p = scratch;                       // [atoms][kLanes] prediction at s
  float* next = scratch + atoms * kLanes;   // [atoms][kLanes] at s'
  float* m = scratch + 2 * atoms * kLanes;  // [atoms][kLanes] the target
  gather_atoms(head, block.outputs, block.actions, block.rows, p);
  gather_atoms(head, block.next, block.next_actions, block.rows, next);
  softmax(atoms, block.width, p);
  softmax(atoms, block.width, next);
  project(head, block, next, m);

  alignas(64) std::array<float, kLanes> divergence, q;
  with_width(block.width, [&]<int kWidth>() {
    using Array = Eigen::Array<float, kWidth, 1>;
    constexpr float kTiny = 1e-30f;  // 0 log 0 = 0
    Array divergence_sum = Array::Zero(), q_sum = Array::Zero();
    for (int k = 0; k < atoms; ++k) {
      const Array predicted = ConstLanes<kWidth>(p + k * kLanes);
      const Array wanted = ConstLanes<kWidth>(m + k * kLanes);
      divergence_sum += wanted * ((wanted + kTiny).log() - (predicted + kTiny).log());
      q_sum += head.support(k) * predicted;
    }
    Lanes<kWidth>{divergence.data()} = divergence_sum;
    Lanes<kWidth>{q.data()} = q_sum;
  });
  for (int row = 0; row < block.rows; ++row) {
    const float weight = weight_of(block, row);
    float* gradient = block.gradient + block.actions[row] * atoms * kLanes + row;
    for (int k = 0; k < atoms * kLanes; k += kLanes) {
      gradient[k] = weight * block.share * (p[k + row] - m[k + row]);
    }
    block.errors[row] = std::max(divergence[row], 0.0f);
    block.losses[row] = weight * divergence[row];
    block.values[row] = q[row];
  }
}

void quantile_loss(const QHead& head, const LossBlock& block, float* scratch) {
  const int atoms = head.atoms;
  float* quantiles = scratch;                  // [atoms][kLanes] of the action taken
  float* targets = scratch + atoms * kLanes;   // [atoms][kLanes]
  float* loss = scratch + 2 * atoms * kLanes;  // [kLanes]
  float* slope = loss + kLanes;                // [kLanes] for one quantile
  gather_atoms(head, block.outputs, block.actions, block.rows, quantiles);
  gather_atoms(head, block.next, block.next_actions, block.rows, targets);
  for (int j = 0; j < atoms; ++j) {
    float* target = targets + j * kLanes;
    for (int row = 0; row < block.rows; ++row) {
      const float reward = block.rewards[row] * block.reward_factor;
      target[row] =
          block.discounts[row] == 0 ? reward : reward + block.discounts[row] * target[row];
    }
  }
  std::fill_n(loss, kLanes, 0.0f);
  const float mean = 1 / static_cast<float>(atoms);
  for (int i = 0; i < atoms; ++i) {
    const float tau = (static_cast<float>(i) + 0.5f) * mean;
    with_width(block.width, [&]<int kWidth>() {
      add_pairs<kWidth>(atoms, tau, targets, quantiles + i * kLanes, slope, loss);
    });
    for (int row = 0; row < block.rows; ++row) {
      block.gradient[(block.actions[row] * atoms + i) * kLanes + row] =
          weight_of(block, row) * block.share * mean * slope[row];
    }
  }
  for (int row = 0; row < block.rows; ++row) {
    float q = 0;
    for (int i = 0; i < atoms; ++i) q += quantiles[i * kLanes + row];
    block.errors[row] = loss[row] * mean;
    block.losses[row] = weight_of(block, row) * loss[row] * mean;
    block.values[row] = q * mean;
  }
}

}  // namespace

LossTerm td_loss(Loss loss, float error) {
  if (loss == Loss::mse) return {error * error, -2 * error};
  const float size = std::abs(error);  // Huber with threshold 1
  return {size <= 1 ? 0.5f * error * error : size - 0.5f, -std::clamp(error, -1.0f, 1.0f)};
}

std::size_t loss_scratch(const QHead& head) {
  return static_cast<std::size_t>(3 * head.atoms + 1) * kLanes;
}

void q_loss(const QHead& head, Loss loss, const LossBlock& block, float* scratch) {
  for (int output = 0; output < head.outputs(); ++output)
    std::fill_n(block.gradient + output * kLanes, block.width, 0.0f);
  switch (head.kind) {
    case HeadKind::scalar:
      return scalar_loss(loss, block);
    case HeadKind::c51:
      return c51_loss(head, block, scratch);
    case HeadKind::quantile:
      return quantile_loss(head, block, scratch);
  }
}

}  // namespace hotloop
