// Shared by algorithms with a replay memory: options, keys, checks and memory size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "algo/common/agent_spec.hpp"
#include "algo/common/algorithm.hpp"
#include "algo/common/key.hpp"
#include "env/world_facts.hpp"
#include "memory/replay.hpp"

namespace hotloop {

struct ReplayOptions {
  std::int64_t capacity = 100'000;  // transitions, all environments together
  bool newest = false;              // the newest transitions are in every batch
  bool prioritised = false;
  double alpha = 0.6, epsilon = 1e-4;       // of priorities
  Schedule beta = linear(0.4, 1, 100'000);  // exponent of the importance weights
};

Keys replay_keys(ReplayOptions& options, AgentSpec& spec);
// The keys that decide when to learn: algo.learning_starts, updates_per_step, train_every,
// train_offset, pipelined.
Keys replay_learning_keys(AgentSpec& spec);
Key accumulate_key(LearningOptions& options);
void check_replay(const ReplayOptions& options, int n_step, const AgentSpec& spec,
                  Violations& violations);

ReplayShape replay_shape(const ReplayOptions& options, int n_step, bool truncation_ends,
                         const AgentSpec& spec, const WorldFacts& world);
// Bytes of a full replay, and of the staging buffer of a pipelined round.
double replay_bytes(const ReplayShape& shape, const AgentSpec& spec);

// Changes of how much is learnt and when, for the doctor.
std::vector<Proposal> replay_remedies(const ReplayOptions& options, const AgentSpec& spec,
                                      const PhaseShare& share);
// Overrides that keep the updates per step the same with `envs` environments.
std::vector<std::string> rounds_with_envs(const AgentSpec& spec, int envs);

// "replay 100000 transitions x 40.0 bytes = 3.8 MiB"
std::string describe_replay(const ReplayShape& shape);
// The error if it does not fit into `available - other` bytes; names the largest capacity.
std::string replay_too_large(const ReplayShape& shape, double bytes, double other,
                             double available);

}  // namespace hotloop
