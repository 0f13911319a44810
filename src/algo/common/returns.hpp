// Returns that mix one-step and longer estimates, over a whole rollout in one sweep backwards:
//
//   G_t = r_t + gamma (lambda G_{t+1} + (1 - lambda) V(s_{t+1})),   cut to gamma V where an episode
//   was truncated or the rollout ends, to nothing where it terminated.
//
// Generalised advantage estimation (Schulman et al. 2016) is A_t = G_t - V(s_t): both follow the same
// recursion, A_t = delta_t + gamma lambda A_{t+1}.
#pragma once

#include <cstdint>
#include <span>

namespace hotloop {

// Returns [T, N]. `next_values` [T, N] holds V of what each step led to, the final observation where
// the episode was truncated. Rewards are multiplied by `reward_factor` first.
void lambda_returns(int steps, int lanes, double gamma, double lambda,
                    std::span<const float> rewards, float reward_factor,
                    std::span<const std::uint8_t> terminated,
                    std::span<const std::uint8_t> truncated, std::span<const float> next_values,
                    std::span<float> returns);

// In place: mean 0 and (population) std 1, of all or of each episode by itself. What
// does not vary becomes 0.
void standardise(std::span<float> values);
void standardise_episodes(int steps, int lanes, std::span<const std::uint8_t> terminated,
                          std::span<const std::uint8_t> truncated, std::span<float> values);

}  // namespace hotloop
