#include "algo/pqn/learner.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

constexpr float kGamma = 0.5f;

const WorldFacts kSixStates{.spec = {.name = "six_states", .obs = 6, .actions = 2, .max_steps = 9},
                            .steps_between_truncations = 9};

// Two lanes, three steps, observations one-hot over six states, no hidden layer and no bias: the
// weights are the table Q(s, a) = table[a][s], and SGD at rate 1 shows what each Q was pulled to.
struct Scene {
  AgentSpec spec;
  PqnLearner learner;
  ThreadTeam team{1};
  Counters counters;
  Window window;
  Actions actions{{.name = {}, .actions = 2}, 2};
  static constexpr float table[2][6] = {{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}};

  static AgentSpec make_spec(std::string_view algorithm, double epsilon) {
    AgentSpec s;
    use_algorithm(s, find_algorithm(algorithm));
    s.envs = 2;
    s.learn.gamma = kGamma;
    s.learn.batch = 6;
    s.net.hidden = {};
    s.optimiser = {.kind = OptimiserKind::sgd, .learning_rate = constant(1)};
    pqn(s).loss = Loss::mse;
    pqn(s).explore.epsilon = constant(epsilon);
    rollout(s) = {.n_steps = 3, .n_epochs = 1, .lambda = 0.5};
    return s;
  }

  explicit Scene(std::string_view algorithm, double epsilon = 0)
      : spec(make_spec(algorithm, epsilon)), learner(spec, kSixStates, 1) {
    std::fill(learner.acting().online().begin(), learner.acting().online().end(), 0.0f);
    for (int a = 0; a < 2; ++a) {
      for (int s = 0; s < 6; ++s) q(s, a) = table[a][s];
    }
  }
  float& q(int s, int a) {
    const auto& layer = std::get<DenseLayer>(learner.acting().structure().layers[0]);
    return learner.acting().online()[layer.weight + static_cast<std::size_t>(a) * layer.stride + s];
  }
  static std::vector<float> one_hot(int left, int right) {
    std::vector<float> obs(12, 0.0f);
    obs[left] = obs[6 + right] = 1;
    return obs;
  }
  // Takes `taken` regardless of the network, so that SARSA's a' is known.
  void step(std::array<int, 2> from, std::array<std::int32_t, 2> taken,
            std::array<float, 2> rewards, std::array<int, 2> to,
            std::array<std::uint8_t, 2> terminated = {0, 0},
            std::array<std::uint8_t, 2> truncated = {0, 0}, std::array<int, 2> finals = {0, 0}) {
    learner.act(one_hot(from[0], from[1]), {}, vector_step++, counters, team, actions);
    const std::vector<float> next = one_hot(to[0], to[1]), last = one_hot(finals[0], finals[1]);
    counters.env_steps += 2;
    learner.push({taken, rewards, terminated, truncated, next, {}, last, {}}, counters);
  }
  void learn() {
    ++counters.train_events;
    learner.learn({counters, window, team});
  }
  std::uint64_t vector_step = 0;
};

// Lane 0 visits 0, 1, 2, 3 with rewards 1, 2, 3 and does not end. Lane 1 starts in 5: it is
// truncated after one step (final state 4, continues in 3), terminates after the second (continues
// in 0), and is in 1 at the end. Greedy values: V(s) = max of the table's column = 6, 5, 4, 4, 5, 6.
// By hand, gamma = lambda = 1/2:
//   lane 0: G2 = 3 + V(3)/2 = 5;  G1 = 2 + (G2 + V(2))/4 = 4.25;  G0 = 1 + (G1 + V(1))/4 = 3.3125
//   lane 1: G0 = 10 + V(4)/2 = 12.5;  G1 = 20;  G2 = 30 + V(1)/2 = 32.5
// The update with rate 1 on the mean of six squared errors moves Q(s, a) by 2 (G - Q) / 6.
TEST(PqnLearner, PqnFollowsReturnsWorkedByHand) {
  Scene scene("pqn");
  scene.learner.begin(Scene::one_hot(0, 5), {});
  scene.step({0, 5}, {0, 0}, {1, 10}, {1, 3}, {0, 0}, {0, 1}, {0, 4});
  scene.step({1, 3}, {0, 1}, {2, 20}, {2, 0}, {0, 1});
  scene.step({2, 0}, {0, 1}, {3, 30}, {3, 1});
  scene.learn();
  const double third = 1.0 / 3;
  // Each pair (s, a) was taken once. The bias takes part too: it starts at 0 and does not enter Q.
  EXPECT_NEAR(scene.q(0, 0), 1 + third * (3.3125 - 1), 1e-5);
  EXPECT_NEAR(scene.q(1, 0), 2 + third * (4.25 - 2), 1e-5);
  EXPECT_NEAR(scene.q(2, 0), 3 + third * (5 - 3), 1e-5);
  EXPECT_NEAR(scene.q(5, 0), 6 + third * (12.5 - 6), 1e-5);
  EXPECT_NEAR(scene.q(3, 1), 3 + third * (20 - 3), 1e-5);
  EXPECT_NEAR(scene.q(0, 1), 6 + third * (32.5 - 6), 1e-5);
  EXPECT_EQ(scene.q(4, 0), 5) << "never visited";
  EXPECT_EQ(scene.counters.updates, 1);
}

