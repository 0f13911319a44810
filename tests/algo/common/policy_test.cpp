#include "algo/common/policy.hpp"

#include <gtest/gtest.h>

#include <hotloop/rng.hpp>

#include <vector>

#include "reference/policy.hpp"

namespace hotloop {
namespace {

struct alignas(64) Features {
  std::array<float, 16 * kLanes> values{};
  float* data() { return values.data(); }
  float& at(int feature, int lane) { return values[feature * kLanes + lane]; }
};

PolicyHead box(int size, Squash squash = Squash::smooth) {
  return {.kind = PolicyKind::gaussian, .actions = size, .squash = squash, .low = {}, .high = {}};
}
PolicyHead numbers(int actions) { return {.actions = actions, .low = {}, .high = {}}; }

// A block of random outputs, raw actions and masks.
struct Block {
  PolicyHead head;
  int width;
  Features outputs, raw, d;
  std::vector<std::uint8_t> mask;

  Block(const PolicyHead& policy, int lanes, bool masked, Rng& rng) : head(policy), width(lanes) {
    for (int lane = 0; lane < width; ++lane) {
      for (int i = 0; i < head.outputs(); ++i)
        outputs.at(i, lane) = static_cast<float>((i < head.actions ? 2 : 0.7) * rng.normal());
      for (int i = 0; i < head.raw_size(); ++i) {
        const float m = outputs.at(i, lane);
        raw.at(i, lane) = head.is_continuous() ? m + std::exp(outputs.at(head.actions + i, lane)) *
                                                         static_cast<float>(rng.normal())
                                               : static_cast<float>(rng.below(head.actions));
      }
      for (int a = 0; masked && a < head.actions; ++a)
        mask.push_back(a == static_cast<int>(raw.at(0, lane)) || rng.below(2) == 1);
    }
    distribution(head, lanes_view(), d.data());
  }
  PolicyLanes lanes_view() {
    return {.outputs = outputs.data(),
            .width = width,
            .mask = mask.empty() ? nullptr : mask.data(),
            .rows = width};
  }
  reference::Policy twin(int lane) {
    reference::Policy policy{.head = head, .outputs = {}};
    for (int i = 0; i < head.outputs(); ++i) policy.outputs.push_back(outputs.at(i, lane));
    if (!mask.empty()) {
      const auto row = mask.begin() + static_cast<std::ptrdiff_t>(lane) * head.actions;
      policy.allowed.assign(row, row + head.actions);
    }
    return policy;
  }
  std::vector<double> raw_of(int lane) {
    std::vector<double> values;
    for (int i = 0; i < head.raw_size(); ++i) values.push_back(raw.at(i, lane));
    return values;
  }
};

template <class Check>
void for_random_blocks(Check&& check) {
  Rng rng(1, Purpose::test, 0, 0);
  for (const int width : {8, 24, 32}) {
    for (int size = 1; size <= 7; ++size) {
      Block gaussian(box(size, size % 2 == 0 ? Squash::smooth : Squash::clip), width, false, rng);
      Block free(numbers(size), width, false, rng);
      Block masked(numbers(size), width, true, rng);
      for (Block* block : {&gaussian, &free, &masked}) check(*block, rng);
    }
  }
}

TEST(Policy, LogProbabilityAndEntropyEqualTheTwin) {
  for_random_blocks([](Block& b, Rng&) {
    Features log_p, h;
    log_probability(b.head, b.d.data(), b.width, b.raw.data(), log_p.data());
    entropy(b.head, b.d.data(), b.width, h.data());
    for (int lane = 0; lane < b.width; ++lane) {
      const double expected = b.twin(lane).log_probability(b.raw_of(lane));
      EXPECT_NEAR(log_p.at(0, lane), expected, 1e-4 * (1 + std::abs(expected)));
      EXPECT_NEAR(h.at(0, lane), b.twin(lane).entropy(),
                  1e-5 * (1 + std::abs(b.twin(lane).entropy())));
    }
  });
}

// The closed forms against their definitions, within five standard errors of the sample.
TEST(Policy, EntropyAndDivergenceEqualSampledEstimates) {
  Rng rng(2, Purpose::test, 0, 0);
  for (const PolicyHead& head : {box(1), box(5), numbers(2), numbers(6)}) {
    Block old(head, 8, false, rng), now(head, 8, false, rng);
    for (float& x : now.outputs.values) x = 0.7f * x;
    distribution(head, now.lanes_view(), now.d.data());
    Features h, kl;
    entropy(head, old.d.data(), 8, h.data());
    divergence(head, old.d.data(), now.d.data(), 8, kl.data());
    for (int lane = 0; lane < 8; ++lane) {
      const auto e = reference::sampled_entropy(old.twin(lane), 20'000, rng);
      EXPECT_NEAR(h.at(0, lane), e.mean, 5 * e.error + 1e-5);
      const auto k = reference::sampled_divergence(old.twin(lane), now.twin(lane), 20'000, rng);
      EXPECT_NEAR(kl.at(0, lane), k.mean, 5 * k.error + 1e-4 * k.mean + 1e-5);
    }
  }
}

TEST(Policy, DivergenceFromItselfIsZero) {
  for_random_blocks([](Block& b, Rng&) {
    Features kl;
    divergence(b.head, b.d.data(), b.d.data(), b.width, kl.data());
    for (int lane = 0; lane < b.width; ++lane) EXPECT_NEAR(kl.at(0, lane), 0, 1e-6);
  });
}

// d/d outputs of (x log p + y H) by central differences of the twin.
TEST(Policy, GradientEqualsCentralDifferences) {
  for_random_blocks([](Block& b, Rng& rng) {
    Features h, dp, dh, gradient;
    entropy(b.head, b.d.data(), b.width, h.data());
    for (int lane = 0; lane < b.width; ++lane) {
      dp.at(0, lane) = static_cast<float>(rng.normal());
      dh.at(0, lane) = static_cast<float>(rng.normal());
    }
    policy_gradient(b.head, b.lanes_view(), b.d.data(), b.raw.data(), h.data(), dp.data(),
                    dh.data(), gradient.data());
    for (int lane = 0; lane < b.width; ++lane) {
      for (int i = 0; i < b.head.outputs(); ++i) {
        const auto loss = [&](double shift) {
          reference::Policy p = b.twin(lane);
          p.outputs[i] += shift;
          return dp.at(0, lane) * p.log_probability(b.raw_of(lane)) + dh.at(0, lane) * p.entropy();
        };
        const double slope = (loss(1e-5) - loss(-1e-5)) / 2e-5;
        EXPECT_NEAR(gradient.at(i, lane), slope, 2e-4 * (1 + std::abs(slope)));
      }
    }
  });
}

TEST(Policy, ClampedOutputsHaveNoGradient) {
  Block b(box(1), 8, false, *std::make_unique<Rng>(3, Purpose::test, 0, 0));
  b.outputs.at(0, 0) = 11, b.outputs.at(1, 1) = 6, b.outputs.at(1, 2) = -11;
  distribution(b.head, b.lanes_view(), b.d.data());
  EXPECT_EQ(b.d.at(0, 0), 10);
  EXPECT_EQ(b.d.at(1, 1), 5);
  EXPECT_EQ(b.d.at(1, 2), -10);
  Features h, one, gradient;
  one.values.fill(1);
  policy_gradient(b.head, b.lanes_view(), b.d.data(), b.raw.data(), h.data(), one.data(),
                  one.data(), gradient.data());
  EXPECT_EQ(gradient.at(0, 0), 0);
  EXPECT_EQ(gradient.at(1, 1), 0);
  EXPECT_EQ(gradient.at(1, 2), 0);
  EXPECT_NE(gradient.at(1, 0), 0);
}

// Frequencies over 40,000 draws, within five standard errors; masked actions are never drawn.
TEST(Policy, SamplesFollowTheDistribution) {
  Rng rng(4, Purpose::test, 0, 0);
  Block b(numbers(4), 8, true, rng);
  constexpr int kDraws = 40'000;
  std::array<int, 4> seen{};
  for (int i = 0; i < kDraws; ++i) {
    Rng own(9, Purpose::test, 0, i);
    float raw = -1;
    sample(b.head, b.d.data(), 3, own, &raw);
    ++seen[static_cast<int>(raw)];
  }
  for (int a = 0; a < 4; ++a) {
    const double p = b.twin(3).probability(a);
    EXPECT_NEAR(seen[a], kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p)) + 1e-9);
  }
}

// §5.1 of the durotaxis specification: raw zeros and raw ones.
TEST(Policy, SquashesIntoTheBounds) {
  PolicyHead head = box(5);
  head.low = {0, 0.5f, 0.5f, 0.05f, -0.5236f};
  head.high = {0.5f, 15, 4, 0.5f, 0.5236f};
  std::array<float, 5> raw{}, action{};
  squash(head, raw.data(), 1, action.data());
  const std::array<float, 5> middle = {0.25f, 7.75f, 2.25f, 0.275f, 0};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(action[i], middle[i], 1e-6f);
  raw.fill(1);
  squash(head, raw.data(), 1, action.data());
  const std::array<float, 5> ones = {0.365529f, 11.100349f, 3.058705f, 0.378976f, 0.398771f};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(action[i], ones[i], 2e-6f * (1 + ones[i]));
  raw.fill(100);
  squash(head, raw.data(), 1, action.data());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(action[i], head.high[i]);
  head.squash = Squash::clip;
  raw = {0.3f, 20, -1, 0.1f, 0};
  squash(head, raw.data(), 1, action.data());
  EXPECT_EQ(action, (std::array<float, 5>{0.3f, 15, 0.5f, 0.1f, 0}));
}

// §11.4: (5/2)(1 + ln 2 pi) = 7.094693 at unit std.
// 0.4 - (-0.1) is rounded, so that low + (high - low) may be beyond high.
TEST(Policy, RoundingStaysWithinTheBounds) {
  Rng rng(1, Purpose::test, 0, 0);
  for (int i = 0; i < 1000; ++i) {
    PolicyHead head = box(1);
    head.low[0] = static_cast<float>(rng.uniform(-1, 0));
    head.high[0] = static_cast<float>(rng.uniform(0, 1));
    for (const float raw : {-100.0f, 100.0f}) {
      float action = 0;
      squash(head, &raw, 1, &action);
      ASSERT_GE(action, head.low[0]);
      ASSERT_LE(action, head.high[0]);
    }
  }
}

TEST(Policy, EntropyOfFiveDimensions) {
  Features d, h;
  entropy(box(5), d.data(), 8, h.data());
  EXPECT_NEAR(h.at(0, 0), 7.094693, 1e-5);
}

}  // namespace
}  // namespace hotloop
