// When to learn: rounds of env steps, each followed by the updates that are due.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "algo/common/agent_spec.hpp"

namespace hotloop {

inline std::int64_t whole_vector_steps(std::int64_t steps, int envs) {
  return (steps + envs - 1) / envs * envs;
}

// Rounds end at offset, offset + every, offset + 2 every, ... The number of rounds that have ended.
inline std::int64_t rounds_ended(const LearningOptions& o, std::int64_t env_steps) {
  const std::int64_t shifted = env_steps - o.train_offset;
  return shifted < 0 ? 0 : shifted / o.train_every + (o.train_offset > 0 ? 1 : 0);
}

// The env step at which the current round ends.
inline std::int64_t round_end(const LearningOptions& o, std::int64_t env_steps) {
  const std::int64_t ended = rounds_ended(o, env_steps);
  return o.train_offset > 0 ? o.train_offset + ended * o.train_every : (ended + 1) * o.train_every;
}

inline bool is_round_begin(const LearningOptions& o, std::int64_t env_steps, int envs) {
  return env_steps == 0 || rounds_ended(o, env_steps) > rounds_ended(o, env_steps - envs);
}

// Total updates due after this many train events. A fraction is carried over to the next event. The
// epsilon is for products such as 0.1 * 10 that fall short of 1.
inline std::int64_t updates_due(const LearningOptions& o, std::int64_t train_events) {
  return static_cast<std::int64_t>(
      std::floor(static_cast<double>(train_events * o.train_every) * o.updates_per_step + 1e-6));
}

// The updates that the spec implies for this many env steps, rounded up to complete vector steps.
inline std::int64_t declared_updates(const AgentSpec& spec, std::int64_t env_steps) {
  const LearningOptions& o = spec.learn;
  std::int64_t steps = whole_vector_steps(env_steps, spec.envs);
  if (o.pipelined) steps = std::max<std::int64_t>(0, steps - spec.envs);  // one round behind
  const std::int64_t rounds = rounds_ended(o, steps) - rounds_ended(o, o.learning_starts);
  return updates_due(o, std::max<std::int64_t>(0, rounds));
}

}  // namespace hotloop
