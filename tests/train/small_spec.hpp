// A training run that takes a fraction of a second.
#pragma once

#include <string_view>

#include "algo/common/algorithm.hpp"
#include "algo/dqn/options.hpp"
#include "algo/ppo/options.hpp"
#include "algo/pqn/options.hpp"
#include "algo/sac/options.hpp"
#include "algo/td3/options.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// The options of a spec's algorithm.
inline DqnOptions& dqn(AgentSpec& spec) { return options_of<DqnOptions>(spec); }
inline const DqnOptions& dqn(const AgentSpec& spec) { return options_of<DqnOptions>(spec); }
inline PqnOptions& pqn(AgentSpec& spec) { return options_of<PqnOptions>(spec); }
inline const PqnOptions& pqn(const AgentSpec& spec) { return options_of<PqnOptions>(spec); }
inline PpoOptions& ppo(AgentSpec& spec) { return options_of<PpoOptions>(spec); }
inline const PpoOptions& ppo(const AgentSpec& spec) { return options_of<PpoOptions>(spec); }

inline SacOptions& sac(AgentSpec& spec) { return options_of<SacOptions>(spec); }
inline Td3Options& td3(AgentSpec& spec) { return options_of<Td3Options>(spec); }

// The rollout options of algorithms that have them.
inline RolloutOptions& rollout(AgentSpec& spec) {
  if (auto* options = std::any_cast<PpoOptions>(&spec.options)) return options->rollout;
  return pqn(spec).rollout;
}
inline const RolloutOptions& rollout(const AgentSpec& spec) {
  return rollout(const_cast<AgentSpec&>(spec));
}

inline TrainSpec small_spec() {
  TrainSpec spec;
  spec.name = "small";
  spec.env = "cartpole";
  spec.envs = 4;
  spec.net.hidden = {32};
  spec.learn.batch = 32;
  dqn(spec).replay.capacity = 1000;
  spec.learn.learning_starts = 200;
  spec.learn.updates_per_step = 0.5;
  spec.learn.train_every = 8;
  dqn(spec).target.every = 64;
  spec.evaluation.every = 700;
  spec.evaluation.episodes = 5;
  spec.run.steps = 2800;
  spec.run.log_every = 300;
  return spec;
}

}  // namespace hotloop
