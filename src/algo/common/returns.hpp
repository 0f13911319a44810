// Lambda returns, computed over a rollout in one backward sweep:
//
//   G_t = r_t + gamma (lambda G_{t+1} + (1 - lambda) V(s_{t+1}))
//
// with lambda = 0 where an episode was truncated or the rollout ends, and gamma = 0 where the
// episode terminated.
//
// Generalised advantage estimation (Schulman et al. 2016) is A_t = G_t - V(s_t), because both obey
// A_t = delta_t + gamma lambda A_{t+1}.
#pragma once

#include <cstdint>
#include <span>

namespace hotloop {

// Returns [T, N]. `next_values` [T, N] holds V of the state after each step; where the episode was
// truncated, that is its final observation. Rewards are multiplied by `reward_factor` first.
void lambda_returns(int steps, int lanes, double gamma, double lambda,
                    std::span<const float> rewards, float reward_factor,
                    std::span<const std::uint8_t> terminated,
                    std::span<const std::uint8_t> truncated, std::span<const float> next_values,
                    std::span<float> returns);

// In place: shifts and scales to mean 0 and (population) std 1, over all values or per episode.
// Constant values become 0.
void standardise(std::span<float> values);
void standardise_episodes(int steps, int lanes, std::span<const std::uint8_t> terminated,
                          std::span<const std::uint8_t> truncated, std::span<float> values);

}  // namespace hotloop
