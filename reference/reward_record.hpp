// The rewards of a step as rl-durotaxis keeps them: a dictionary with string keys, created in every
// step and added to that of the episode. The slow twin of DurotaxisReward. Of the list of rewards
// per node it keeps the sum (total_node_reward) and the length (num_nodes), which give the mean.
// Tests and benchmarks only.
#pragma once

#include <string>
#include <unordered_map>

#include "envs/durotaxis/world.hpp"

namespace hotloop::reference {

using RewardRecord = std::unordered_map<std::string, double>;

inline RewardRecord reward_record(const DurotaxisReward& reward) {
  return {{"total_reward", reward.total},
          {"graph_reward", reward.graph},
          {"spawn_reward", reward.spawn},
          {"delete_reward", reward.deletion},
          {"deletion_efficiency_reward", reward.efficiency},
          {"edge_reward", reward.edge},
          {"centroid_reward", reward.centroid},
          {"milestone_reward", reward.milestone},
          {"total_node_reward", reward.node},
          {"survival_reward", reward.survival},
          {"empty_graph_recovery_penalty", reward.recovery},
          {"termination_reward", reward.termination},
          {"num_nodes", static_cast<double>(reward.cells)}};
}

inline void add_record(const RewardRecord& step, RewardRecord& episode) {
  for (const auto& [key, value] : step) episode[key] += value;
}

}  // namespace hotloop::reference
