#include <gtest/gtest.h>
#include <hotloop/error.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "memory/random_words.hpp"
#include "memory/replay.hpp"
#include "reference/priority_tree.hpp"
#include "reference/replay.hpp"
#include "tests/memory/expect_row.hpp"
#include "tests/memory/random_play.hpp"

namespace hotloop {
namespace {

// Four transitions of priority 1, identified by their rewards.
Replay four(double alpha, int draws, double epsilon = 0) {
  Replay replay({.lanes = 4,
                 .obs = 1,
                 .actions = 1,
                 .capacity = 8,
                 .prioritised = true,
                 .alpha = alpha,
                 .priority_epsilon = epsilon},
                draws);
  const std::vector<float> obs = {0, 1, 2, 3};
  const std::vector<std::int32_t> actions(4);
  const std::vector<std::uint8_t> no(4);
  replay.begin(obs, {});
  replay.push({actions, obs, no, no, obs, {}, obs, {}});
  return replay;
}

// Equal priorities and one stratum each: transition k is draw k, and gets error k.
void give_priorities(Replay& replay, const std::vector<float>& errors) {
  replay.sample(1, static_cast<int>(errors.size()), 1, 0);
  for (std::size_t i = 0; i < errors.size(); ++i) ASSERT_EQ(replay.batch(0).rewards[i], i);
  replay.set_priorities(0, errors);
}

// Priorities 1, 2, 3, 4: P = .1, .2, .3, .4; w = (4 P)^-.5 = 1.5811, 1.1180, 0.9129, 0.7906, over
// the largest of the batch. Ten strata of one unit of priority draw 0, 1, 1, 2, 2, 2, 3, 3, 3, 3.
// Two strata may draw neither 0 nor 1; then another weight is the largest.
TEST(PrioritisedReplay, WorkedWeights) {
  Replay replay = four(1, 10);
  give_priorities(replay, {1, 2, 3, 4});
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(replay.priority(i), i + 1, 1e-5);
  const double w[] = {1.5811388, 1.1180340, 0.9128709, 0.7905694};
  replay.sample(1, 10, 1, 5, 0.5);
  const Batch batch = replay.batch(0);
  const int expected[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3};
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(batch.rewards[i], expected[i]);
    EXPECT_NEAR(batch.weights[i], w[expected[i]] / w[0], 1e-6);
  }
  EXPECT_EQ(batch.weights[0], 1.0f);
  int without_the_first = 0;
  for (int stream = 0; stream < 50; ++stream) {
    replay.sample(1, 2, 1, stream, 0.5);
    const Batch two = replay.batch(0);
    const int a = static_cast<int>(two.rewards[0]), b = static_cast<int>(two.rewards[1]);
    without_the_first += a > 0 ? 1 : 0;
    EXPECT_NEAR(two.weights[0], w[a] / std::max(w[a], w[b]), 1e-6);
    EXPECT_NEAR(two.weights[1], w[b] / std::max(w[a], w[b]), 1e-6);
  }
  EXPECT_GT(without_the_first, 0);
  replay.sample(1, 10, 1, 5, 0);  // beta 0: no correction
  for (int i = 0; i < 10; ++i) EXPECT_EQ(replay.batch(0).weights[i], 1.0f);
}

// alpha 0.6, epsilon 1e-4: (1 + 1e-4)^0.6 = 1.00006, (0 + 1e-4)^0.6 = 10^-2.4 = 0.00398107,
// (31.9999 + 1e-4)^0.6 = 2^3 = 8, (0.0311 + 1e-4 ~ 2^-5 = 0.03125 with 0.03115)^0.6 = 2^-3 = 0.125.
TEST(PrioritisedReplay, WorkedPriorities) {
  Replay replay = four(0.6, 4, 1e-4);
  give_priorities(replay, {1, 0, 31.9999f, 0.03115f});
  EXPECT_NEAR(replay.priority(0), 1.00006, 1e-6);
  EXPECT_NEAR(replay.priority(1), 0.00398107, 1e-7);
  EXPECT_NEAR(replay.priority(2), 8, 1e-5);
  EXPECT_NEAR(replay.priority(3), 0.125, 1e-6);
}

// A priority keeps all 24 bits of a float, and actions keep their own bits, up to 2^30 actions.
TEST(PrioritisedReplay, TakesAnyNumberOfActions) {
  for (const int actions : {1, 2, 3, 18, 1 << 14, (1 << 14) + 1, 1 << 20, 1 << 30}) {
    SCOPED_TRACE(actions);
    Replay replay(
        {.lanes = 4, .obs = 1, .actions = actions, .capacity = 8, .prioritised = true, .alpha = 1},
        4);
    const std::vector<float> obs = {0, 1, 2, 3}, rewards = {-1, 0, 1e-30f, 3e30f};
    const std::vector<std::int32_t> taken = {0, actions / 2, actions - 1, actions - 1};
    const std::vector<std::uint8_t> no(4), terminated = {0, 1, 0, 1};
    replay.begin(obs, {});
    replay.push({taken, rewards, terminated, no, obs, {}, obs, {}});
    const std::vector<float> errors = {1.2345678f, 0.9876543f, 1.5555555f, 1.0101010f};
    for (int round = 0; round < 3; ++round) {
      replay.sample(1, 4, 1, 0, 1);
      const Batch batch = replay.batch(0);
      for (int i = 0; i < 4; ++i) {
        const auto place = static_cast<int>(batch.obs[i]);
        EXPECT_EQ(batch.actions[i], taken[place]);
        EXPECT_EQ(batch.rewards[i], rewards[place]);
        EXPECT_EQ(batch.discounts[i], terminated[place] != 0 ? 0.0f : 0.99f);
      }
      if (round > 0) continue;
      replay.set_priorities(0, errors);
      for (int i = 0; i < 4; ++i) {
        const double exact = double{errors[i]} + 1e-4;
        EXPECT_NEAR(replay.priority(i), exact, 4e-7 * exact);
      }
    }
  }
}

TEST(PrioritisedReplay, NewTransitionsEnterWithTheLargestPriorityGiven) {
  Replay replay = four(1, 4);
  const std::vector<float> obs(4);
  const std::vector<std::int32_t> actions(4);
  const std::vector<std::uint8_t> no(4);
  const auto push = [&] { replay.push({actions, obs, no, no, obs, {}, obs, {}}); };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(replay.priority(i), 1);
  give_priorities(replay, {0.5, 6, 0.25, 2});
  push();
  for (int i = 4; i < 8; ++i) EXPECT_NEAR(replay.priority(i), 6, 1e-5);
  for (int i = 8; i < 12; ++i) EXPECT_EQ(replay.priority(i), 0) << "the head";
  push();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(replay.priority(i), 0) << "the head again";
  for (int i = 8; i < 12; ++i) EXPECT_NEAR(replay.priority(i), 6, 1e-5);
}

// After any error the transition can still be drawn and the tree is valid.
TEST(PrioritisedReplay, OddErrorsAreClamped) {
  Replay replay = four(1, 4);
  const double unit = 1.0 / PriorityTree::kOne;
  give_priorities(replay, {0, 1e30f, std::nanf(""), INFINITY});
  EXPECT_EQ(replay.priority(0), unit);
  EXPECT_EQ(replay.priority(1), std::ldexp(1.0, 48) * unit);
  EXPECT_EQ(replay.priority(2), unit);
  EXPECT_EQ(replay.priority(3), replay.priority(1));
  replay.sample(1, 4, 1, 1);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isfinite(replay.batch(0).weights[i]));
}

