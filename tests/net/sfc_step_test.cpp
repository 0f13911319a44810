// The SFC network (its specification, sections 11 and 17.8): its gradient, and one learning step
// against numbers from automatic differentiation (golden/make_sfc_step.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "algo/dqn/dqn.hpp"
#include "reference/network.hpp"
#include "tests/algo/agent_specs.hpp"
#include "tests/net/sfc_network.hpp"

namespace hotloop {
namespace {

// The formula of make_sfc_step.py.
double number(int t, int r, int c) {
  const double u = std::sin((t + 1) * 12.9898 + (r + 1) * 78.233 + (c + 1) * 37.719) * 43758.5453;
  return 2 * (u - std::floor(u)) - 1;
}

void set_parameters(const Structure& net, int first, std::span<float> parameters) {
  int t = first;
  for (const TensorInfo& tensor : tensors(net)) {
    const double scale = tensor.is_vector() ? 0.1 : std::sqrt(6.0 / (tensor.rows + tensor.columns));
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c)
        parameters[tensor.offset + r * tensor.stride + c] =
            static_cast<float>(number(t, r, c) * scale);
    }
    ++t;
  }
}

constexpr int kBatch = 16, kObs = 152, kActions = 13;

struct LearningStep {
  Structure net = sfc_network();
  Dqn dqn;
  std::vector<float> obs, next, rewards, discounts;
  std::vector<std::int32_t> actions;
  ThreadTeam team{1};

  explicit LearningStep(const OptimiserOptions& optimiser)
      : dqn(net,
            agent(
                DqnOptions{.loss = Loss::mse},
                {.learn = {.batch = kBatch}, .optimiser = optimiser, .init = Initialiser::glorot}),
            1) {
    set_parameters(net, 0, dqn.online());
    set_parameters(net, 100, dqn.target());
    for (int i = 0; i < kBatch; ++i) {
      for (int f = 0; f < kObs; ++f) {
        obs.push_back(static_cast<float>(std::abs(number(200, i, f))));
        next.push_back(static_cast<float>(std::abs(number(201, i, f))));
      }
      rewards.push_back(static_cast<float>(2 * number(202, i, 0)));
      discounts.push_back(i % 4 == 3 ? 0.0f : 0.99f);
      actions.push_back(i * 5 % kActions);
    }
  }

  QReport run(double rate) {
    const Batch batch{.size = kBatch,
                      .obs = obs.data(),
                      .next_obs = next.data(),
                      .actions = actions.data(),
                      .rewards = rewards.data(),
                      .discounts = discounts.data()};
    return dqn.update(batch, rate, team);
  }
  float parameter(int t, int r, int c) {
    const TensorInfo tensor = tensors(net).at(t);
    return dqn.online()[tensor.offset + r * tensor.stride + c];
  }
};

TEST(SfcNetwork, ALearningStepIsThatOfAutomaticDifferentiation) {
  LearningStep before({}), plain({.kind = OptimiserKind::sgd}), adam({.epsilon = 1e-7f});
  Workspace workspace(before.net, kBatch, Use::training);
  forward(Plan(before.net), before.dqn.online(), before.obs.data(), kBatch, workspace);
  const double loss = plain.run(1).loss;  // a step of size 1 is the gradient
  adam.run(1e-4);
  std::ifstream file(HOTLOOP_NET_GOLDEN_DIR "/sfc_step.txt");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    std::istringstream words(line);
    std::string kind;
    int t = 0, r = 0, c = 0;
    double expected = 0;
    words >> kind;
    if (kind == "loss") {
      words >> expected;
      EXPECT_NEAR(loss, expected, 1e-5);
    } else if (kind == "q") {
      words >> r >> c >> expected;
      EXPECT_NEAR(workspace.outputs(0)[c * kLanes + r], expected, 1e-5) << line;
    } else {
      words >> t >> r >> c >> expected;
      const bool is_gradient = kind == "gradient";
      const double found = is_gradient ? before.parameter(t, r, c) - plain.parameter(t, r, c)
                                       : adam.parameter(t, r, c);
      EXPECT_NEAR(found, expected, is_gradient ? 1e-6 : 1e-5) << line;
    }
    EXPECT_FALSE(words.fail()) << line;
  }
  EXPECT_EQ(lines, 2 * 13 + 1 + 24 * 5 * 2);
}

