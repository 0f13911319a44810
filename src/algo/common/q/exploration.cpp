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
       "sometimes a random action, or always a sample of softmax(Q / temperature); independently "
       "in each environment"},
      Key{"algo.epsilon", &e.epsilon, kShare,
          "epsilon_greedy: probability of a random action; default 0 with noisy layers"}
          .by_default("`{kind: linear, from: 1, to: 0.05, over: 10000}`",
                      [&e, &spec] {
                        if (spec.net.noisy != Noisy::none) e.epsilon = constant(0);
                      })
          .only_if(by_epsilon, "algo.explore is boltzmann"),
      Key{"algo.explore_steps",
          &e.steps,
          {1, 1'000'000},
          "epsilon_greedy: vector steps for which a random action is repeated; more than 1 helps "
          "where a goal needs the same action many times (Dabney et al. 2021)"}
          .only_if(by_epsilon, "algo.explore is boltzmann")
          .only_if([&e] { return e.epsilon != constant(0); }, "algo.epsilon is 0"),
      Key{"algo.temperature",
          &e.temperature,
          {0, 1e9, true},
          "boltzmann: higher is closer to uniform"}
          .only_if([&e] { return e.kind == Explore::boltzmann; }, "algo.explore is not boltzmann"),
  };
}

void check_exploration(const ExplorationOptions& e, const AgentSpec& spec, Violations& violations) {
  const bool acts_greedily = e.kind == Explore::epsilon_greedy && e.epsilon == constant(0);
  const bool noisy = spec.net.noisy != Noisy::none && spec.net.noisy_sigma > 0;
  violations.blame_if(
      acts_greedily && !noisy, "algo.epsilon",
      "is 0 and there are no noisy layers: nothing would explore; give it a value above 0, or set "
      "net.noisy");
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