// The last error of a transition drawn several times counts: twelve draws of four transitions with
// equal priorities draw each three times.
TEST(PrioritisedReplay, TheLastOfSeveralErrorsCounts) {
  Replay replay = four(1, 12);
  replay.sample(1, 12, 1, 0);
  std::vector<float> errors(12);
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(replay.batch(0).rewards[i], i / 3);
    errors[i] = static_cast<float>(i + 1);
  }
  replay.set_priorities(0, errors);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(replay.priority(i), 3 * i + 3, 1e-5);
}

// The same error gives the same priority at any place in a batch of any size, to the bit, and the
// same priority gives the same weight.
TEST(PrioritisedReplay, APlaceInTheBatchDoesNotChangeTheBits) {
  for (int size = 1; size <= 40; ++size) {
    Replay replay = four(0.7, size, 1e-4);
    for (const float error : {0.37f, 1.93f}) {
      replay.sample(1, size, 1, size, 0.4);
      replay.set_priorities(0, std::vector<float>(size, error));
      Replay one = four(0.7, 1, 1e-4);
      one.sample(1, 1, 1, 0);
      const auto place = static_cast<std::int64_t>(one.batch(0).rewards[0]);
      one.set_priorities(0, std::vector<float>{error});
      for (int i = 0; i < size; ++i) {
        const auto drawn = static_cast<std::int64_t>(replay.batch(0).rewards[i]);
        ASSERT_EQ(replay.priority(drawn), one.priority(place));
      }
    }
    Replay unequal = four(1, std::max(4, size));
    give_priorities(unequal, {1, 2, 3, 4});
    unequal.sample(1, size, 1, size, 0.4);
    const Batch batch = unequal.batch(0);
    for (int i = 1; i < size; ++i) {
      if (batch.rewards[i] != batch.rewards[i - 1]) continue;
      ASSERT_EQ(batch.weights[i], batch.weights[i - 1]);
    }
  }
}

