// Recorded episodes, and the vector steps that they become in a replay.
//
// A replay stores vector steps over N lanes. The T transitions, one episode after the other, become
// N streams of S = ceil(T / N) steps: stream i begins at transition floor(i T / N). So the last
// stream ends with the last transition, none is left out, and fewer than N of them occur twice, at
// the borders of streams. A stream that ends within an episode is cut there: its last step is
// truncated, and keeps the observation that follows.
#pragma once

#include <hotloop/env.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "memory/transitions.hpp"

namespace hotloop {

// What the transitions of an environment consist of.
struct TransitionKind {
  int obs = 0;          // floats per observation
  int actions = 0;      // number of discrete actions
  int action_size = 0;  // floats per continuous action; 0 = actions are discrete
  bool masks = false;
  std::vector<float> action_low{}, action_high{};  // [action_size]
};

TransitionKind transition_kind(const EnvSpec& env, bool masks);

// T transitions of E whole episodes, one after the other. An episode ends with a transition that is
// terminated or truncated, never both.
struct Demonstrations {
  TransitionKind kind;
  std::vector<float> obs;                 // [T, D]
  std::vector<std::uint8_t> mask;         // [T, A] or empty
  std::vector<std::int32_t> actions;      // [T] or empty
  std::vector<float> continuous_actions;  // [T, action_size] in the units of the environment
  std::vector<float> rewards;             // [T]
  std::vector<std::uint8_t> terminated;   // [T]
  std::vector<std::uint8_t> truncated;    // [T]
  std::vector<float> final_obs;           // [E, D]
  std::vector<std::uint8_t> final_mask;   // [E, A] or empty

  std::int64_t size() const { return std::ssize(rewards); }
  std::int64_t episodes() const { return std::ssize(final_obs) / kind.obs; }
  bool ends_episode(std::int64_t at) const { return (terminated[at] | truncated[at]) != 0; }
};

// The steps of each stream.
inline std::int64_t demonstration_steps(std::int64_t transitions, int lanes) {
  return (transitions + lanes - 1) / lanes;
}

class DemonstrationStreams {
 public:
  // `obs` and `mask`, which follow the last vector step, are those that training begins with. With
  // `truncation_ends`, truncated episodes count as terminated; streams are still cut by truncation.
  DemonstrationStreams(const Demonstrations& from, int lanes, bool truncation_ends,
                       std::span<const float> obs, std::span<const std::uint8_t> mask);

  std::int64_t steps() const { return steps_; }
  // The smallest distance between two truncations of a lane; steps() if no lane has two.
  std::int64_t truncation_gap() const;

  // Before the first step.
  std::span<const float> first_obs() const { return next_obs_; }
  std::span<const std::uint8_t> first_mask() const { return next_mask_; }

  bool done() const { return step_ == steps_; }
  Transitions next();  // valid until the next call

 private:
  bool is_last(std::int64_t step) const { return step + 1 == steps_; }
  bool is_truncated(std::int64_t at, std::int64_t step) const;
  void take(int lane);

  const Demonstrations& from_;
  int lanes_;
  bool truncation_ends_;
  std::span<const float> live_obs_;
  std::span<const std::uint8_t> live_mask_;
  std::int64_t steps_, step_ = 0;
  std::vector<std::int64_t> place_, episode_;  // [N] the next transition, and its episode
  // The vector step, as in Transitions.
  std::vector<std::int32_t> actions_;
  std::vector<float> continuous_actions_, rewards_, next_obs_, final_obs_;
  std::vector<std::uint8_t> terminated_, truncated_, next_mask_, final_mask_;
};

}  // namespace hotloop
