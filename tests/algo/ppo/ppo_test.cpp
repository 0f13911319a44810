#include "algo/ppo/ppo.hpp"

#include <gtest/gtest.h>

#include <hotloop/error.hpp>
#include <hotloop/rng.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

#include "reference/network.hpp"
#include "reference/policy.hpp"
#include "tests/algo/agent_specs.hpp"

namespace hotloop {
namespace {

struct Case {
  const char* name;
  bool is_continuous = false;
  bool masked = false;
  StdSource std_source = StdSource::state_independent;
  NetOptions net = {};
  PpoOptions options = {};
  bool is_forest = false;  // observations are forests of up to six nodes
};

// KL(old || now): the definition if it is a sum, else the formula for Gaussians.
double divergence(const reference::Policy& old, const reference::Policy& now) {
  double sum = 0;
  for (int i = 0; i < now.head.actions; ++i) {
    if (!now.head.is_continuous()) {
      const double p = old.probability(i);
      if (p > 0) sum += p * std::log(p / now.probability(i));
      continue;
    }
    const double s = old.std_of(i), t = now.std_of(i), apart = old.mean(i) - now.mean(i);
    sum += std::log(t / s) + (s * s + apart * apart) / (2 * t * t) - 0.5;
  }
  return sum;
}

// A rollout of random observations in which the network acted; the network has changed since.
class Scene {
 public:
  static constexpr int kSteps = 15, kEnvs = 9;  // 135 places: over 128, and the last block not full
  static constexpr int kPlaces = kSteps * kEnvs;
  static constexpr int kNodes = 6, kForest = 2 + kNodes * (2 + 1 + 1);

  explicit Scene(const Case& c, int batch = kPlaces)
      : case_(c),
        obs_size_(c.is_forest ? kForest : 5),
        head_{.policy = {.kind = c.is_continuous ? PolicyKind::gaussian : PolicyKind::categorical,
                         .actions = 3,
                         .low = {-1, -1, 0},
                         .high = {1, 1, 2}},
              .values = 1 + static_cast<int>(c.options.part_weights.size())},
        structure_(make_structure()),
        ppo_(structure_, head_,
             agent(c.options, {.learn = {.batch = batch},
                               .optimiser = {.kind = OptimiserKind::sgd},
                               .init = Initialiser::glorot,
                               .envs = kEnvs}),
             7),
        rollout_(
            {.steps = kSteps, .lanes = kEnvs, .obs = obs_size_, .actions = 3, .masks = c.masked}) {
    raw_.resize(static_cast<std::size_t>(kPlaces) * head_.policy.raw_size());
    distribution_.resize(static_cast<std::size_t>(kPlaces) * head_.policy.outputs());
    log_probability_.resize(kPlaces);
    values_.resize(static_cast<std::size_t>(head_.values) * kPlaces);
    acted_ = {raw_, log_probability_, distribution_, values_, kPlaces};
    for (float& p : ppo_.online()) p += static_cast<float>(0.3 * rng_.normal());
    acted_by_.assign(ppo_.online().begin(), ppo_.online().end());
    collect();
    for (int i = 0; i < head_.values * kPlaces; ++i)
      returns_.push_back(values_[i] + static_cast<float>(rng_.normal()));
    for (int i = 0; i < kPlaces; ++i) advantages_.push_back(static_cast<float>(rng_.normal()));
    order_.resize(kPlaces);
    std::iota(order_.begin(), order_.end(), 0);
  }

  void collect() {
    std::vector<float> obs(kEnvs * obs_size_), rewards(kEnvs);
    std::vector<std::uint8_t> mask(case_.masked ? kEnvs * 3 : 0), none(kEnvs);
    std::vector<std::int32_t> discrete(kEnvs);
    std::vector<float> continuous(kEnvs * 3);
    const auto look = [&] {
      for (float& x : obs) x = static_cast<float>(rng_.normal());
      for (int env = 0; case_.is_forest && env < kEnvs; ++env) make_forest(&obs[env * obs_size_]);
      for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 == 1 || rng_.below(2) == 1;
    };
    look();
    rollout_.begin(obs, mask);
    for (int t = 0; t < kSteps; ++t) {
      ppo_.act(obs, mask, t, team_, static_cast<std::size_t>(t) * kEnvs, acted_, discrete,
               continuous);
      look();
      rollout_.push({discrete, rewards, none, none, obs, mask, obs, mask});
    }
  }
  void move(double size) {
    for (float& p : ppo_.online()) p += static_cast<float>(size * rng_.normal());
  }
  UpdateInput lesson(double learning_rate) const {
    return {.rollout = rollout_,
            .old_policy = acted_,
            .returns = returns_,
            .advantages = advantages_,
            .clip = 0.2,
            .entropy_weight = 0.03,
            .learning_rate = learning_rate};
  }
  PpoReport update(double learning_rate) {
    return ppo_.update(lesson(learning_rate), order_, team_);
  }
  Ppo& ppo() { return ppo_; }
  const ActorCriticHead& head() const { return head_; }

