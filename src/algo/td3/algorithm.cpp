#include "algo/td3/algorithm.hpp"

#include "algo/td3/learner.hpp"

namespace hotloop {

void Td3Algorithm::set_defaults(AgentSpec& spec) const {
  Td3Options options;
  options.critics.actor_value = ActorValue::first;
  options.policy_delay = 2;
  spec.options = options;
  set_shared_defaults(spec);
  spec.optimiser.learning_rate = constant(1e-3);
}

Keys Td3Algorithm::keys(AgentSpec& spec) const {
  auto& o = options_of<Td3Options>(spec);
  return keys_with(
      {{"algo.noise",
        choice(o.noise, kNoiseKindNames),
        {},
        "noise that is added to actions to explore; that of ornstein_uhlenbeck drifts and "
        "starts at zero in every episode"},
       {"algo.noise_std",
        &o.noise_std,
        {0, 100},
        "its std, of actions in [-1, 1]; for ornstein_uhlenbeck that of each step"},
       Key{"algo.noise_theta",
           &o.noise_theta,
           {0, 1, true},
           "ornstein_uhlenbeck: share of the noise that is lost in each step"}
           .only_if([&o] { return o.noise == NoiseKind::ornstein_uhlenbeck; },
                    "algo.noise is gaussian"),
       {"algo.target_noise",
        &o.target_noise,
        {0, 100},
        "std of the noise on target actions (target policy smoothing); 0 = none"},
       Key{"algo.target_noise_clip",
           &o.target_noise_clip,
           {0, 100, true},
           "largest noise on a target action"}
           .only_if([&o] { return o.target_noise > 0; }, "algo.target_noise is 0")},
      spec);
}

void Td3Algorithm::check(const AgentSpec& spec, Violations& violations) const {
  ContinuousAlgorithm::check(spec, violations);
  const auto& o = options_of<Td3Options>(spec);
  violations.check_schedule("algo.noise_std", o.noise_std);
  violations.blame_if(o.noise == NoiseKind::ornstein_uhlenbeck && spec.learn.pipelined &&
                          spec.learn.train_every > spec.envs,
                      "algo.noise",
                      "ornstein_uhlenbeck starts at zero in every episode, but pipelined rounds of "
                      "several vector steps learn of its end too late; set algo.train_every to "
                      "env.count, or algo.pipelined to false");
}

std::unique_ptr<Learner> Td3Algorithm::make_learner(const AgentSpec& spec, const WorldFacts& world,
                                                    std::uint64_t seed) const {
  return std::make_unique<Td3Learner>(spec, world, seed);
}

namespace {

HOTLOOP_ALGORITHM(Td3Algorithm)

}  // namespace
}  // namespace hotloop
