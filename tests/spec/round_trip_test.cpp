// Specs with random values of every key, written and read back.
#include <gtest/gtest.h>

#include <bit>
#include <cctype>
#include <cmath>
#include <hotloop/rng.hpp>

#include "spec/keys.hpp"
#include "tests/spec/spec_text.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

// The bits of a field, written independently of to_yaml.
struct Bits {
  std::string operator()(const bool* x) const { return *x ? "1" : "0"; }
  std::string operator()(const int* x) const { return std::to_string(*x); }
  std::string operator()(const std::int64_t* x) const { return std::to_string(*x); }
  std::string operator()(const std::uint64_t* x) const { return std::to_string(*x); }
  std::string operator()(const float* x) const {
    return std::to_string(std::bit_cast<std::uint32_t>(*x));
  }
  std::string operator()(const double* x) const {
    return std::to_string(std::bit_cast<std::uint64_t>(*x));
  }
  std::string operator()(const std::string* x) const { return *x; }
  std::string operator()(const std::vector<int>* x) const {
    std::string result;
    for (int item : *x) result += std::to_string(item) + ",";
    return result;
  }
  std::string operator()(const std::vector<double>* x) const {
    std::string result;
    for (const double& item : *x) result += (*this)(&item) + ",";
    return result;
  }
  std::string operator()(const std::vector<Branch>* x) const {
    std::string result;
    for (const Branch& branch : *x) {
      result += branch.name + "<";
      for (const std::string& name : branch.from) result += name + ",";
      for (const std::string& layer : branch.layers) result += layer + ";";
    }
    return result;
  }
  std::string operator()(const Schedule* x) const {
    return std::to_string(static_cast<int>(x->kind)) + " " + (*this)(&x->from) + " " +
           (*this)(&x->to) + " " + std::to_string(x->over) + " " + (*this)(&x->factor) + " " +
           std::to_string(x->every) + " " + std::to_string(x->after) + " " +
           std::to_string(static_cast<int>(x->count));
  }
  std::string operator()(const EnvOptions* x) const {
    std::string result;
    for (const auto& [name, text] : *x) result += name + "=" + text + ",";
    return result;
  }
  std::string operator()(const Algorithm* const* x) const { return std::string((*x)->name()); }
  std::string operator()(const Choice& x) const { return std::to_string(x.get(x.field)); }
};

void expect_same(TrainSpec a, TrainSpec b) {
  const std::vector<Key> left = spec_keys(a);
  const std::vector<Key> right = spec_keys(b);
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(std::visit(Bits{}, left[i].field), std::visit(Bits{}, right[i].field))
        << left[i].path;
  }
  // What is derived from them.
  EXPECT_EQ(a.learn.train_every, b.learn.train_every);
  EXPECT_EQ(a.learn.updates_per_step, b.learn.updates_per_step);
}

// A random allowed value, with awkward bits.
struct Randomise {
  const Key& key;
  Rng& rng;

  double real(double low, double high) const {
    const double x =
        std::max(low, -1e3) + (std::min(high, 1e3) - std::max(low, -1e3)) * rng.uniform();
    return key.range.contains(x) ? x : low + (high - low) / 3;
  }
  std::int64_t integer() const {
    const double most = std::min(key.range.high, 1e9);
    return static_cast<std::int64_t>(key.range.low +
                                     std::floor((most - key.range.low) * rng.uniform()));
  }
  void operator()(bool* x) const { *x = rng.below(2) == 1; }
  void operator()(int* x) const { *x = static_cast<int>(integer()); }
  void operator()(std::int64_t* x) const { *x = integer(); }
  void operator()(std::uint64_t* x) const { *x = std::uint64_t{rng.bits()} << 32 | rng.bits(); }
  void operator()(float* x) const {
    *x = static_cast<float>(0.999 * real(key.range.low, key.range.high));
  }
  void operator()(double* x) const { *x = real(key.range.low, key.range.high); }
  void operator()(std::string* x) const {
    *x = "n";
    for (int i = 0; i < 8; ++i) *x += static_cast<char>(1 + rng.below(127));
    std::erase(*x, '/');
  }
  void operator()(std::vector<int>* x) const {
    x->assign(rng.below(5), 0);
    for (int& item : *x) item = static_cast<int>(integer());
  }
  void operator()(std::vector<double>* x) const {
    x->assign(rng.below(5), 0);
    for (double& item : *x) item = real(key.range.low, key.range.high);
  }
  void operator()(std::vector<Branch>* x) const {
    x->clear();
    for (std::uint32_t i = rng.below(3); i > 0; --i) {
      x->push_back({.name = "h" + std::to_string(i), .from = {"pole"}, .layers = {"dense 7 tanh"}});
      if (rng.below(2) == 1) x->back().from.push_back("cart_0");
      if (rng.below(2) == 1) x->back().layers = {"stack", "attention 3", "norm"};
    }
  }
  void operator()(Schedule* x) const {
    *x = constant(real(key.range.low, key.range.high));
    const auto kind = static_cast<ScheduleKind>(rng.below(kScheduleNames.size()));
    if (kind == ScheduleKind::constant) return;
    *x = Schedule{.kind = kind, .from = x->from};
    if (schedule_has(kind, "to")) x->to = real(key.range.low, key.range.high);
    if (schedule_has(kind, "over")) x->over = 1 + rng.below(1'000'000);
    if (schedule_has(kind, "factor")) x->factor = 0.001 + 0.999 * rng.uniform();
    if (schedule_has(kind, "every")) x->every = 1 + rng.below(1'000'000);
    x->after = rng.below(2) * rng.below(1'000'000);
    x->count = static_cast<Count>(rng.below(3));
  }
  void operator()(EnvOptions* x) const {
    x->clear();
    if (rng.below(2) == 1) x->emplace_back("grid", std::to_string(rng.below(100)));
    if (rng.below(2) == 1) x->emplace_back("obs", "flood");
    if (rng.below(2) == 1) x->emplace_back("reward", "-1.5e-3");
  }
  void operator()(const Algorithm**) const {}  // it decides which keys there are
  void operator()(const Choice& x) const {
    x.set(x.field, static_cast<int>(rng.below(static_cast<std::uint32_t>(x.names.size()))));
  }
};