  // The loss of ppo.hpp, written out in double over the reference network.
  double loss(const std::vector<double>& parameters) const {
    double total = 0;
    const auto [mean, spread] = advantage_moments();
    for (int place = 0; place < kPlaces; ++place) {
      const reference::Policy policy = policy_at(place, parameters);
      const std::vector<double>& y = policy.outputs;
      const double ratio = ratio_at(place, policy);
      const double a = (advantages_[place] - mean) / spread;
      total -= std::min(ratio * a, std::clamp(ratio, 0.8, 1.2) * a);
      const double h = policy.entropy();
      total -= 0.03 * h;
      const PpoOptions& o = case_.options;
      if (h < o.entropy_floor) total += o.entropy_floor_coef * (o.entropy_floor - h);
      for (int k = 0; k < head_.values; ++k) {
        const double weight = o.vf_coef * (k == 0 ? 1 : o.part_weights[k - 1]);
        const double v = y[head_.policy.outputs() + k], g = returns_[k * kPlaces + place];
        const double old = values_[k * kPlaces + place];
        double square = (v - g) * (v - g);
        if (o.clip_range_vf > 0) {
          const double held = old + std::clamp(v - old, -o.clip_range_vf, o.clip_range_vf) - g;
          square = std::max(square, held * held);
        }
        total += weight * square;
      }
    }
    return total / kPlaces;
  }
  // What is reported about the whole batch besides its loss, with the parameters before the update.
  PpoReport report(const std::vector<double>& parameters) const {
    PpoReport report;
    for (int place = 0; place < kPlaces; ++place) {
      const reference::Policy policy = policy_at(place, parameters);
      report.entropy += policy.entropy() / kPlaces;
      report.kl += divergence(policy_at(place, acted_by_), policy) / kPlaces;
      report.clipped += (std::abs(ratio_at(place, policy) - 1) > 0.2 ? 1.0 : 0.0) / kPlaces;
      report.mean_value += policy.outputs[head_.policy.outputs()] / kPlaces;
    }
    return report;
  }
  const Structure& structure() const { return structure_; }

 private:
  // The outputs of the network: first the policy, then the values.
  reference::Policy policy_at(int place, const std::vector<double>& parameters) const {
    const float* obs = rollout_.obs().data() + static_cast<std::size_t>(place) * obs_size_;
    reference::Policy policy{.head = head_.policy,
                             .outputs = outputs(parameters, {obs, obs + obs_size_})};
    if (case_.masked) {
      const std::uint8_t* row = rollout_.mask().data() + static_cast<std::size_t>(place) * 3;
      policy.allowed.assign(row, row + 3);
    }
    return policy;
  }
  double ratio_at(int place, const reference::Policy& policy) const {
    const int size = head_.policy.raw_size();
    const std::vector<double> raw(raw_.begin() + place * size, raw_.begin() + (place + 1) * size);
    return std::exp(policy.log_probability(raw) - log_probability_[place]);
  }
  std::vector<double> outputs(const std::vector<double>& parameters,
                              const std::vector<double>& obs) const {
    const auto trace = reference::forward<double>(structure_, parameters, obs);
    const auto first = trace.features.begin() + structure_.outputs_at;
    return {first, first + structure_.outputs};
  }
  Structure make_structure() const {
    const bool free = case_.is_continuous && case_.std_source == StdSource::state_independent;
    return make_actor_critic(obs_size_,
                             {.policy = free ? 3 : head_.policy.outputs(),
                              .free = free ? 3 : 0,
                              .free_initial = -0.3f,
                              .values = head_.values},
                             case_.net, {}, parts());
  }
  std::vector<InputPart> parts() const {
    if (!case_.is_forest) return {};
    return {{"graph", 1, 2}, {"nodes", kNodes, 2}, {"edges", kNodes, 1}, {"parents", 1, kNodes}};
  }
  // A random number of nodes; the parent of each is an earlier node or none.
  void make_forest(float* obs) {
    float* parents = obs + kForest - kNodes;
    const int count = static_cast<int>(rng_.below(kNodes + 1));
    for (int i = 0; i < kNodes; ++i)
      parents[i] = i >= count ? -2.0f : static_cast<float>(rng_.below(i + 1)) - 1;
  }
  std::pair<double, double> advantage_moments() const {
    if (case_.options.advantages != Standardise::batch) return {0, 1};
    const double mean = std::accumulate(advantages_.begin(), advantages_.end(), 0.0) / kPlaces;
    double squares = 0;
    for (const float a : advantages_) squares += (a - mean) * (a - mean);
    return {mean, std::sqrt(squares / kPlaces)};
  }

