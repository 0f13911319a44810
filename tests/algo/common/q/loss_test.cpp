#include "algo/common/q/loss.hpp"

#include <gtest/gtest.h>

#include <hotloop/rng.hpp>

#include <cmath>
#include <vector>

#include "reference/q_loss.hpp"

namespace hotloop {
namespace {

// One block that owns its arrays; outputs are rows, which are easier to write.
struct Block {
  QHead head;
  int rows;
  std::vector<float> rewards{}, discounts{}, weights{};
  std::vector<std::int32_t> actions{}, next_actions{};
  std::vector<std::vector<float>> outputs{}, next{};  // [rows][actions * atoms]

  struct Result {
    struct {
      double loss = 0, q = 0;
    } sums{};
    std::vector<float> errors;
    std::vector<std::vector<float>> gradient{};  // [rows][actions * atoms]
  };

  static float* aligned(std::vector<float>& storage, std::size_t size) {
    storage.assign(size + 16, std::nanf(""));
    return storage.data() + (64 - reinterpret_cast<std::uintptr_t>(storage.data()) % 64) / 4 % 16;
  }
  static float* lanes(const std::vector<std::vector<float>>& values, int features,
                      std::vector<float>& storage) {
    float* to = aligned(storage, static_cast<std::size_t>(features) * kLanes);
    std::fill_n(to, features * kLanes, 0.0f);
    for (std::size_t row = 0; row < values.size(); ++row) {
      for (int f = 0; f < features; ++f) to[f * kLanes + row] = values[row][f];
    }
    return to;
  }