TEST(Spec, DefaultsEqualTheStructs) {
  TrainSpec expected;
  expected.name = "x";
  expected.env = "cartpole";
  expect_same(read("env: {name: cartpole}"), expected);
  EXPECT_TRUE(std::isnan(read("env: {name: cartpole}").evaluation.threshold));
}

// The relations between keys.
void step_downwards(Schedule& schedule) {
  if (schedule.kind == ScheduleKind::step) schedule.to = std::min(schedule.to, schedule.from);
}

void mend_network(NetOptions& net, int i) {
  if (net.hidden.empty()) net.layer_norm = false;
  if (net.layer_norm) net.dueling_hidden.clear();
  if (!net.branches.empty()) net.channels.clear();
  if (net.branches.empty()) net.value_from.clear();
  net.graph.file.clear();  // a file would be read and become edges
  if (i % 2 == 0) net.graph.kind = GraphKind::none;
  if (net.graph.kind == GraphKind::none) {
    if (net.init == Initialiser::small_world) net.init = Initialiser::he;
    return;
  }
  net.layer_norm = false;
  net.noisy = Noisy::none;
  net.separate = false;
  net.dueling_hidden.clear();
  net.channels.clear();
  net.branches.clear();
  net.value_from.clear();
  net.graph.edges = "1 0 1: 0>1";
}

void mend_exploration(ExplorationOptions& explore, int i) {
  explore.temperature = i % 2 == 0 ? linear(5, 0.5, 4000) : constant(0.1);
  step_downwards(explore.epsilon);
}

void mend_replay(ReplayOptions& replay, int& n_step, TrainSpec& spec) {
  LearningOptions& learn = spec.learn;
  learn.train_every *= spec.envs;
  learn.train_every %= 1'000'000 * spec.envs;
  learn.train_every += spec.envs;
  learn.learning_starts = std::min(learn.learning_starts, spec.run.steps);
  learn.train_offset = learn.train_every / spec.envs / 2 * spec.envs;
  replay.capacity = (70'000 / spec.envs + 1 + replay.capacity % 3'000) * spec.envs;
  replay.newest = replay.newest && spec.envs < learn.batch;
  if (learn.gamma == 0) n_step = 1;
  step_downwards(replay.beta);
}

void mend(DqnOptions& o, TrainSpec& spec, int i) {
  spec.learn.accumulate = 1;
  mend_replay(o.replay, o.n_step, spec);
  o.repeats = 1;
  o.target.every += 1;
  if (i % 4 != 0 || o.double_q || o.n_step > 1 || o.head.kind != HeadKind::scalar) {
    o.munchausen.alpha = 0;
  }
  if (o.head.v_min > o.head.v_max) std::swap(o.head.v_min, o.head.v_max);
  mend_exploration(o.explore, i);
}

void mend_rollout(RolloutOptions& o, TrainSpec& spec) {
  o.n_steps = 2 + o.n_steps % 1'000;
  spec.learn.batch = o.n_steps;
}

// What is not written gets its default.
void mend_continuous(ContinuousOptions& o, TrainSpec& spec, int i) {
  mend_replay(o.replay, o.n_step, spec);
  NetOptions& net = spec.net;
  net.branches.clear();
  net.channels.clear();
  net.graph = {};
  if (net.init == Initialiser::small_world) net.init = Initialiser::he;
  CriticOptions& c = o.critics;
  c.in_target = 1 + c.in_target % c.count;
  c.dropped = c.quantiles > 0 ? c.dropped % c.quantiles : CriticOptions{}.dropped;
  c.crossq = i % 4 == 0;
  if (c.crossq) {
    spec.learn.batch = 32;
    o.tau = ContinuousOptions{}.tau;
    net.layer_norm = c.layer_norm = false;
  }
  if (net.layer_norm) c.layer_norm = false;
  if (c.hidden.empty() && net.hidden.empty()) c.layer_norm = false, c.dropout = 0;
  step_downwards(c.learning_rate);
  if (o.random_steps == 0) o.explore_steps = 1;
}