  Case case_;
  int obs_size_;
  Rng rng_{5, Purpose::test, 0, 0};
  ActorCriticHead head_;
  Structure structure_;
  Ppo ppo_;
  Rollout rollout_;
  ThreadTeam team_{1};
  std::vector<double> acted_by_;  // the parameters that acted
  std::vector<float> raw_, log_probability_, distribution_, values_, returns_, advantages_;
  std::vector<std::int32_t> order_;
  OldPolicy acted_;
};

std::vector<Case> cases() {
  const NetOptions shared{.hidden = {6}, .activation = Activation::tanh};
  NetOptions separate = shared, norm = shared, graph = shared, forest = shared;
  separate.separate = true;
  norm.layer_norm = true;
  graph.graph.kind = GraphKind::small_world;
  graph.graph.hidden = {8};
  graph.graph.degree = 4;
  graph.activation = Activation::tanh;
  forest.branches = {
      {"tokens", {"graph", "nodes", "edges", "parents"}, {"forest 8 rounds 2 heads 2 groups 2"}},
      {"critic", {"tokens"}, {"row 1", "dense 4 gelu", "norm"}},
      {"actor", {"tokens"}, {"flatten", "dense 5 linear", "norm"}}};
  forest.value_from = "critic";
  forest.hidden = {};
  const PpoOptions plain{.advantages = Standardise::none};
  PpoOptions batch, floor, parts;
  floor.entropy_floor = 50;
  parts.part_weights = {0.4, 0.3};
  parts.clip_range_vf = 0.1;
  return {{"discrete", false, false, StdSource::state_independent, shared, plain},
          {"masked", false, true, StdSource::state_independent, separate, batch},
          {"graph", false, false, StdSource::state_independent, graph, batch},
          {"continuous", true, false, StdSource::state_independent, shared, plain},
          {"std_from_network", true, false, StdSource::network, norm, floor},
          {"parts", true, false, StdSource::network, separate, parts},
          {"forest", true, false, StdSource::network, forest, parts, true}};
}

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
class EveryPpo : public testing::TestWithParam<Case> {};

// Also for a single row, which has another width. Without clip, values and entropy, the loss is the
// mean of -r A: bit-equal to the mean of -A only if every r is exactly 1.
TEST_P(EveryPpo, RatioIsExactlyOneBeforeTheFirstUpdate) {
  for (const int batch : {Scene::kPlaces, 1, 8}) {
    Case bare = GetParam();
    bare.options.advantages = Standardise::none;
    bare.options.vf_coef = 0;
    bare.options.entropy_floor = std::nan("");
    Scene scene(bare, batch);
    ThreadTeam team(1);
    std::vector<std::int32_t> places(batch);
    std::iota(places.begin(), places.end(), 3);
    for (std::int32_t& place : places) place %= Scene::kPlaces;
    UpdateInput lesson = scene.lesson(0);
    lesson.clip = 1e9, lesson.entropy_weight = 0;
    const PpoReport report = scene.ppo().update(lesson, places, team);
    EXPECT_NEAR(report.kl, 0, 1e-6);
    double sum = 0;
    for (const std::int32_t place : places) sum -= static_cast<double>(lesson.advantages[place]);
    EXPECT_EQ(report.loss, sum / batch);
  }
}

// SGD at rate 1 moves the parameters by the gradient.
TEST_P(EveryPpo, GradientOfTheFullLossEqualsCentralDifferences) {
  Scene scene(GetParam());
  scene.move(0.03);
  const std::vector<float> before(scene.ppo().online().begin(), scene.ppo().online().end());
  std::vector<double> exact(before.begin(), before.end());
  EXPECT_NEAR(scene.update(1).loss, scene.loss(exact), 1e-5 * (1 + std::abs(scene.loss(exact))));
  for (const TensorInfo& tensor : tensors(scene.structure())) {
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c) {
        const std::size_t i = tensor.offset + static_cast<std::size_t>(r) * tensor.stride + c;
        const double h = 1e-6;
        exact[i] = before[i] + h;
        const double up = scene.loss(exact);
        exact[i] = before[i] - h;
        const double slope = (up - scene.loss(exact)) / (2 * h);
        exact[i] = before[i];
        EXPECT_NEAR(before[i] - scene.ppo().online()[i], slope, 2e-4 * (1 + std::abs(slope)))
            << tensor.name << " " << r << " " << c;
      }
    }
  }
}