// Section 17.8: r = -1 and the best next value 2 give -1 + 0.99 * 2 = 0.98; the end of an episode
// -1.
TEST(SfcNetwork, TargetsAreTheWorkedOnes) {
  LearningStep step({.kind = OptimiserKind::sgd});
  for (const auto parameters : {step.dqn.online(), step.dqn.target()})
    std::fill(parameters.begin(), parameters.end(), 0.0f);
  const TensorInfo head = tensors(step.net).back();  // biases of the 13 actions
  step.dqn.target()[head.offset + 4] = 2;
  step.rewards.assign(kBatch, -1);
  step.actions.assign(kBatch, 3);
  for (const bool ends : {false, true}) {
    step.discounts.assign(kBatch, ends ? 0.0f : 0.99f);
    step.dqn.online()[head.offset + 3] = 0;
    const double target = ends ? -1 : 0.98;
    EXPECT_NEAR(step.run(0.5).loss, target * target, 1e-6);         // Q = 0 everywhere
    EXPECT_NEAR(step.dqn.online()[head.offset + 3], target, 1e-6);  // a step of 1/2 closes the gap
  }
}

// The whole network: the full fast gradient against the slow twin's, and a sample of the twin's
// from every tensor against central differences.
TEST(SfcNetwork, TheGradientOfTheWholeNetworkIsRight) {
  const Structure net = sfc_network();
  Rng rng(3, Purpose::test, 0, 0);
  std::vector<float> parameters(net.storage);
  set_parameters(net, 0, parameters);
  std::vector<float> x(2 * kObs);
  for (float& value : x) value = static_cast<float>(rng.normal());
  std::vector<float> dy(2 * kActions);
  for (float& value : dy) value = static_cast<float>(rng.normal());

  const Plan plan(net);
  Workspace workspace(net, 2, Use::training);
  forward(plan, parameters, x.data(), 2, workspace);
  std::vector<double> exact(parameters.begin(), parameters.end()), expected(net.storage);
  for (int row = 0; row < 2; ++row) {
    const std::vector<double> in(x.begin() + row * kObs, x.begin() + (row + 1) * kObs);
    const std::vector<double> d(dy.begin() + row * kActions, dy.begin() + (row + 1) * kActions);
    const auto trace = reference::forward<double>(net, exact, in);
    reference::backward<double>(net, exact, trace, d, expected);
    for (int a = 0; a < kActions; ++a) {
      EXPECT_NEAR(workspace.outputs(0)[a * kLanes + row], trace.y.back()[a], 1e-5);
      workspace.output_gradient(0)[a * kLanes + row] = dy[row * kActions + a];
    }
  }
  std::vector<float> gradient(net.storage);
  backward(plan, parameters, 2, workspace, gradient);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    ASSERT_NEAR(gradient[i], expected[i], 1e-5 * (1 + std::abs(expected[i]))) << i;
  }

  const auto loss = [&] {
    double sum = 0;
    for (int row = 0; row < 2; ++row) {
      const std::vector<double> in(x.begin() + row * kObs, x.begin() + (row + 1) * kObs);
      const auto y = reference::forward<double>(net, exact, in).y.back();
      for (int a = 0; a < kActions; ++a) sum += y[a] * dy[row * kActions + a];
    }
    return sum;
  };
  for (const TensorInfo& tensor : tensors(net)) {
    double size = 0;
    for (int k = 0; k < 30; ++k) {
      const std::size_t i =
          tensor.offset + rng.below(tensor.rows) * tensor.stride + rng.below(tensor.columns);
      const double keep = exact[i], h = 1e-6;
      exact[i] = keep + h;
      const double up = loss();
      exact[i] = keep - h;
      const double down = loss();
      exact[i] = keep;
      EXPECT_NEAR(expected[i], (up - down) / (2 * h), 1e-6) << tensor.name;
      size = std::max(size, std::abs(expected[i]));
    }
    // The bias of the scores shifts them all equally, so attention does not depend on it.
    if (tensor.name.ends_with("score.bias")) {
      EXPECT_LT(size, 1e-12);
    } else {
      EXPECT_GT(size, 1e-5) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace hotloop