// The same life for SARSA with epsilon 1/2. Where the episode was truncated, in the final state 4, Q = (5, 2), and V = 1/2 * 3.5 + 1/2 * 5 = 4.25, not the
// maximum 5. So G = 10 + 4.25 / 2 = 12.125, and Q(5, 0) moves by (12.125 - 6) / 3.
TEST(PqnLearner, SarsaValuesFinalStatesByItsPolicy) {
  Scene scene("sarsa", 0.5);
  scene.learner.begin(Scene::one_hot(0, 5), {});
  scene.step({0, 5}, {0, 0}, {1, 10}, {1, 3}, {0, 0}, {0, 1}, {0, 4});
  scene.step({1, 3}, {0, 1}, {2, 20}, {2, 0}, {0, 1});
  scene.step({2, 0}, {0, 1}, {3, 30}, {3, 1});
  scene.learn();
  EXPECT_NEAR(scene.q(5, 0), 6 + (12.125 - 6) / 3, 1e-5);
  EXPECT_NEAR(scene.q(3, 1), 3 + (20.0 - 3) / 3, 1e-5) << "terminated: no value";
}

// SARSA without exploration takes the greedy action, so a' is the argmax and V is the same. The
// difference shows when it chooses an action before learning and takes it afterwards.
TEST(PqnLearner, SarsaTakesTheActionItChoseBeforeLearning) {
  Scene scene("sarsa");
  scene.learner.begin(Scene::one_hot(0, 5), {});
  // In state 2 the values are close (3, 4): learning pulls Q(2, 0) far above Q(2, 1).
  scene.step({0, 5}, {1, 0}, {0, 0}, {2, 5});
  scene.step({2, 5}, {0, 0}, {900, 0}, {2, 5});
  scene.step({2, 5}, {0, 0}, {900, 0}, {2, 5});
  scene.learn();
  EXPECT_GT(scene.q(2, 0), scene.q(2, 1)) << "learning changed the greedy action of state 2";
  scene.learner.act(Scene::one_hot(2, 5), {}, scene.vector_step, scene.counters, scene.team,
                    scene.actions);
  EXPECT_EQ(scene.actions.discrete[0], 1) << "chosen with the values before learning";
  EXPECT_EQ(scene.actions.discrete[1], 0);
}

// SARSA's V is Q(s', a') of the action taken next, not the maximum. With epsilon 1 actions are
// random, and the returns must use what `act` chose.
TEST(PqnLearner, SarsaBootstrapsFromTheActionTaken) {
  Scene scene("sarsa");
  AgentSpec random = scene.spec;
  pqn(random).explore.epsilon = constant(1);
  rollout(random).lambda = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    PqnLearner learner(random, kSixStates, seed);
    const auto& layer = std::get<DenseLayer>(learner.acting().structure().layers[0]);
    const auto at = [&](int s, int a) -> float& {
      return learner.acting()
          .online()[layer.weight + static_cast<std::size_t>(a) * layer.stride + s];
    };
    std::fill(learner.acting().online().begin(), learner.acting().online().end(), 0.0f);
    for (int a = 0; a < 2; ++a) {
      for (int s = 0; s < 6; ++s) at(s, a) = Scene::table[a][s];
    }
    ThreadTeam team(1);
    Counters counters;
    Window window;
    const std::vector<std::uint8_t> no = {0, 0};
    const std::vector<float> rewards = {0, 0};
    std::vector<Actions> chosen(4, scene.actions);
    learner.begin(Scene::one_hot(0, 3), {});
    for (int t = 0; t < 3; ++t) {  // lane 0 visits 0, 1, 2; lane 1 visits 3, 4, 5; both end in 0, 3
      learner.act(Scene::one_hot(t, 3 + t), {}, t, counters, team, chosen[t]);
      const std::vector<float> next = Scene::one_hot((t + 1) % 3, 3 + (t + 1) % 3);
      counters.env_steps += 2;
      learner.push({chosen[t].discrete, rewards, no, no, next, {}, next, {}}, counters);
    }
    ++counters.train_events;
    learner.learn({counters, window, team});
    learner.act(Scene::one_hot(0, 3), {}, 3, counters, team, chosen[3]);
    for (int lane = 0; lane < 2; ++lane) {
      for (int t = 0; t < 3; ++t) {
        const int s = 3 * lane + t, next = 3 * lane + (t + 1) % 3;
        const float old = Scene::table[chosen[t].discrete[lane]][s];
        const float target = kGamma * Scene::table[chosen[t + 1].discrete[lane]][next];
        EXPECT_NEAR(at(s, chosen[t].discrete[lane]), old + (target - old) / 3, 1e-5)
            << "seed " << seed << ", lane " << lane << ", step " << t;
      }
    }
  }
}

}  // namespace
}  // namespace hotloop