  Result run(Loss loss, float reward_factor = 1) const {
    std::vector<float> y, y_next, gradient, scratch;
    Result result{.errors = std::vector<float>(rows)};
    std::vector<float> losses(rows), values(rows);
    float* g = aligned(gradient, static_cast<std::size_t>(head.outputs()) * kLanes);
    q_loss(head, loss,
           {.rows = rows,
            .width = round_up(rows, kLaneStep),
            .actions = actions.data(),
            .rewards = rewards.data(),
            .discounts = discounts.data(),
            .weights = weights.empty() ? nullptr : weights.data(),
            .next_actions = next_actions.data(),
            .next = lanes(next, head.outputs(), y_next),
            .outputs = lanes(outputs, head.outputs(), y),
            .reward_factor = reward_factor,
            .share = 1.0f / static_cast<float>(rows),
            .gradient = g,
            .errors = result.errors.data(),
            .losses = losses.data(),
            .values = values.data()},
           aligned(scratch, loss_scratch(head)));
    for (int row = 0; row < rows; ++row) {
      result.sums.loss += static_cast<double>(losses[row]);
      result.sums.q += static_cast<double>(values[row]);
    }
    for (int row = 0; row < rows; ++row) {
      result.gradient.emplace_back();
      for (int f = 0; f < head.outputs(); ++f) {
        result.gradient.back().push_back(g[f * kLanes + row]);
      }
    }
    return result;
  }
};

std::vector<float> log_of(std::vector<float> p) {
  for (float& x : p) x = std::log(x);
  return p;
}

// By hand from the projection's definition (Bellemare et al. 2017, algorithm 1). Atoms 0, 1, 2;
// p' = (.2, .3, .5), r = .5, d = .5: T z = .5, 1, 1.5. The first splits evenly between atoms 0 and
// 1, the second stays on 1, the third splits between 1 and 2: m = (.1, .1 + .3 + .25, .25).
// Predicted p is uniform: gradient p - m = (1/3 - .1, 1/3 - .65, 1/3 - .25).
TEST(QLoss, ProjectsOntoTheAtomsByHand) {
  Block block{.head = {HeadKind::c51, 1, 3, 0, 2}, .rows = 1};
  block.rewards = {0.5f};
  block.discounts = {0.5f};
  block.actions = block.next_actions = {0};
  block.next = {log_of({0.2f, 0.3f, 0.5f})};
  block.outputs = {{0, 0, 0}};
  const Block::Result result = block.run(Loss::mse);
  const std::vector<double> m = {0.1, 0.65, 0.25};
  double divergence = 0;
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(result.gradient[0][k], 1.0 / 3 - m[k], 1e-6) << k;
    divergence += m[k] * std::log(3 * m[k]);
  }
  EXPECT_NEAR(result.sums.loss, divergence, 1e-6);
  EXPECT_NEAR(result.errors[0], divergence, 1e-6);
  EXPECT_NEAR(result.sums.q, 1.0, 1e-6);
}

// A terminated transition puts all its mass at the reward; mass beyond the support goes to its end.
TEST(QLoss, TerminationAndTheEndsOfTheSupport) {
  Block block{.head = {HeadKind::c51, 1, 3, 0, 2}, .rows = 2};
  block.rewards = {1.0f, 7.0f};
  block.discounts = {0, 0.9f};
  block.actions = block.next_actions = {0, 0};
  block.next = {log_of({0.2f, 0.3f, 0.5f}), log_of({0.2f, 0.3f, 0.5f})};
  block.outputs = {{0, 0, 0}, {0, 0, 0}};
  const Block::Result result = block.run(Loss::mse);
  const float third = 1.0f / 3 / 2;  // p times the share of one row in two
  EXPECT_NEAR(result.gradient[0][0], third, 1e-6);
  EXPECT_NEAR(result.gradient[0][1], third - 0.5, 1e-6);
  EXPECT_NEAR(result.gradient[0][2], third, 1e-6);
  EXPECT_NEAR(result.gradient[1][1], third, 1e-6);
  EXPECT_NEAR(result.gradient[1][2], third - 0.5, 1e-6);
}

// By hand from Dabney et al. 2018, equation 10, with threshold 1. tau = 1/4, 3/4; theta = (0, 1);
// targets r + d theta' = 1 + .5 * (1, 4) = (1.5, 3).
//   i = 0: u = 1.5, 3: Huber 1, 2.5;   loss (1/4)(1 + 2.5)/2 = .4375;   slope -(1/4)(1 + 1)/2
//   i = 1: u = .5, 2:  Huber .125, 1.5; loss (3/4)(.125 + 1.5)/2 = .609375; slope -(3/4)(.5 + 1)/2
TEST(QLoss, QuantileHuberByHand) {
  Block block{.head = {HeadKind::quantile, 1, 2, 0, 0}, .rows = 1};
  block.rewards = {1};
  block.discounts = {0.5f};
  block.actions = block.next_actions = {0};
  block.next = {{1, 4}};
  block.outputs = {{0, 1}};
  const Block::Result result = block.run(Loss::huber);
  EXPECT_NEAR(result.sums.loss, 0.4375 + 0.609375, 1e-6);
  EXPECT_NEAR(result.errors[0], 0.4375 + 0.609375, 1e-6);
  EXPECT_NEAR(result.gradient[0][0], -0.25, 1e-6);
  EXPECT_NEAR(result.gradient[0][1], -0.5625, 1e-6);
  EXPECT_NEAR(result.sums.q, 0.5, 1e-6);
  block.outputs = {{4, 4}};  // now u < 0, where the weight is 1 - tau
  EXPECT_NEAR(block.run(Loss::huber).gradient[0][0], 0.75 * (1 + 1) / 2, 1e-6);
}

TEST(QLoss, RewardFactorScalesTheReward) {
  Block block{.head = {HeadKind::scalar, 2, 1, 0, 0}, .rows = 1};
  block.rewards = {4};
  block.discounts = {0.5f};
  block.actions = {1};
  block.next_actions = {0};
  block.next = {{6, 100}};
  block.outputs = {{0, 2}};
  EXPECT_NEAR(block.run(Loss::mse, 0.25f).errors[0], 1 + 3 - 2, 1e-6);
}

// Every head over random blocks, with weights and terminations.
TEST(QLoss, EqualsItsSlowTwin) {
  Rng rng(3, Purpose::test, 0, 0);
  for (int trial = 0; trial < 300; ++trial) {
    const auto kind = static_cast<HeadKind>(trial % 3);
    Block block{.head = {kind, 1 + static_cast<int>(rng.below(4)),
                         kind == HeadKind::scalar ? 1 : 2 + static_cast<int>(rng.below(60)), -3, 5},
                .rows = 1 + static_cast<int>(rng.below(32))};
    for (int row = 0; row < block.rows; ++row) {
      block.rewards.push_back(static_cast<float>(2 * rng.normal()));
      block.discounts.push_back(rng.below(4) == 0 ? 0.0f : 0.9f);
      block.weights.push_back(static_cast<float>(rng.uniform()));
      block.actions.push_back(static_cast<std::int32_t>(rng.below(block.head.actions)));
      block.next_actions.push_back(static_cast<std::int32_t>(rng.below(block.head.actions)));
      block.outputs.emplace_back();
      block.next.emplace_back();
      for (int f = 0; f < block.head.outputs(); ++f) {
        block.outputs.back().push_back(static_cast<float>(2 * rng.normal()));
        block.next.back().push_back(static_cast<float>(2 * rng.normal()));
      }
    }
    if (trial % 2 == 0) block.weights.clear();
    const Loss loss = trial % 4 < 2 ? Loss::mse : Loss::huber;
    const Block::Result fast = block.run(loss);
    double total = 0, q = 0;
    for (int row = 0; row < block.rows; ++row) {
      const std::vector<double> outputs(block.outputs[row].begin(), block.outputs[row].end());
      const std::vector<double> next(block.next[row].begin(), block.next[row].end());
      const auto slow = reference::row_loss<double>(block.head, loss, outputs, block.actions[row],
                                                    next, block.next_actions[row],
                                                    block.rewards[row], block.discounts[row]);
      const double weight = block.weights.empty() ? 1 : block.weights[row];
      total += weight * slow.loss;
      q += reference::action_value(block.head, outputs, block.actions[row]);
      ASSERT_NEAR(fast.errors[row], slow.error, 2e-5 * (1 + slow.error)) << trial;
      for (int f = 0; f < block.head.outputs(); ++f) {
        ASSERT_NEAR(fast.gradient[row][f], weight * slow.gradient[f] / block.rows, 2e-5) << trial;
      }
    }
    ASSERT_NEAR(fast.sums.loss, total, 1e-4 * (1 + total)) << trial;
    ASSERT_NEAR(fast.sums.q, q, 1e-4 * (1 + std::abs(q))) << trial;
  }
}

// The twin's gradients against central differences of its loss, in double precision.
TEST(QLoss, TwinGradientsAreFiniteDifferences) {
  Rng rng(5, Purpose::test, 0, 0);
  for (const HeadKind kind : {HeadKind::scalar, HeadKind::c51, HeadKind::quantile}) {
    const QHead head{kind, 2, kind == HeadKind::scalar ? 1 : 7, -2, 3};
    std::vector<double> outputs, next;
    for (int f = 0; f < head.outputs(); ++f) {
      outputs.push_back(rng.normal());
      next.push_back(rng.normal());
    }
    const auto loss = [&](const std::vector<double>& y) {
      return reference::row_loss<double>(head, Loss::huber, y, 1, next, 0, 0.3, 0.8);
    };
    const std::vector<double> gradient = loss(outputs).gradient;
    constexpr double kStep = 1e-6;
    for (int f = 0; f < head.outputs(); ++f) {
      std::vector<double> up = outputs, down = outputs;
      up[f] += kStep;
      down[f] -= kStep;
      EXPECT_NEAR(gradient[f], (loss(up).loss - loss(down).loss) / (2 * kStep), 1e-7);
    }
  }
}

TEST(QHead, ActionValuesEqualTheTwinAndGreedyRespectsMasks) {
  Rng rng(8, Purpose::test, 0, 0);
  for (const HeadKind kind : {HeadKind::scalar, HeadKind::c51, HeadKind::quantile}) {
    for (const int rows : {1, 9, 32}) {
      const QHead head{kind, 5, kind == HeadKind::scalar ? 1 : 11, -4, 4};
      std::vector<std::vector<float>> outputs(rows);
      for (auto& row : outputs) {
        for (int f = 0; f < head.outputs(); ++f) row.push_back(static_cast<float>(rng.normal()));
      }
      std::vector<std::uint8_t> masks(static_cast<std::size_t>(rows) * head.actions, 1);
      for (auto& m : masks) m = static_cast<std::uint8_t>(rng.below(2));
      for (int row = 0; row < rows; ++row) masks[row * head.actions + rng.below(5)] = 1;
      std::vector<float> y, scratch;
      const float* q =
          action_values(head, Block::lanes(outputs, head.outputs(), y), round_up(rows, kLaneStep),
                        Block::aligned(scratch, values_scratch(head)));
      std::array<std::int32_t, kLanes> free, masked;
      greedy_actions(q, head.actions, rows, nullptr, free.data());
      greedy_actions(q, head.actions, rows, masks.data(), masked.data());
      for (int row = 0; row < rows; ++row) {
        const std::vector<double> exact(outputs[row].begin(), outputs[row].end());
        for (int a = 0; a < head.actions; ++a) {
          EXPECT_NEAR(q[a * kLanes + row], reference::action_value(head, exact, a), 1e-5);
        }
        EXPECT_EQ(free[row], reference::greedy_action(head, exact, nullptr));
        EXPECT_EQ(masked[row],
                  reference::greedy_action(head, exact, masks.data() + row * head.actions));
      }
    }
  }
}

TEST(QHead, GreedyTakesTheFirstOfEquals) {
  std::vector<float> q(3 * kLanes, 0.0f);
  q[kLanes] = q[2 * kLanes] = 2;
  std::array<std::int32_t, kLanes> chosen;
  greedy_actions(q.data(), 3, 1, nullptr, chosen.data());
  EXPECT_EQ(chosen[0], 1);
  const std::uint8_t mask[3] = {1, 0, 1}, only_first[3] = {1, 0, 0};
  greedy_actions(q.data(), 3, 1, mask, chosen.data());
  EXPECT_EQ(chosen[0], 2);
  greedy_actions(q.data(), 3, 1, only_first, chosen.data());
  EXPECT_EQ(chosen[0], 0);
}

}  // namespace
}  // namespace hotloop