// Random play and random errors: draws equal a linear search in a list, windows equal a queue,
// weights and priorities equal the formulas in double precision.
void compare_with_twins(const ReplayShape& shape, std::uint32_t lane) {
  constexpr int kSize = 13;
  RandomPlay play(shape, lane);
  Replay fast(shape, kSize);
  reference::Replay queue(shape);
  RandomPlay earlier(shape, lane + 1000);  // nothing of it may remain
  fast.begin(earlier.obs, earlier.mask);
  for (int t = 0; t < 15; ++t) {
    fast.push(earlier.step());
    fast.sample(1, kSize, 4, t, 1);
    fast.set_priorities(0, std::vector<float>(kSize, 2));
  }
  fast.begin(play.obs, play.mask);
  queue.begin(play.obs, play.mask);
  const std::int64_t n = shape.lanes, slots = shape.capacity / n, ring = slots + 1;
  reference::PriorityTree tree{std::vector<std::int64_t>(ring * n)};
  double largest = 1;
  Rng rng(8, Purpose::test, lane, 0);
  for (std::int64_t t = 0; t < 60; ++t) {
    SCOPED_TRACE(testing::Message() << "step " << t);
    const Transitions step = play.step();
    fast.push(step);
    queue.push(step);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t place = t % ring * n + i;
      ASSERT_NEAR(fast.priority(place), largest, 1e-5 * largest);
      tree.leaves[place] = std::llround(fast.priority(place) * PriorityTree::kOne);
      tree.leaves[(t + 1) % ring * n + i] = 0;
    }
    const double beta = rng.uniform();
    fast.sample(1, kSize, 4, t, beta);
    const Batch batch = fast.batch(0);
    const std::int64_t newest = shape.newest ? std::min<std::int64_t>(kSize, n) : 0;
    const std::int64_t drawn = kSize - newest;
    std::vector<std::uint64_t> random(drawn);
    random_words(Rng(4, Purpose::replay, 0, t), random);
    std::vector<std::int64_t> places(kSize);
    std::vector<double> weights(kSize);
    double most = 0;
    for (std::int64_t k = 0; k < kSize; ++k) {
      places[k] = k < drawn ? static_cast<std::int64_t>(tree.draw(random[k], k, drawn))
                            : t % ring * n + k - drawn;
      const double probability =
          static_cast<double>(tree.leaves[places[k]]) / static_cast<double>(tree.total());
      weights[k] = std::pow(static_cast<double>(fast.size()) * probability, -beta);
      most = std::max(most, weights[k]);
    }
    const std::int64_t oldest = std::max<std::int64_t>(0, t + 1 - slots);
    for (int k = 0; k < kSize; ++k) {
      const std::int64_t age = (places[k] / n - oldest % ring + ring) % ring;
      const reference::Window w = queue.window(age * n + places[k] % n);
      ASSERT_NO_FATAL_FAILURE(expect_row(batch, k, shape, w));
      ASSERT_NEAR(batch.weights[k], weights[k] / most, 2e-6);
    }
    std::vector<float> errors(kSize);
    for (float& error : errors) error = static_cast<float>(std::exp(2 * rng.normal()));
    fast.set_priorities(0, errors);
    std::vector<double> expected(ring * n, -1);
    for (int k = 0; k < kSize; ++k) {
      const double p = std::pow(errors[k] + shape.priority_epsilon, shape.alpha);
      expected[places[k]] = p;
      largest = std::max(largest, p);
    }
    for (std::int64_t place = 0; place < ring * n; ++place) {
      const double is = fast.priority(place);
      if (expected[place] < 0) {
        ASSERT_EQ(std::llround(is * PriorityTree::kOne), tree.leaves[place]);
      } else {
        ASSERT_NEAR(is, expected[place], 2e-6 * expected[place] + 1.0 / PriorityTree::kOne);
        tree.leaves[place] = std::llround(is * PriorityTree::kOne);
      }
    }
  }
}

