// The short form of overrides.
#include <gtest/gtest.h>

#include "tests/spec/spec_text.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

constexpr const char* kSnake = "env: {name: snake, options: {obs: flood}}";

TEST(SpecOverride, AnOptionOfTheEnvironmentNeedsNoOptions) {
  EXPECT_EQ(full_override("env.grid=8", "snake"), "env.options.grid=8");
  for (const char* as_it_is : {"env.options.grid=8", "env.count=8", "env.name=snake", "env.gird=8",
                               "algo.grid=8", "env.grid", "grid=8", "env.=8", "env.grid.x=8"}) {
    EXPECT_EQ(full_override(as_it_is, "snake"), as_it_is);
  }
  EXPECT_EQ(full_override("env.grid=8", "cartpole"), "env.grid=8");
  EXPECT_EQ(full_override("env.grid=8", "nobody"), "env.grid=8");
}

TEST(SpecOverride, ShortAndLongFormAreTheSame) {
  const EnvOptions expected = {{"grid", "8"}, {"obs", "flood"}};
  EXPECT_EQ(read(kSnake, {"env.grid=8"}).env_options, expected);
  EXPECT_EQ(read(kSnake, {"env.options.grid=8"}).env_options, expected);
  EXPECT_EQ(read(kSnake, {"env.options.grid=9", "env.grid=8"}).env_options, expected);
  EXPECT_EQ(read(kSnake, {"env.obs=basic"}).env_options, (EnvOptions{{"obs", "basic"}}));
  EXPECT_EQ(read(kSnake, {"env.count=3"}).envs, 3);
  EXPECT_EQ(
      read("env: {name: cartpole}", {"env.name=durotaxis", "env.substrate=random"}).env_options,
      (EnvOptions{{"substrate", "random"}}));
}

TEST(SpecOverride, MistakesAreNamed) {
  EXPECT_EQ(
      complaint(kSnake, {"env.gird=8"}),
      "--set env.gird=8: env.gird: unknown key; did you mean env.options.grid? (allowed: name, "
      "count, options, isolate, timeout_seconds, memory_gb)");
  EXPECT_EQ(complaint("env: {name: cartpole}", {"env.grid=8"}),
            "--set env.grid=8: env.grid: unknown key; allowed: name, count, options, isolate, "
            "timeout_seconds, memory_gb");
  EXPECT_NE(complaint("env: {name: snake, grid: 8}").find("did you mean env.options.grid?"),
            std::string::npos)
      << "in a file the full form is needed";
}

TEST(SpecOverride, KeysAreFoundInOtherPlacesAndByOtherNames) {
  const auto suggested = [](const std::string& key) {
    const std::string text = complaint("env: {name: cartpole}", {key + "=1"});
    const std::string before = "did you mean ";
    const std::size_t at = text.find(before);
    return at == std::string::npos
               ? text
               : text.substr(at + before.size(), text.find('?', at) - at - before.size());
  };
  // Not algo.learning_starts or algo.train_every.
  EXPECT_EQ(suggested("algo.learning_rate"), "optimiser.learning_rate");
  EXPECT_EQ(suggested("algo.target_every"), "algo.target.every");
  EXPECT_EQ(suggested("algo.lr"), "optimiser.learning_rate");
  EXPECT_EQ(suggested("algo.tau"), "algo.target.tau");
  EXPECT_EQ(suggested("algo.buffer_size"), "replay.capacity");
  EXPECT_EQ(suggested("algo.learning_start"), "algo.learning_starts");
  EXPECT_EQ(suggested("run.step"), "run.steps");
}

// Derived values are not written: they would prevent changes of the keys that they depend on.
TEST(SpecOverride, AResolvedSpecCanBeVaried) {
  const TrainSpec resolved = read("env: {name: cartpole, count: 8}\nalgo: {name: pqn, batch: 64}");
  const TrainSpec varied =
      read(to_yaml(resolved), {"algo.batch=128", "env.count=16", "algo.n_epochs=3"});
  EXPECT_EQ(varied.learn.updates_per_step, 3.0 / 128);
  EXPECT_EQ(varied.learn.train_every, 16 * rollout(varied).n_steps);
}

TEST(SpecOverride, UnknownEnvironmentsAreNamedWithTheirPlace) {
  EXPECT_TRUE(complaint("run: {seed: 3}\nenv:\n  name: carpole")
                  .starts_with("3: env.name: unknown environment carpole; did you mean cartpole?"));
  EXPECT_TRUE(complaint("env: {name: cartpole}", {"env.name=snak"})
                  .starts_with("--set env.name=snak: env.name: unknown environment snak; did you"));
  EXPECT_EQ(complaint("env: {name: \"gymnasium:CartPole-v1\"}"), "accepted");
}