void mend(SacOptions& o, TrainSpec& spec, int i) {
  mend_continuous(o, spec, i);
  step_downwards(o.ent_coef_learning_rate);
  if (i % 2 == 0) {
    o.ent_coef = std::numeric_limits<double>::quiet_NaN();
  } else {
    const double fixed = o.ent_coef;
    const ContinuousOptions shared = o;
    o = {shared};
    o.ent_coef = fixed;
    o.ent_coef_learning_rate = spec.optimiser.learning_rate;
  }
}

void mend(Td3Options& o, TrainSpec& spec, int i) {
  mend_continuous(o, spec, i);
  step_downwards(o.noise_std);
  if (o.noise == NoiseKind::gaussian) {
    o.noise_theta = Td3Options{}.noise_theta;
  } else {
    spec.learn.pipelined = false;
  }
  if (o.target_noise == 0) o.target_noise_clip = Td3Options{}.target_noise_clip;
}

class EveryAlgorithm : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Spec, EveryAlgorithm,
                         testing::Values("dqn", "pqn", "sarsa", "ppo", "sac", "td3", "ddpg"));

TEST_P(EveryAlgorithm, WrittenSpecsAreReadBackToTheBit) {
  Rng rng(5, Purpose::test, 0, 0);
  for (int i = 0; i < 300; ++i) {
    TrainSpec spec;
    use_algorithm(spec, find_algorithm(GetParam()));
    for (const Key& key : spec_keys(spec)) std::visit(Randomise{key, rng}, key.field);
    if (i % 3 == 0) spec.evaluation.threshold = std::numeric_limits<double>::quiet_NaN();
    std::erase_if(spec.name, [](char c) { return std::iscntrl(c) != 0; });  // it names a folder
    spec.env = "python:" + spec.env;  // a name that only Python could know
    spec.envs = 1 + spec.envs % 16;
    spec.evaluation.every += 1;
    step_downwards(spec.optimiser.learning_rate);
    mend_network(spec.net, i);
    if (auto* o = std::any_cast<DqnOptions>(&spec.options)) mend(*o, spec, i);
    if (auto* o = std::any_cast<PqnOptions>(&spec.options)) {
      mend_rollout(o->rollout, spec);
      mend_exploration(o->explore, i);
    }
    if (auto* o = std::any_cast<PpoOptions>(&spec.options)) {
      mend_rollout(o->rollout, spec);
      if (i % 3 == 0) o->entropy_floor = std::numeric_limits<double>::quiet_NaN();
      step_downwards(o->clip_range);
      step_downwards(o->ent_coef);
    }
    if (auto* o = std::any_cast<SacOptions>(&spec.options)) mend(*o, spec, i);
    if (auto* o = std::any_cast<Td3Options>(&spec.options)) mend(*o, spec, i);
    spec.run.steps += 10'000'000 * std::int64_t{spec.envs};  // so that there are updates
    spec.algorithm->derive(spec);
    const std::string text = to_yaml(spec);
    SCOPED_TRACE(text);
    expect_same(read(text), spec);
    if (HasFailure()) break;
  }
}

TEST(Spec, SpecsOfPpoAreReadBackToTheBit) {
  const TrainSpec spec = read(
      "env: {name: pendulum, count: 3}\n"
      "algo: {name: ppo, n_steps: 8, batch: 12, n_epochs: 3, part_weights: [0.1, 2e-7], "
      "target_kl: 0.3, clip_range_vf: 0.7, "
      "clip_range: {kind: wave, from: 0.3, to: 0.1, over: 9, count: episodes}, "
      "entropy_floor: 0.1, squash: clip, std: network, normalise: {advantages: episode}}\n"
      "net: {separate: true, policy_gain: 0.5}\n");
  EXPECT_EQ(rollout(spec).lambda, 0.95);
  EXPECT_EQ(spec.learn.train_every, 24);
  EXPECT_EQ(spec.learn.updates_per_step, 0.25);
  EXPECT_EQ(ppo(spec).part_weights, (std::vector<double>{0.1, 2e-7}));
  EXPECT_EQ(ppo(spec).clip_range.at({.env_steps = 0, .updates = 0, .episodes = 18}), 0.3);
  EXPECT_EQ(ppo(spec).std_source, StdSource::network);
  EXPECT_EQ(ppo(spec).advantages, Standardise::episode);
  expect_same(read(to_yaml(spec)), spec);
}

}  // namespace
}  // namespace hotloop
