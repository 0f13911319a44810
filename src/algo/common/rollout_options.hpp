// Shared by on-policy algorithms: options, keys, checks and memory size. They learn only from the
// latest rollout, without a replay memory. A round is one rollout.
#pragma once

#include <string>

#include "algo/common/agent_spec.hpp"
#include "algo/common/algorithm.hpp"
#include "algo/common/key.hpp"
#include "env/world_facts.hpp"
#include "memory/rollout.hpp"

namespace hotloop {

struct RolloutOptions {
  int n_steps = 32;      // vector steps in a round
  int n_epochs = 2;      // passes over a round's transitions, in batches
  double lambda = 0.65;  // of the lambda returns
};

Keys rollout_keys(RolloutOptions& options, std::string_view about_epochs);
Key lambda_key(RolloutOptions& options, std::string_view path);
void check_rollout(const RolloutOptions& options, const AgentSpec& spec, Violations& violations);
// Derives train_every and updates_per_step from the rollout.
void derive_rounds(const RolloutOptions& options, AgentSpec& spec);

RolloutShape rollout_shape(const RolloutOptions& options, int reward_parts, const AgentSpec& spec,
                           const WorldFacts& world);
// Bytes of one transition in a rollout.
double rollout_bytes_per_transition(const RolloutShape& shape);
std::string describe_rollout(const RolloutOptions& options, const AgentSpec& spec);
// The rollout and the workspaces of the network, which are large for large batches.
MemoryNeed rollout_memory_need(const RolloutShape& shape, const Structure& network,
                               const AgentSpec& spec);
std::string rollout_too_large(const RolloutOptions& options, const AgentSpec& spec,
                              const MemoryNeed& need, double available);

// For the doctor: less learning; and n_steps for more environments, with about as many env steps
// per round.
std::vector<Proposal> rollout_remedies(const RolloutOptions& options, const AgentSpec& spec);
std::vector<std::string> shorter_rollout(const RolloutOptions& options, const AgentSpec& spec,
                                         int envs);

}  // namespace hotloop
