// Demonstrations for tests: no number repeats, so that a transition is known by its observation.
#pragma once

#include <hotloop/rng.hpp>

#include <vector>

#include "memory/demonstrations.hpp"

namespace hotloop {

inline Demonstrations random_demonstrations(const TransitionKind& kind, std::int64_t episodes,
                                            std::uint32_t lane) {
  Demonstrations d;
  d.kind = kind;
  Rng rng(8, Purpose::test, lane, 0);
  float next = 1;
  const auto add_row = [&](std::vector<float>& to, int width) {
    for (int i = 0; i < width; ++i) to.push_back(next++);
  };
  const auto add_mask = [&](std::vector<std::uint8_t>& to, int allowed) {
    for (int a = 0; kind.masks && a < kind.actions; ++a) {
      to.push_back(static_cast<std::uint8_t>(a == allowed || rng.below(2) == 0));
    }
  };
  for (std::int64_t e = 0; e < episodes; ++e) {
    const std::uint32_t length = 1 + rng.below(7);
    const bool truncated = rng.below(2) == 0;
    for (std::uint32_t t = 0; t < length; ++t) {
      add_row(d.obs, kind.obs);
      const auto action =
          static_cast<std::int32_t>(rng.below(static_cast<std::uint32_t>(kind.actions + 1)));
      if (kind.action_size == 0) d.actions.push_back(std::min(action, kind.actions - 1));
      for (int i = 0; i < kind.action_size; ++i) {
        d.continuous_actions.push_back(
            static_cast<float>(rng.uniform(kind.action_low[i], kind.action_high[i])));
      }
      add_mask(d.mask, kind.action_size == 0 ? d.actions.back() : 0);
      d.rewards.push_back(next++);
      d.terminated.push_back(t + 1 == length && !truncated);
      d.truncated.push_back(t + 1 == length && truncated);
    }
    add_row(d.final_obs, kind.obs);
    add_mask(d.final_mask, 0);
  }
  return d;
}

}  // namespace hotloop