TEST(PrioritisedReplay, EqualsItsSlowTwins) {
  std::uint32_t lane = 0;
  for (const int action_size : {1, 5, 64}) {
    compare_with_twins({.lanes = 3,
                        .obs = 2,
                        .action_size = action_size,
                        .max_steps = 5,
                        .capacity = 27,
                        .steps = 3,
                        .gamma = 0.9,
                        .prioritised = true},
                       200 + action_size);
  }
  for (int lanes : {1, 3, 17}) {
    for (int steps : {1, 4}) {
      for (bool newest : {false, true}) {
        compare_with_twins({.lanes = lanes,
                            .obs = 2,
                            .actions = 3,
                            .masks = true,
                            .max_steps = 5,
                            .capacity = lanes * 9,
                            .steps = steps,
                            .gamma = 0.9,
                            .newest = newest,
                            .prioritised = true,
                            .alpha = newest ? 1.0 : 0.6},
                           lane++);
      }
    }
  }
}

std::string everything(Replay& replay) {
  std::string bytes;
  replay.visit([&](std::string_view, auto array, const Limits&) {
    bytes.append(reinterpret_cast<const char*>(array.data()), array.size_bytes());
  });
  return bytes;
}

// Saves, loads into a new replay and continues both: before the ring is full, when it is just full,
// and long after. Everything stays the same to the bit.
TEST(PrioritisedReplay, ContinuesFromACheckpointToTheBit) {
  for (const auto& [prioritised, action_size] :
       {std::pair{false, 0}, {true, 0}, {false, 7}, {true, 64}}) {
    for (const int saved_after : {0, 1, 5, 8, 9, 10, 31}) {
      const bool discrete = action_size == 0;
      const ReplayShape shape{.lanes = 3,
                              .obs = 2,
                              .actions = discrete ? 3 : 0,
                              .action_size = action_size,
                              .masks = discrete,
                              .max_steps = 4,
                              .capacity = 27,
                              .steps = 2,
                              .prioritised = prioritised};
      RandomPlay play(shape, 50);
      Rng rng(9, Purpose::test, 0, 0);
      std::vector<float> errors(8);
      const auto learn = [&](Replay& replay, int t) {
        replay.sample(1, 8, 1, t, 0.5);
        if (prioritised) replay.set_priorities(0, errors);
      };
      Replay first(shape, 8), second(shape, 8);
      first.begin(play.obs, play.mask);
      second.begin(play.obs, play.mask);
      for (int t = 0; t < 60; ++t) {
        if (t == saved_after) {
          const std::string saved = everything(first);
          std::size_t at = 0;
          second.visit([&](std::string_view, auto array, const Limits&) {
            ASSERT_LE(at + array.size_bytes(), saved.size());
            if (!array.empty()) std::memcpy(array.data(), saved.data() + at, array.size_bytes());
            at += array.size_bytes();
          });
          ASSERT_EQ(at, saved.size());
          second.restored(std::int64_t{saved_after} * shape.lanes);
        }
        for (float& error : errors) error = static_cast<float>(std::exp(rng.normal()));
        const Transitions step = play.step();
        first.push(step);
        learn(first, t);
        if (t < saved_after) continue;
        second.push(step);
        learn(second, t);
        ASSERT_EQ(everything(first), everything(second)) << "step " << t;
        ASSERT_EQ(first.terminals(), second.terminals());
        const Batch a = first.batch(0), b = second.batch(0);
        ASSERT_EQ(std::memcmp(a.obs, b.obs, 16 * sizeof(float)), 0);
        ASSERT_EQ(std::memcmp(a.next_obs, b.next_obs, 16 * sizeof(float)), 0);
        ASSERT_EQ(std::memcmp(a.rewards, b.rewards, 8 * sizeof(float)), 0);
        ASSERT_EQ(std::memcmp(a.discounts, b.discounts, 8 * sizeof(float)), 0);
        if (discrete) {
          ASSERT_EQ(std::memcmp(a.actions, b.actions, 8 * sizeof(std::int32_t)), 0);
        } else {
          ASSERT_EQ(std::memcmp(a.continuous_actions, b.continuous_actions,
                                8 * sizeof(float) * action_size),
                    0);
        }
        ASSERT_EQ(a.weights == nullptr, !prioritised);
        if (prioritised) {
          ASSERT_EQ(std::memcmp(a.weights, b.weights, 8 * sizeof(float)), 0);
        }
      }
    }
  }
}

