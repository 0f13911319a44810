#include "memory/rollout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include <hotloop/error.hpp>

namespace hotloop {
namespace {

// Copies `values` to row `row` of an array whose rows have that length.
template <class T>
void copy_to_row(std::span<const T> values, std::int64_t row, std::span<T> array) {
  std::copy(values.begin(), values.end(),
            array.begin() + row * static_cast<std::int64_t>(values.size()));
}

}  // namespace

std::size_t Rollout::bytes_needed(const RolloutShape& s) {
  const std::size_t obs = s.obs * sizeof(float) + (s.masks ? s.actions : 0);
  const std::size_t step =
      sizeof(std::int32_t) + (1 + s.parts) * sizeof(float) + 2 * sizeof(std::uint8_t) + obs;
  return s.lanes * ((s.steps + std::size_t{1}) * obs + s.steps * step);
}

Rollout::Rollout(const RolloutShape& shape) : shape_(shape) {
  const std::size_t t = shape.steps, n = shape.lanes, d = shape.obs;
  const std::size_t a = shape.masks ? shape.actions : 0;
  obs_ = arena_.take<float>((t + 1) * n * d);
  mask_ = arena_.take<std::uint8_t>((t + 1) * n * a);
  actions_ = arena_.take<std::int32_t>(t * n);
  rewards_ = arena_.take<float>(t * n);
  reward_parts_ = arena_.take<float>(t * n * shape.parts);
  terminated_ = arena_.take<std::uint8_t>(t * n);
  truncated_ = arena_.take<std::uint8_t>(t * n);
  final_obs_ = arena_.take<float>(t * n * d);
  final_mask_ = arena_.take<std::uint8_t>(t * n * a);
}

void Rollout::copy_obs(std::int64_t row, std::span<const float> obs,
                       std::span<const std::uint8_t> mask) {
  copy_to_row(obs, row, obs_);
  if (shape_.masks) copy_to_row(mask, row, mask_);
}

void Rollout::begin(std::span<const float> obs, std::span<const std::uint8_t> mask) {
  filled_ = 0;
  copy_obs(0, obs, mask);
}

void Rollout::push(const Transitions& t) {
  assert(!full());
  copy_to_row(t.actions, filled_, actions_);
  copy_to_row(t.rewards, filled_, rewards_);
  copy_to_row(t.terminated, filled_, terminated_);
  copy_to_row(t.truncated, filled_, truncated_);
  for (int c = 0; c < shape_.parts; ++c) {
    for (int i = 0; i < shape_.lanes; ++i) {
      reward_parts_[(std::size_t{1} * c * shape_.steps + filled_) * shape_.lanes + i] =
          t.reward_parts[static_cast<std::size_t>(i) * shape_.parts + c];
    }
  }
  const std::int64_t d = shape_.obs, a = shape_.actions;
  for (std::int64_t i = 0; i < shape_.lanes; ++i) {
    if (t.truncated[i] == 0) continue;
    const std::int64_t row = filled_ * shape_.lanes + i;
    copy_to_row(t.final_obs.subspan(i * d, d), row, final_obs_);
    if (shape_.masks) copy_to_row(t.final_mask.subspan(i * a, a), row, final_mask_);
  }
  copy_obs(++filled_, t.next_obs, t.next_mask);
}

void Rollout::restart() {
  const std::size_t d = std::size_t(shape_.lanes) * shape_.obs;
  const std::size_t a = shape_.masks ? std::size_t(shape_.lanes) * shape_.actions : 0;
  const std::int64_t last = filled_;
  begin(obs_.subspan(last * d, d), mask_.subspan(last * a, a));
}

void Rollout::restored(std::int64_t env_steps) const {
  const std::int64_t lanes = shape_.lanes;
  if (env_steps % lanes != 0 || env_steps / lanes % shape_.steps != filled_) {
    throw RunError(fmt::format("rollout: {} of {} vector steps are filled after {} env steps",
                               filled_, shape_.steps, env_steps));
  }
  if (!shape_.masks) return;
  const auto check = [&](std::span<const std::uint8_t> masks, std::int64_t place) {
    const auto row = masks.subspan(place * shape_.actions, shape_.actions);
    if (std::find(row.begin(), row.end(), 1) != row.end()) return;
    throw RunError(fmt::format("rollout: the mask of observation {} allows no action", place));
  };
  for (std::int64_t place = 0; place < (filled_ + 1) * lanes; ++place) check(mask_, place);
  for (std::int64_t place = 0; place < filled_ * lanes; ++place) {
    if (truncated_[place] != 0) check(final_mask_, place);
  }
}

void Rollout::check_allowed(std::span<const std::int32_t> actions, const char* name) const {
  for (std::size_t lane = 0; shape_.masks && lane < actions.size(); ++lane) {
    const std::size_t row = static_cast<std::size_t>(filled_) * shape_.lanes + lane;
    if (mask_[row * shape_.actions + actions[lane]] != 0) continue;
    throw RunError(fmt::format("{}: action {} of environment {} is not allowed by its mask", name,
                               actions[lane], lane));
  }
}

}  // namespace hotloop
