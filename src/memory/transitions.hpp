// What memories store, and what they return.
#pragma once

#include <cstdint>
#include <span>

namespace hotloop {

// One vector step, as the environment returned it. Either `actions` or `continuous_actions` is
// empty.
struct Transitions {
  std::span<const std::int32_t> actions;           // [N] discrete
  std::span<const float> rewards;                  // [N]
  std::span<const std::uint8_t> terminated;        // [N]
  std::span<const std::uint8_t> truncated;         // [N]
  std::span<const float> next_obs;                 // [N, D] after auto-reset
  std::span<const std::uint8_t> next_mask;         // [N, A] or empty
  std::span<const float> final_obs;                // [N, D] only rows of truncated lanes are read
  std::span<const std::uint8_t> final_mask;        // [N, A] or empty, ditto
  std::span<const float> reward_parts = {};        // [N, C] or empty
  std::span<const float> continuous_actions = {};  // [N, action_size]
};

// Transitions gathered for an update; the arrays belong to the memory. Each starts a window of m
// steps that ends with the bootstrap state: y = reward + discount * value(next).
struct Batch {
  int size = 0;
  const float* obs = nullptr;               // [B, D]
  const float* next_obs = nullptr;          // [B, D] the bootstrap state
  const std::int32_t* actions = nullptr;    // [B] or null: actions are continuous
  const float* rewards = nullptr;           // [B] sum of gamma^k r_{t+k} over k < m
  const float* discounts = nullptr;         // [B] gamma^m; 0 where the window ended by termination
  const float* weights = nullptr;           // [B] importance weights; null = all equal
  const std::uint8_t* mask = nullptr;       // [B, A] or null
  const std::uint8_t* next_mask = nullptr;  // [B, A] or null
  const float* continuous_actions = nullptr;  // [B, action_size] or null: actions are discrete
};

}  // namespace hotloop
