// Exploration for algorithms that learn Q(s, a): options, keys and checks.
#pragma once

#include <array>
#include <string_view>

#include "algo/common/key.hpp"
#include "core/schedule.hpp"

namespace hotloop {

struct AgentSpec;

enum class Explore { epsilon_greedy, boltzmann };
inline constexpr std::array<std::string_view, 2> kExploreNames = {"epsilon_greedy", "boltzmann"};

// Every environment explores independently.
struct ExplorationOptions {
  Explore kind = Explore::epsilon_greedy;
  Schedule epsilon = linear(1, 0.05, 10'000);  // probability of a random action
  int steps = 1;                               // vector steps for which a random action is repeated
  Schedule temperature = constant(1);          // boltzmann: actions ~ softmax(Q / temperature)
};

// The current values of the schedules.
struct Exploration {
  Explore kind = Explore::epsilon_greedy;
  double epsilon = 0;
  int steps = 1;
  double temperature = 1;
};
inline constexpr Exploration kGreedyPolicy = {};
inline Exploration exploration_at(const ExplorationOptions& o, const Progress& progress) {
  return {o.kind, o.epsilon.at(progress), o.steps, o.temperature.at(progress)};
}

// For metrics: epsilon, or temperature.
template <class Visitor>
void visit_exploration(const Exploration& now, Visitor&& visitor) {
  if (now.kind == Explore::boltzmann) {
    visitor("temperature", now.temperature);
  } else {
    visitor("epsilon", now.epsilon);
  }
}

// The keys, and checks of their combinations.
Keys exploration_keys(ExplorationOptions& options, AgentSpec& spec);
void check_exploration(const ExplorationOptions& options, const AgentSpec& spec,
                       Violations& violations);

// ", boltzmann" and the like, for Algorithm::describe().
std::string describe_exploration(const ExplorationOptions& options);

}  // namespace hotloop
