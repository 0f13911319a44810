// Replay from a checkpoint: what its limits cannot say. A transition that breaks a rule here would
// be an index out of bounds, a division by zero or an endless search when it is drawn.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <hotloop/error.hpp>

#include "memory/replay.hpp"

namespace hotloop {

void Replay::restored(std::int64_t env_steps) {
  if (env_steps % shape_.lanes != 0 || env_steps / shape_.lanes != pushed_ - demonstrated_) {
    throw RunError(fmt::format(
        "replay: {} vector steps of {} environments{} are not {} env steps", pushed_, shape_.lanes,
        demonstrated_ > 0 ? fmt::format(", {} of them demonstrated,", demonstrated_)
                          : std::string(),
        env_steps));
  }
  check_transitions();
  if (!shape_.prioritised) return;
  check_priorities();
  tree_.rebuild();
}

void Replay::check_transitions() const {
  const auto allows_some = [this](std::span<const std::uint8_t> masks, std::int64_t place) {
    const auto row = masks.subspan(place * shape_.actions, shape_.actions);
    return std::any_of(row.begin(), row.end(), [](std::uint8_t allowed) { return allowed != 0; });
  };
  const std::int64_t lanes = shape_.lanes;
  const auto action_count = static_cast<std::uint32_t>(std::max(1, shape_.actions));
  std::int64_t terminated = 0;
  std::int64_t slot = (pushed_ - stored_slots()) % ring_;
  for (std::int64_t step = pushed_ - stored_slots(); step <= pushed_; ++step) {
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t place = slot * lanes + lane;
      const auto fail = [&](const std::string& what) {
        throw RunError(fmt::format("replay: transition {}: {}", place, what));
      };
      if (shape_.masks && !allows_some(mask_, place)) fail("its mask allows no action");
      if (step == pushed_) continue;  // the head has only an observation
      const Outcome outcome = unpack(outcomes_[place]);
      if (!std::isfinite(outcome.reward)) fail(fmt::format("its reward is {}", outcome.reward));
      if (outcome.action >= action_count) {
        fail(fmt::format("its action is {}; allowed: 0 to {}", outcome.action, action_count - 1));
      }
      if (outcome.end > kTruncated || (outcome.end == kTruncated && shape_.max_steps == 0)) {
        fail(fmt::format("its end is {}", outcome.end));
      }
      terminated += outcome.end == kTerminated;
      if (shape_.masks && outcome.end == kTruncated &&
          !allows_some(final_mask_, final_place(step, lane))) {
        fail("its final mask allows no action");
      }
    }
    slot = slot + 1 == ring_ ? 0 : slot + 1;
  }
  if (terminated != terminals_) {
    throw RunError(fmt::format("replay: {} transitions terminated, but {} are counted", terminated,
                               terminals_));
  }
}

// Exactly the stored transitions can be drawn.
void Replay::check_priorities() const {
  const std::int64_t lanes = shape_.lanes;
  const std::int64_t slots = std::min(pushed_ + 1, ring_);
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    for (std::int64_t place = slot * lanes; place < (slot + 1) * lanes; ++place) {
      if ((tree_[place] > 0) == (slot != head())) continue;
      throw RunError(fmt::format("replay: the priority of transition {} is {}; allowed: {}", place,
                                 tree_[place], slot != head() ? "1 or more" : "0"));
    }
  }
}

}  // namespace hotloop
