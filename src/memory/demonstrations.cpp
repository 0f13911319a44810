#include "memory/demonstrations.hpp"

#include <algorithm>
#include <cassert>

namespace hotloop {
namespace {

// Copies row `from` of one array to row `to` of another; both have rows of this width.
template <class From, class To>
void copy_row(const From& rows, std::int64_t from, std::int64_t width, To& to, std::int64_t row) {
  std::copy_n(rows.begin() + from * width, width, to.begin() + row * width);
}

}  // namespace

TransitionKind transition_kind(const EnvSpec& env, bool masks) {
  TransitionKind kind{
      .obs = env.obs, .actions = env.actions, .action_size = env.action_size, .masks = masks};
  kind.action_low.assign(env.action_low.begin(), env.action_low.begin() + env.action_size);
  kind.action_high.assign(env.action_high.begin(), env.action_high.begin() + env.action_size);
  return kind;
}

DemonstrationStreams::DemonstrationStreams(const Demonstrations& from, int lanes,
                                           bool truncation_ends, std::span<const float> obs,
                                           std::span<const std::uint8_t> mask)
    : from_(from),
      lanes_(lanes),
      truncation_ends_(truncation_ends),
      live_obs_(obs),
      live_mask_(mask),
      steps_(demonstration_steps(from.size(), lanes)),
      place_(lanes),
      episode_(lanes),
      actions_(from.kind.action_size > 0 ? 0 : lanes),
      continuous_actions_(static_cast<std::size_t>(lanes) * from.kind.action_size),
      rewards_(lanes),
      next_obs_(obs.size()),
      final_obs_(obs.size()),
      terminated_(lanes),
      truncated_(lanes),
      next_mask_(mask.size()),
      final_mask_(mask.size()) {
  assert(std::ssize(obs) == std::int64_t{lanes} * from.kind.obs && from.size() > 0);
  std::int64_t episode = 0, at = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    // lane * T / N without a product that could overflow
    const std::int64_t whole = from.size() / lanes, rest = from.size() % lanes;
    place_[lane] = lane * whole + lane * rest / lanes;
    for (; at < place_[lane]; ++at) episode += from.ends_episode(at) ? 1 : 0;
    episode_[lane] = episode;
    copy_row(from.obs, at, from.kind.obs, next_obs_, lane);
    if (from.kind.masks) copy_row(from.mask, at, from.kind.actions, next_mask_, lane);
  }
}

bool DemonstrationStreams::is_truncated(std::int64_t at, std::int64_t step) const {
  if (!from_.ends_episode(at)) return is_last(step);
  return from_.truncated[at] != 0 && !truncation_ends_;
}

std::int64_t DemonstrationStreams::truncation_gap() const {
  std::int64_t gap = steps_;
  for (const std::int64_t place : place_) {
    std::int64_t previous = -1;
    for (std::int64_t step = 0; step < steps_; ++step) {
      if (!is_truncated(place - step_ + step, step)) continue;
      if (previous >= 0) gap = std::min(gap, step - previous);
      previous = step;
    }
  }
  return gap;
}

void DemonstrationStreams::take(int lane) {
  const std::int64_t at = place_[lane]++;
  const std::int64_t d = from_.kind.obs, a = from_.kind.actions;
  const bool ends = from_.ends_episode(at);
  if (from_.kind.action_size > 0) {
    copy_row(from_.continuous_actions, at, from_.kind.action_size, continuous_actions_, lane);
  } else {
    actions_[lane] = from_.actions[at];
  }
  rewards_[lane] = from_.rewards[at];
  truncated_[lane] = is_truncated(at, step_);
  terminated_[lane] = ends && truncated_[lane] == 0;
  // Only the last transition of all has no successor, and it ends an episode in the last step.
  const auto set_next = [&](const auto& rows, const auto& final_rows, const auto& live,
                            std::int64_t width, auto& next, auto& last) {
    if (ends) {
      copy_row(final_rows, episode_[lane], width, last, lane);
    } else {
      copy_row(rows, at + 1, width, last, lane);
    }
    if (is_last(step_)) {
      copy_row(live, lane, width, next, lane);
    } else {
      copy_row(rows, at + 1, width, next, lane);
    }
  };
  set_next(from_.obs, from_.final_obs, live_obs_, d, next_obs_, final_obs_);
  if (from_.kind.masks) {
    set_next(from_.mask, from_.final_mask, live_mask_, a, next_mask_, final_mask_);
  }
  episode_[lane] += ends ? 1 : 0;
}

Transitions DemonstrationStreams::next() {
  for (int lane = 0; lane < lanes_; ++lane) take(lane);
  ++step_;
  return {.actions = actions_,
          .rewards = rewards_,
          .terminated = terminated_,
          .truncated = truncated_,
          .next_obs = next_obs_,
          .next_mask = next_mask_,
          .final_obs = final_obs_,
          .final_mask = final_mask_,
          .continuous_actions = continuous_actions_};
}

}  // namespace hotloop