// Over all rows, with a network that has changed enough for some ratios to be clipped.
TEST_P(EveryPpo, ReportsTheWholeBatch) {
  Scene scene(GetParam());
  scene.move(0.15);
  const PpoReport expected =
      scene.report({scene.ppo().online().begin(), scene.ppo().online().end()});
  const PpoReport report = scene.update(1);
  EXPECT_NEAR(report.mean_value, expected.mean_value, 1e-5);
  EXPECT_NEAR(report.entropy, expected.entropy, 1e-5);
  EXPECT_NEAR(report.kl, expected.kl, 1e-5);
  EXPECT_NEAR(report.clipped, expected.clipped, 1e-9);
  EXPECT_GT(expected.kl, 1e-3);
  EXPECT_GT(expected.clipped, 0.1);
  EXPECT_LT(expected.clipped, 0.95);
}

INSTANTIATE_TEST_SUITE_P(Ppo, EveryPpo, testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param.name); });

// With one epoch of one batch the clip never matters: A2C.
TEST(Ppo, OneBatchIsA2C) {
  const Case discrete = cases()[0];
  Scene clipped(discrete), free(discrete);
  UpdateInput lesson = free.lesson(1);
  lesson.clip = 1e6;
  ThreadTeam team(1);
  std::vector<std::int32_t> places(Scene::kPlaces);
  std::iota(places.begin(), places.end(), 0);
  free.ppo().update(lesson, places, team);
  clipped.update(1);
  EXPECT_TRUE(std::equal(free.ppo().online().begin(), free.ppo().online().end(),
                         clipped.ppo().online().begin()));
}

// Acting detects non-finite outputs, for every kind of action.
TEST(Ppo, APolicyThatIsNotFiniteIsRefused) {
  for (const Case& c : cases()) {
    Scene scene(c);
    std::fill(scene.ppo().online().begin(), scene.ppo().online().end(), std::nanf(""));
    EXPECT_THROW(scene.collect(), RunError) << c.name;
  }
}

// Rows of different blocks of lanes draw different random numbers.
TEST(Ppo, NoTwoEnvironmentsShareRandomNumbers) {
  constexpr int kMany = 70;
  const Structure net = make_actor_critic(2, {.policy = 3, .values = 1}, {.hidden = {4}});
  Ppo ppo(net, {.policy = {.kind = PolicyKind::categorical, .actions = 3}},
          agent(PpoOptions{}, {.learn = {.batch = 1}, .init = Initialiser::glorot, .envs = kMany}),
          7);
  ThreadTeam team(1);
  const std::vector<float> obs(kMany * 2, 0.5f);
  std::vector<float> raw(kMany), log_probability(kMany), distribution(kMany * 3), values(kMany);
  OldPolicy acted{raw, log_probability, distribution, values, kMany};
  std::vector<std::int32_t> discrete(kMany);
  std::vector<std::vector<std::int32_t>> taken(kMany);
  for (int t = 0; t < 60; ++t) {
    ppo.act(obs, {}, t, team, 0, acted, discrete, {});
    for (int i = 0; i < kMany; ++i) taken[i].push_back(discrete[i]);
  }
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(std::unique(taken.begin(), taken.end()), taken.end());
}

TEST(Ppo, ThePolicysLastLayerStartsSmall) {
  NetOptions options{.hidden = {32}, .init = Initialiser::orthogonal};
  const Structure net = make_actor_critic(4, {.policy = 3, .values = 1}, options);
  std::vector<float> parameters(net.storage);
  initialise(net, Initialiser::orthogonal, 1, parameters);
  const auto norm = [&](int layer) {
    const auto& dense = std::get<DenseLayer>(net.layers[layer]);
    double sum = 0;
    for (int i = 0; i < dense.in; ++i) sum += std::pow(parameters[dense.weight + i], 2.0);
    return std::sqrt(sum);
  };
  EXPECT_NEAR(norm(1), 0.01, 1e-6);
  EXPECT_NEAR(norm(2), 1, 1e-6);
}

TEST(Ppo, StructuresAreDescribed) {
  const NetOptions shared{.hidden = {64, 64}, .activation = Activation::tanh};
  EXPECT_EQ(make_actor_critic(4, {.policy = 2, .values = 1}, shared).describe(),
            "4-64-64-(2+1) tanh, 4675 parameters");
  NetOptions separate = shared;
  separate.separate = true;
  EXPECT_EQ(make_actor_critic(3, {.policy = 1, .free = 1, .values = 1}, separate).describe(),
            "3-(64-64-2 | 64-64-1) tanh, 8963 parameters");
}

}  // namespace
}  // namespace hotloop