// A file may have such keys, so that a switch can be turned off without other edits.
TEST(SpecOverride, KeysWithoutEffectAreRefused) {
  const std::string cartpole = "env: {name: cartpole}\n";
  const auto because = [&](const std::string& override, const std::string& algo = "dqn") {
    const std::string text = complaint(cartpole, {"algo.name=" + algo, override});
    const std::string key = override.substr(0, override.find('='));
    const std::string start = "--set " + override + ": " + key + ": has no effect: ";
    return text.starts_with(start) ? text.substr(start.size()) : "not idle: " + text;
  };
  EXPECT_EQ(because("replay.beta=0.3"), "replay.prioritised is false");
  EXPECT_EQ(because("replay.beta.to=0.3"), "replay.prioritised is false");
  EXPECT_EQ(because("replay.alpha=0.3"), "replay.prioritised is false");
  EXPECT_EQ(because("replay.epsilon=0.3"), "replay.prioritised is false");
  EXPECT_EQ(because("algo.atoms=8"), "algo.head is scalar");
  EXPECT_EQ(because("algo.v_max=8"), "algo.head is not c51");
  EXPECT_EQ(because("algo.temperature=8"), "algo.explore is not boltzmann");
  EXPECT_EQ(because("net.graph.degree=8"), "net.graph.kind is none");
  EXPECT_EQ(because("net.noisy_sigma=1"), "net.noisy is none");
  EXPECT_EQ(because("algo.entropy_floor_coef=3", "ppo"), "algo.entropy_floor is none");
  EXPECT_EQ(because("net.dueling_hidden=[8]"), "net.dueling is false");
  EXPECT_EQ(because("optimiser.momentum=0.9"), "adam and adamw use beta1 instead");
  EXPECT_EQ(because("optimiser.decay=0.9"), "only rmsprop uses it");
  const auto both = [&](const std::string& other, const std::string& override) {
    return complaint(cartpole, {override, other});
  };
  EXPECT_EQ(both("replay.prioritised=true", "replay.beta=0.3"), "accepted");
  EXPECT_EQ(both("algo.head=quantile", "algo.atoms=8"), "accepted");
  EXPECT_NE(both("algo.head=quantile", "algo.v_max=8"), "accepted");
  EXPECT_EQ(both("algo.head=c51", "algo.v_max=8"), "accepted");
  EXPECT_NE(both("algo.head=c51", "algo.loss=mse"), "accepted");
  EXPECT_EQ(both("algo.head=scalar", "algo.loss=mse"), "accepted");
  EXPECT_NE(both("algo.name=ppo", "algo.entropy_floor_coef=3"), "accepted");
  EXPECT_EQ(both("algo={name: ppo, entropy_floor: 1}", "algo.entropy_floor_coef=3"), "accepted");
  EXPECT_NE(both("algo={name: ppo, std: network}", "algo.log_std_init=1"), "accepted");
  EXPECT_EQ(both("algo.name=ppo", "algo.log_std_init=1"), "accepted");
  EXPECT_NE(both("algo.target.every=0", "algo.target.tau=0.1"), "accepted");
  EXPECT_NE(both("algo.explore=boltzmann", "algo.epsilon=0.1"), "accepted");
  EXPECT_EQ(both("algo.explore=boltzmann", "algo.temperature=8"), "accepted");
  EXPECT_NE(both("algo.explore=boltzmann", "algo.explore_steps=4"), "accepted");
  EXPECT_NE(both("net.noisy=all", "algo.explore_steps=4"), "accepted") << "epsilon is 0 then";
  EXPECT_NE(both("net.noisy=all", "net.init=he"), "accepted");
  EXPECT_EQ(both("net.noisy=head", "net.init=he"), "accepted");
  EXPECT_EQ(both("net.graph.kind=small_world", "net.graph.degree=8"), "accepted");
  EXPECT_NE(both("net.graph.kind=small_world", "net.hidden=[8]"), "accepted");
  EXPECT_EQ(both("net.graph.kind=none", "net.hidden=[8]"), "accepted");
  EXPECT_EQ(both("net.noisy=all", "net.noisy_sigma=1"), "accepted");
  EXPECT_EQ(both("optimiser.name=sgd", "optimiser.momentum=0.9"), "accepted");
  EXPECT_NE(both("optimiser.name=sgd", "optimiser.epsilon=0.1"), "accepted");
  EXPECT_NE(both("optimiser.name=rmsprop", "optimiser.beta2=0.9"), "accepted");
  EXPECT_EQ(complaint(cartpole + "replay: {beta: 0.3}\nalgo: {atoms: 8}"), "accepted");
  EXPECT_EQ(complaint(cartpole + "algo: {explore: boltzmann, explore_steps: 4}\n" +
                      "net: {dueling_hidden: [8]}"),
            "accepted");
}

}  // namespace
}  // namespace hotloop
