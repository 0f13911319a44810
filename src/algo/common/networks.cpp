#include "algo/common/networks.hpp"

#include <fmt/format.h>

#include <hotloop/error.hpp>

namespace hotloop {

GridShape grid_of(const AgentSpec& spec, const EnvSpec& env) {
  const auto [height, width, channels] = env.parts[0].shape;
  const GridShape grid{height, width, channels};
  if (grid.size() == env.obs) return grid;
  if (!spec.net.channels.empty()) {
    throw UsageError(fmt::format(
        "net.channels: the observation of {} is not a grid [height, width, channels]; leave it out "
        "(net.channels: []) or choose another environment",
        env.name));
  }
  return {};
}

std::vector<InputPart> parts_of(const EnvSpec& env) {
  std::vector<InputPart> parts;
  for (const ObsPart& part : env.parts) {
    if (part.name.empty()) break;
    const int rows = part.shape[1] > 0 ? part.shape[0] : 1;
    parts.push_back({std::string(part.name), rows, part.size() / rows});
  }
  return parts;
}

Structure q_structure(const AgentSpec& spec, const WorldFacts& world, const QHead& head) {
  const EnvSpec& env = world.spec;
  return make_mlp(env.obs, env.actions, spec.net, head.atoms, grid_of(spec, env), parts_of(env));
}

Keys normalise_keys(LearningOptions& l) {
  return {
      {"algo.normalise.obs",
       &l.normalise_obs,
       {},
       "subtract the running mean of observations, divide by their std, clip to [-10, 10]"},
      {"algo.normalise.rewards",
       &l.normalise_rewards,
       {},
       "divide rewards by the running std of the discounted return"},
  };
}

std::string gradient_advice(const AgentSpec& spec, bool loss_is_mse) {
  return fmt::format("{}a smaller optimiser.learning_rate{}",
                     spec.optimiser.max_grad_norm > 0 ? "" : "optimiser.max_grad_norm 10, ",
                     loss_is_mse                    ? ", or algo.loss huber"
                     : spec.learn.normalise_rewards ? ""
                                                    : ", or algo.normalise.rewards");
}

}  // namespace hotloop
