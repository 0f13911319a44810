// T vector steps of N environments in order, for on-policy learning (SARSA, PQN, PPO): filled,
// learnt from, restarted.
//
// The actions of row t were chosen for row t of `obs`; the next rollout starts with row T.
// Where an episode ended, row t + 1 holds the next episode's first observation; for a truncation
// `final_obs` holds the observation to bootstrap from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/arena.hpp"
#include "core/limits.hpp"
#include "memory/transitions.hpp"

namespace hotloop {

struct RolloutShape {
  int steps = 1;    // T
  int lanes = 1;    // N
  int obs = 0;      // D, floats per observation
  int actions = 0;  // A
  bool masks = false;
  int parts = 0;  // C, parts of a reward
};

class Rollout {
 public:
  explicit Rollout(const RolloutShape& shape);
  static std::size_t bytes_needed(const RolloutShape& shape);

  // Sets the observations that the first push starts from. Drops what was stored.
  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask);
  void push(const Transitions& step);  // must not be full
  bool full() const { return filled_ == shape_.steps; }
  int filled() const { return static_cast<int>(filled_); }  // vector steps
  void restart();                                           // begins with the last observation

  const RolloutShape& shape() const { return shape_; }
  std::span<const float> obs() const { return obs_; }                    // [T + 1, N, D]
  std::span<const std::uint8_t> mask() const { return mask_; }           // [T + 1, N, A] or empty
  std::span<const std::int32_t> actions() const { return actions_; }     // [T, N]
  std::span<const float> rewards() const { return rewards_; }            // [T, N]
  std::span<const float> reward_parts() const { return reward_parts_; }  // [C, T, N]
  std::span<const std::uint8_t> terminated() const { return terminated_; }  // [T, N]
  std::span<const std::uint8_t> truncated() const { return truncated_; }    // [T, N]
  // [T, N, D] and [T, N, A] or empty; only rows of truncated lanes are set.
  std::span<const float> final_obs() const { return final_obs_; }
  std::span<const std::uint8_t> final_mask() const { return final_mask_; }

  // For checkpoints: everything, by name. A half-full rollout continues where it was.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("filled", std::span<std::int64_t>(&filled_, 1), Limits::index_below(shape_.steps));
    v("obs", obs_, Limits::finite());
    v("mask", mask_, Limits::flags());
    v("actions", actions_, Limits::index_below(shape_.actions));
    v("rewards", rewards_, Limits::finite());
    if (shape_.parts > 0) v("reward_parts", reward_parts_, Limits::finite());
    v("terminated", terminated_, Limits::flags());
    v("truncated", truncated_, Limits::flags());
    v("final_obs", final_obs_, Limits::finite());
    v("final_mask", final_mask_, Limits::flags());
  }
  // After restoring: checks what limits cannot say. A full rollout is learnt from before anything
  // is saved, so `env_steps` decides how full it is. Throws RunError.
  void restored(std::int64_t env_steps) const;
  // Throws RunError unless the masks of the newest observations allow these actions [N].
  void check_allowed(std::span<const std::int32_t> actions, const char* name) const;

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