// Priorities from a file are checked before use: an invalid one would break sampling.
TEST(PrioritisedReplay, RefusesInvalidPriorities) {
  for (const std::string field : {"priorities", "largest_priority"}) {
    for (const float wrong : {-1.0f, 0.5f, 0x1p50f, std::nanf(""), INFINITY}) {
      Replay replay = four(1, 4);
      bool refused = false;
      replay.visit([&](std::string_view name, auto array, const Limits& limits) {
        if constexpr (std::is_same_v<decltype(array), std::span<float>>) {
          if (name != field) return;
          array[0] = wrong;
          refused = limits.first_outside(std::span<const float>(array)) == 0u;
        }
      });
      EXPECT_TRUE(refused) << field << " " << wrong;
    }
  }
  Replay replay = four(1, 4);
  EXPECT_NO_THROW(replay.restored(4));
  EXPECT_THROW(replay.restored(5), RunError);
}

// Without any priority, a draw would search beyond the tree; the head must never be drawn.
TEST(PrioritisedReplay, RefusesPrioritiesOfNothingAndOfTheHead) {
  for (const std::size_t place : {0, 4}) {
    Replay replay = four(1, 4);
    replay.visit([&](std::string_view name, auto array, const Limits&) {
      if constexpr (std::is_same_v<decltype(array), std::span<float>>) {
        if (name == "priorities") array[place] = place == 4 ? 1 : 0;
      }
    });
    EXPECT_THROW(replay.restored(4), RunError) << place;
  }
}

}  // namespace
}  // namespace hotloop
