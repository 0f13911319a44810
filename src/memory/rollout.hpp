// T vector steps of N environments in order, for learning on what the present policy does (SARSA,
// PQN, PPO): filled, learnt from, restarted.
//
// Row t of `obs` is what the actions of row t answer; row T is what the next rollout starts with.
// Where an episode ended, row t + 1 shows the next episode's first observation; for a truncation
// `final_obs` holds the observation to bootstrap from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/arena.hpp"
#include "memory/transitions.hpp"

namespace hotloop {

struct RolloutShape {
  int steps = 1;    // T
  int lanes = 1;    // N
  int obs = 0;      // D, floats per observation
  int actions = 0;  // A
  bool masks = false;
  int parts = 0;  // C, of a reward
};

class Rollout {
 public:
  explicit Rollout(const RolloutShape& shape);
  static std::size_t bytes_needed(const RolloutShape& shape);

  // The observations that the first push starts from. Whatever was stored is dropped.
  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask);
  void push(const Transitions& step);  // must not be full
  bool full() const { return filled_ == shape_.steps; }
  int filled() const { return static_cast<int>(filled_); }  // vector steps
  void restart();                                           // the last observation is the first

  const RolloutShape& shape() const { return shape_; }
  std::span<const float> obs() const { return obs_; }                    // [T + 1, N, D]
  std::span<const std::uint8_t> mask() const { return mask_; }           // [T + 1, N, A] or empty
  std::span<const std::int32_t> actions() const { return actions_; }     // [T, N]
  std::span<const float> rewards() const { return rewards_; }            // [T, N]
  std::span<const float> reward_parts() const { return reward_parts_; }  // [C, T, N]
  std::span<const std::uint8_t> terminated() const { return terminated_; }  // [T, N]
  std::span<const std::uint8_t> truncated() const { return truncated_; }    // [T, N]
  // [T, N, D] and [T, N, A] or empty; only rows of truncated lanes have a meaning.
  std::span<const float> final_obs() const { return final_obs_; }
  std::span<const std::uint8_t> final_mask() const { return final_mask_; }

  // For checkpoints: everything, by name. A rollout that is half full continues where it was.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("filled", std::span<std::int64_t>(&filled_, 1));
    v("obs", obs_);
    v("mask", mask_);
    v("actions", actions_);
    v("rewards", rewards_);
    if (shape_.parts > 0) v("reward_parts", reward_parts_);
    v("terminated", terminated_);
    v("truncated", truncated_);
    v("final_obs", final_obs_);
    v("final_mask", final_mask_);
  }

 private:
  void copy_obs(std::int64_t row, std::span<const float> obs, std::span<const std::uint8_t> mask);

  RolloutShape shape_;
  std::int64_t filled_ = 0;
  Arena arena_;
  std::span<float> obs_, rewards_, reward_parts_, final_obs_;
  std::span<std::int32_t> actions_;
  std::span<std::uint8_t> mask_, terminated_, truncated_, final_mask_;
};

}  // namespace hotloop
