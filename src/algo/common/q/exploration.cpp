#include "algo/common/q/exploration.hpp"

#include <fmt/format.h>

#include "algo/common/agent_spec.hpp"

namespace hotloop {

Keys exploration_keys(ExplorationOptions& e, AgentSpec& spec) {
  const auto by_epsilon = [&e] { return e.kind == Explore::epsilon_greedy; };
  return {
      {"algo.explore",
       choice(e.kind, kExploreNames),
       {},
       "random actions now and then, or all by softmax(Q / temperature); a draw per environment"},
      Key{"algo.epsilon", &e.epsilon, kShare,
          "epsilon_greedy: probability of a random action; with noisy layers 0 unless given"}
          .by_default("`{kind: linear, from: 1, to: 0.05, over: 10000}`",
                      [&e, &spec] {
                        if (spec.net.noisy != Noisy::none) e.epsilon = constant(0);
                      })
          .only_if(by_epsilon, "algo.explore is boltzmann"),
      Key{"algo.explore_steps",
          &e.steps,
          {1, 1'000'000},
          "epsilon_greedy: vector steps for which an environment that explores keeps its random "
          "action; more than one gets further where a goal needs the same action many times "
          "(Dabney et al. 2021)"}
          .only_if(by_epsilon, "algo.explore is boltzmann")
          .only_if([&e] { return e.epsilon != constant(0); }, "algo.epsilon is 0"),
      Key{"algo.temperature", &e.temperature, {0, 1e9, true}, "boltzmann: flattens the choice"}
          .only_if([&e] { return e.kind == Explore::boltzmann; }, "algo.explore is not boltzmann"),
  };
}

void check_exploration(const ExplorationOptions& e, const AgentSpec& spec, Violations& violations) {
  const bool acts_greedily = e.kind == Explore::epsilon_greedy && e.epsilon == constant(0);
  const bool noisy = spec.net.noisy != Noisy::none && spec.net.noisy_sigma > 0;
  violations.blame_if(
      acts_greedily && !noisy, "algo.epsilon",
      "0, and no noisy layers: nothing would explore; give it a value above 0, or net.noisy");
  violations.check_schedule("algo.epsilon", e.epsilon);
  violations.check_schedule("algo.temperature", e.temperature);
  const Schedule& t = e.temperature;
  const bool stops = t.kind == ScheduleKind::step && t.factor == 0;
  violations.blame_if(t.kind == ScheduleKind::linear_to_zero || stops, "algo.temperature",
                      "must stay above 0; use kind linear with a small `to`");
}

std::string describe_exploration(const ExplorationOptions& e) {
  std::string text;
  if (e.kind == Explore::boltzmann) text += ", boltzmann";
  if (e.steps > 1) text += fmt::format(", exploring {} steps at a time", e.steps);
  return text;
}

}  // namespace hotloop
