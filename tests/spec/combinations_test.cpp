// How keys depend on each other: schedules, derived defaults, and combinations that are refused.
#include <fstream>

#include "graph/generators.hpp"
#include "tests/spec/spec_text.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

TEST(Spec, EveryKindOfScheduleHasItsOwnParts) {
  const auto rate = [](const std::string& text) {
    return read("env: {name: cartpole}\noptimiser: {learning_rate: " + text + "}")
        .optimiser.learning_rate;
  };
  const Schedule step = rate("{kind: step, from: 0.02, factor: 0.9, every: 1000, count: updates}");
  EXPECT_EQ(step.factor, 0.9);
  EXPECT_EQ(step.every, 1000);
  EXPECT_EQ(step.count, Count::updates);
  EXPECT_EQ(rate("{kind: linear_to_zero, from: 0.02, over: 10}").at({10, 0}), 0);
  EXPECT_EQ(
      second_line("optimiser: {learning_rate: {kind: step, from: 1, to: 0, over: 5}}"),
      "2: optimiser.learning_rate.over: does not belong here; a schedule of kind step has kind, "
      "from, to, factor, every, after, count");
  EXPECT_EQ(second_line("optimiser: {learning_rate: {kind: step, from: 1, factor: 0.5}}"),
            "2: optimiser.learning_rate.every: missing; a schedule of kind step has kind, from, "
            "to, factor, every, after, count");
  // Epsilon's default is linear: a new end value of zero keeps the start and the length.
  const Schedule epsilon =
      dqn(read("env: {name: cartpole}\nalgo: {epsilon: {kind: linear_to_zero}}")).explore.epsilon;
  EXPECT_EQ(epsilon.from, 1);
  EXPECT_EQ(epsilon.over, 10'000);
}

// On-policy algorithms derive values from their rollout; keys without effect are refused.
TEST(Spec, RolloutLearnersDeriveTheirRatios) {
  const std::string text =
      "env: {name: cartpole, count: 8}\nalgo: {name: pqn, n_steps: 16, batch: 32}";
  const TrainSpec spec = read(text);
  EXPECT_EQ(spec.learn.train_every, 128);
  EXPECT_EQ(spec.learn.updates_per_step, 2.0 / 32);
  EXPECT_EQ(spec.learn.learning_starts, 0);
  EXPECT_EQ(to_yaml(spec).find("target"), std::string::npos) << "there is no target network";
  EXPECT_EQ(rollout(spec).lambda, 0.65);
  EXPECT_EQ(to_yaml(read(to_yaml(spec))), to_yaml(spec));
  EXPECT_EQ(rollout(read(text, {"algo.name=sarsa"})).lambda, 0);
  EXPECT_EQ(rollout(read(text, {"algo.name=sarsa", "algo.lambda=0.9"})).lambda, 0.9);
  const auto refused = [&](const std::string& override) { return complaint(text, {override}); };
  EXPECT_NE(refused("algo.batch=48").find("48 does not divide a rollout of 128 transitions"),
            std::string::npos);
  for (const char* override :
       {"algo.double=true", "algo.n_step=3", "algo.head=c51", "algo.repeats=2", "algo.accumulate=2",
        "algo.target.every=10", "algo.learning_starts=5", "replay.prioritised=true",
        "replay.newest=true", "algo.train_offset=8", "algo.updates_per_step=1",
        "algo.train_every=8"}) {
    // Some of them also belong to other algorithms with a replay memory.
    const std::string found = refused(override);
    EXPECT_TRUE(found.find("belongs to algo.name: dqn; ") != std::string::npos ||
                found.find("belongs to algo.name: ddpg, dqn, sac, td3; ") != std::string::npos)
        << override << ": " << found;
  }
}

// pqn has layer norms instead of a target network, if the network can have them.
TEST(Spec, PqnNormalisesItsLayersUnlessItCannot) {
  const auto normalises = [](const std::string& algorithm, std::vector<std::string> overrides) {
    overrides.push_back("algo.name=" + algorithm);
    return read("env: {name: cartpole}", overrides).net.layer_norm;
  };
  EXPECT_TRUE(normalises("pqn", {}));
  EXPECT_FALSE(normalises("pqn", {"net.layer_norm=false"}));
  EXPECT_FALSE(normalises("pqn", {"net.hidden=[]"}));
  EXPECT_FALSE(normalises("pqn", {"net.graph.kind=small_world"}));
  EXPECT_FALSE(normalises("pqn", {"net.dueling=true", "net.dueling_hidden=[8]"}));
  EXPECT_FALSE(normalises("sarsa", {}));
  EXPECT_FALSE(normalises("dqn", {}));
  EXPECT_FALSE(normalises("ppo", {}));
}

TEST(Spec, PpoHasDefaultsThatWork) {
  const TrainSpec spec = read("env: {name: cartpole}\nalgo: {name: ppo}");
  EXPECT_EQ(rollout(spec).n_steps, 128);
  EXPECT_EQ(rollout(spec).n_epochs, 4);
  EXPECT_EQ(rollout(spec).lambda, 0.95);
  EXPECT_TRUE(spec.learn.normalise_rewards);
  EXPECT_EQ(spec.net.activation, Activation::tanh);
  EXPECT_EQ(spec.net.init, Initialiser::orthogonal);
  EXPECT_EQ(spec.optimiser.max_grad_norm, 0.5f);
  EXPECT_EQ(to_yaml(read(to_yaml(spec))), to_yaml(spec));
}

TEST(Spec, PpoAndTheOthersRefuseEachOthersKeys) {
  const auto with = [](const std::string& algorithm, const std::string& override) {
    return complaint("env: {name: cartpole, count: 4}\nalgo: {name: " + algorithm + "}",
                     {override});
  };
  for (const char* override : {"net.dueling=true", "net.noisy=head", "algo.explore=boltzmann",
                               "algo.epsilon=0.1", "algo.loss=huber"}) {
    const std::string found = with("ppo", override);
    EXPECT_NE(found.find("belongs to algo.name: dqn, pqn, sarsa; algo.name is ppo here"),
              std::string::npos)
        << override << ": " << found;
  }
  for (const char* override :
       {"algo.clip_range=0.3", "algo.clip_range_vf=0.1", "algo.vf_coef=1", "algo.part_weights=[1]",
        "algo.entropy_floor=1", "algo.target_kl=0.1", "algo.normalise.advantages=none",
        "algo.squash=clip", "algo.std=network", "algo.log_std_init=1", "net.separate=true",
        "net.value_from=h"}) {
    const std::string found = with("dqn", override);
    EXPECT_NE(found.find("belongs to algo.name: ppo; algo.name is dqn here"), std::string::npos)
        << override << ": " << found;
  }
  EXPECT_NE(with("ppo", "algo.batch=1").find("every advantage would be 0"), std::string::npos);
  EXPECT_NE(with("ppo", "net.value_from=h").find("needs net.branches"), std::string::npos);
  EXPECT_NE(with("ppo", "algo.batch=100").find("does not divide a rollout of 512"),
            std::string::npos);
}

TEST(Spec, CombinationsThatMakeNoSenseAreRefused) {
  const auto refused = [](const std::vector<std::string>& overrides) {
    return complaint("env: {name: cartpole}", overrides);
  };
  EXPECT_NE(refused({"algo.double=true", "algo.target.every=0"}).find("needs a target network"),
            std::string::npos);
  EXPECT_NE(refused({"replay.capacity=64", "algo.batch=8", "algo.n_step=65"})
                .find("more than the steps per environment in replay.capacity"),
            std::string::npos);
  EXPECT_NE(refused({"algo.learning_starts=1000", "run.steps=1000"}).find("would never learn"),
            std::string::npos);
  EXPECT_NE(refused({"algo.name=pqn", "algo.n_steps=64", "algo.batch=64", "run.steps=63"})
                .find("would never learn; a round has 64 env steps (algo.n_steps times env.count)"),
            std::string::npos);
  for (const char* other :
       {"algo.head=quantile", "algo.target.every=0", "algo.double=true", "algo.n_step=3"}) {
    EXPECT_NE(refused({"algo.munchausen=0.9", other}).find("algo.munchausen: "), std::string::npos)
        << other;
  }
  EXPECT_EQ(refused({"algo.munchausen=0.9", "algo.munchausen_clip=-2"}), "accepted");
  EXPECT_NE(refused({"algo.munchausen_clip=-2"}).find("algo.munchausen is 0"), std::string::npos);
  EXPECT_NE(refused({"algo.epsilon=0"}).find("nothing would explore"), std::string::npos);
  EXPECT_NE(refused({"net.noisy=all", "net.noisy_sigma=0"}).find("nothing would explore"),
            std::string::npos);
  EXPECT_EQ(refused({"net.noisy=head", "algo.epsilon=0"}), "accepted");
  EXPECT_EQ(refused({"algo.explore=boltzmann"}), "accepted");
  EXPECT_NE(refused({"optimiser.learning_rate=0"}).find("would never learn"), std::string::npos);
  for (const char* grows : {"algo.temperature", "optimiser.learning_rate", "replay.beta"}) {
    EXPECT_NE(refused({std::string(grows) + "={kind: step, from: 0.5, factor: 1.5, every: 9}",
                       "algo.explore=boltzmann", "replay.prioritised=true"})
                  .find("leaves the range"),
              std::string::npos)
        << grows;
  }
  EXPECT_NE(refused({"algo.head=c51", "algo.v_min=5", "algo.v_max=5"}).find("not below algo.v_max"),
            std::string::npos);
  EXPECT_EQ(refused({"algo.repeats=2", "algo.train_every=50", "algo.updates_per_step=0.28"}),
            "accepted")
      << "14 updates, despite rounding";
  EXPECT_NE(
      refused({"algo.head=c51", "algo.v_min=100", "algo.v_max=100.0000001"}).find("too close"),
      std::string::npos);
  EXPECT_NE(refused({"net.dueling=true", "net.dueling_hidden=[8]", "net.layer_norm=true"})
                .find("cannot be combined with net.layer_norm"),
            std::string::npos);
  EXPECT_EQ(refused({"net.dueling=true", "net.dueling_hidden=[8]"}), "accepted");
  EXPECT_NE(refused({"net.hidden=[]", "net.layer_norm=true"}).find("net.hidden is empty"),
            std::string::npos);
  EXPECT_NE(refused({"algo.n_step=3", "algo.gamma=0"}).find("only the reward of the first"),
            std::string::npos);
  EXPECT_EQ(refused({"algo.gamma=0"}), "accepted");
  EXPECT_NE(refused({"replay.newest=true", "env.count=64", "algo.batch=64"}).find("no room"),
            std::string::npos);
  EXPECT_NE(refused({"algo.epsilon={kind: step, from: 0.5, factor: 3, every: 9}"})
                .find("leaves the range"),
            std::string::npos);
  EXPECT_NE(refused({"algo.epsilon={kind: step, from: 0.1, factor: 0.5, every: 9, to: 0.5}"})
                .find("allowed: to <= 0.1, found 0.5"),
            std::string::npos);
  EXPECT_EQ(refused({"algo.epsilon={kind: step, from: 0.5, factor: 0.5, every: 9, to: 0.5}"}),
            "accepted");
  EXPECT_NE(refused({"algo.temperature={kind: step, from: 1, factor: 0, every: 9}"})
                .find("must stay above 0"),
            std::string::npos);
  EXPECT_NE(refused({"algo.repeats=3", "algo.train_every=4"}).find("not a multiple of 3"),
            std::string::npos);
  EXPECT_NE(refused({"algo.train_offset=4", "algo.train_every=4"}).find("below algo.train_every"),
            std::string::npos);
  EXPECT_NE(refused({"algo.temperature={kind: linear_to_zero, from: 1, over: 5}"})
                .find("must stay above 0"),
            std::string::npos);
  EXPECT_NE(refused({"algo.batch=64", "algo.accumulate=4", "replay.capacity=200"})
                .find("times algo.accumulate (4)"),
            std::string::npos);
}

TEST(Spec, NoisyLayersExploreAloneUnlessEpsilonIsGiven) {
  const auto epsilon = [](const std::string& algo) {
    return dqn(read("env: {name: cartpole}\nnet: {noisy: all}\nalgo: {" + algo + "}"))
        .explore.epsilon.at({});
  };
  EXPECT_EQ(epsilon(""), 0);
  EXPECT_EQ(epsilon("epsilon: {to: 0.1}"), 1);
}

TEST(Spec, AlgorithmsAreDescribedInWords) {
  const auto described = [](const TrainSpec& spec) { return spec.algorithm->describe(spec); };
  EXPECT_EQ(described(read("env: {name: cartpole}")), "dqn");
  EXPECT_EQ(described(read("env: {name: cartpole}\nalgo: {target: {every: 0}}")), "vanilla dqn");
  EXPECT_EQ(described(load_spec("cartpole_rainbow")),
            "double dueling noisy 3-step c51 dqn, prioritised");
}

TEST(SpecCombinations, GraphsHaveNoLayers) {
  const std::string graph = "net: {graph: {kind: small_world}";
  EXPECT_EQ(second_line(graph + ", activation: tanh, init: small_world}"), "accepted");
  EXPECT_EQ(second_line(graph + ", layer_norm: true}"),
            "2: net.layer_norm: cannot be combined with net.graph: a graph has no layers");
  EXPECT_EQ(second_line(graph + ", noisy: all}"),
            "2: net.noisy: cannot be combined with net.graph: a graph has no layers");
  EXPECT_EQ(second_line("net: {init: small_world}"),
            "2: net.init: small_world is for graphs; give net.graph.kind, or choose another");
  EXPECT_EQ(second_line("net: {graph: {kind: edges}}"),
            " net.graph.edges: missing; kind edges needs it or net.graph.file");
}

// A resolved spec contains the graph itself, so a run does not need the file again.
TEST(SpecCombinations, GraphFilesBecomeEdges) {
  const std::string path = testing::TempDir() + "tiny.edges";
  std::ofstream(path) << "# inputs 1 outputs 1\n0 1\n1 2\n";
  const TrainSpec spec = read("env: {name: cartpole}", {"net.graph.file=" + path});
  EXPECT_EQ(spec.net.graph.kind, GraphKind::edges);
  EXPECT_TRUE(spec.net.graph.file.empty());
  const TrainSpec again = load_spec_text(to_yaml(spec), "x");
  EXPECT_EQ(generate_graph(again.net.graph, 1, 1).edges(), 2);
  EXPECT_THROW(read("env: {name: cartpole}", {"net.graph.file=" + path + ".txt"}), std::exception);
}

}  // namespace
}  // namespace hotloop
