// A stream of random vector steps for tests of the memories: no number repeats, and episodes end
// often, by termination or at the time limit.
#pragma once

#include <vector>

#include "memory/replay.hpp"

namespace hotloop {

struct RandomPlay {
  ReplayShape shape;
  Rng rng;
  std::vector<float> obs, final_obs, rewards, continuous_actions;
  std::vector<std::uint8_t> mask, final_mask, terminated, truncated;
  std::vector<std::int32_t> actions, length;
  float next_value = 1;

  RandomPlay(const ReplayShape& s, std::uint32_t lane)
      : shape(s),
        rng(3, Purpose::test, lane, 0),
        obs(s.lanes * s.obs),
        final_obs(obs),
        rewards(s.lanes),
        continuous_actions(s.lanes * s.action_size),
        mask(s.masks ? s.lanes * s.actions : 0),
        final_mask(mask),
        terminated(s.lanes),
        truncated(s.lanes),
        actions(s.action_size > 0 ? 0 : s.lanes),
        length(s.lanes) {
    fill_obs();
  }

  // `obs` and `mask` are what the next step starts from.
  Transitions step() {
    fill_obs();
    for (float& v : rewards) v = next_value++;
    for (float& v : continuous_actions) v = next_value++;
    for (auto& v : actions) v = static_cast<std::int32_t>(rng.below(shape.actions));
    for (int i = 0; i < shape.lanes; ++i) {
      ++length[i];
      truncated[i] = shape.max_steps > 0 && length[i] == shape.max_steps;
      terminated[i] = truncated[i] == 0 && rng.below(6) == 0;
      if ((terminated[i] | truncated[i]) != 0) length[i] = 0;
    }
    return {.actions = actions,
            .rewards = rewards,
            .terminated = terminated,
            .truncated = truncated,
            .next_obs = obs,
            .next_mask = mask,
            .final_obs = final_obs,
            .final_mask = final_mask,
            .continuous_actions = continuous_actions};
  }

 private:
  void fill_obs() {
    for (float& v : obs) v = next_value++;
    for (float& v : final_obs) v = next_value++;
    for (auto& v : mask) v = static_cast<std::uint8_t>(rng.below(2));
    for (auto& v : final_mask) v = static_cast<std::uint8_t>(rng.below(2));
    for (std::size_t i = 0; i < mask.size(); i += shape.actions) mask[i] = final_mask[i] = 1;
  }
};

}  // namespace hotloop
