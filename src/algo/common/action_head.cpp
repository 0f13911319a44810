#include "algo/common/action_head.hpp"

#include <algorithm>
#include <array>

namespace hotloop {
namespace {

void choose_greedily(const PolicyLanes& lanes, const float* preferences, int actions,
                     std::int32_t* chosen) {
  std::array<std::int32_t, kLanes> greedy;
  greedy_actions(preferences, actions, lanes.rows, lanes.mask, greedy.data());
  std::copy_n(greedy.begin(), lanes.rows, chosen);
}

}  // namespace

const float* GreedyHead::compute_preferences(const PolicyLanes& lanes, float* scratch) const {
  return action_values(head_, lanes.outputs, lanes.width, scratch);
}

void GreedyHead::choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
                        const Draws*, Actions& actions) const {
  choose_greedily(lanes, preferences, head_.actions, &actions.discrete[first]);
}

const float* PolicyActionHead::compute_preferences(const PolicyLanes& lanes, float* scratch) const {
  distribution(head_, lanes, scratch);
  return scratch;
}

void PolicyActionHead::choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
                              const Draws* draws, Actions& actions) const {
  if (draws == nullptr && !head_.is_continuous()) {
    return choose_greedily(lanes, preferences, head_.actions, &actions.discrete[first]);
  }
  for (int row = 0; row < lanes.rows; ++row) {
    const float* raw = preferences + row;  // means come first
    std::array<float, kMaxActionSize * kLanes> drawn;
    const std::size_t place = first + row;
    if (draws != nullptr) {
      Rng rng(draws->seed, Purpose::exploration, static_cast<std::uint32_t>(place), draws->step);
      sample(head_, preferences, row, rng, drawn.data());
      raw = drawn.data();
    }
    if (head_.is_continuous()) {
      squash(head_, raw, kLanes, &actions.continuous[place * head_.actions]);
    } else {
      actions.discrete[place] = static_cast<std::int32_t>(*raw);
    }
  }
}

}  // namespace hotloop
