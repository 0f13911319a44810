#include "memory/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include <hotloop/error.hpp>

#include "core/cpu/vec.hpp"

namespace hotloop {
namespace {

std::int64_t slots_of(const ReplayShape& s) { return s.capacity / s.lanes; }
std::int64_t final_slots_of(const ReplayShape& s, int max_steps) {
  return max_steps > 0 ? slots_of(s) / max_steps + 2 : 0;
}
std::size_t obs_bytes(const ReplayShape& s) {
  return s.obs * sizeof(float) + (s.masks ? static_cast<std::size_t>(s.actions) : 0);
}

}  // namespace

double Replay::bytes_per_transition(const ReplayShape& s) {
  return static_cast<double>(bytes_needed(s, 0)) / static_cast<double>(slots_of(s) * s.lanes);
}

std::size_t Replay::bytes_needed(const ReplayShape& s, std::int64_t draws) {
  const std::size_t continuous = s.action_size * sizeof(float);
  const std::size_t outcome = sizeof(std::uint64_t) + continuous;
  const int gap = s.demonstrations ? 1 : s.max_steps;  // of demonstrations it is not known yet
  const std::size_t stored =
      (slots_of(s) + 1) * (outcome + obs_bytes(s)) + final_slots_of(s, gap) * obs_bytes(s);
  std::size_t gathered = 2 * obs_bytes(s) + sizeof(std::int32_t) + continuous + 2 * sizeof(float) +
                         sizeof(std::int64_t);
  std::size_t tree = 0;
  if (s.prioritised) {
    tree = PriorityTree::bytes_needed((slots_of(s) + 1) * s.lanes);
    gathered += 2 * sizeof(float) + sizeof(std::uint64_t);
  }
  return stored * s.lanes + tree + gathered * draws;
}

Replay::Replay(const ReplayShape& shape, std::int64_t draws)
    : shape_(shape),
      slots_(slots_of(shape)),
      ring_(slots_ + 1),
      max_gap_(shape.max_steps > 0 ? shape.max_steps : std::numeric_limits<int>::max()) {
  assert(slots_ > 0 && shape.steps > 0);
  assert((shape.actions > 0) != (shape.action_size > 0));
  const std::size_t n = shape.lanes;
  const std::size_t d = shape.obs;
  const std::size_t a = shape.masks ? shape.actions : 0;
  obs_ = arena_.take<float>(ring_ * n * d);
  mask_ = arena_.take<std::uint8_t>(ring_ * n * a);
  outcomes_ = arena_.take<std::uint64_t>(ring_ * n);
  continuous_actions_ = arena_.take<float>(ring_ * n * shape.action_size);
  take_final_slots();
  places_ = arena_.take<std::int64_t>(draws);
  batch_obs_ = arena_.take<float>(draws * d);
  batch_next_obs_ = arena_.take<float>(draws * d);
  batch_rewards_ = arena_.take<float>(draws);
  batch_discounts_ = arena_.take<float>(draws);
  batch_actions_ = arena_.take<std::int32_t>(draws);
  batch_continuous_actions_ = arena_.take<float>(draws * shape.action_size);
  batch_mask_ = arena_.take<std::uint8_t>(draws * a);
  batch_next_mask_ = arena_.take<std::uint8_t>(draws * a);
  powers_ = arena_.take<double>(shape.steps + 1);
  powers_[0] = 1;
  for (int k = 1; k <= shape.steps; ++k) powers_[k] = powers_[k - 1] * shape.gamma;
  if (!shape.prioritised) return;
  tree_ = PriorityTree(arena_, ring_ * shape.lanes);
  random_ = arena_.take<std::uint64_t>(draws);
  const std::int64_t padded = (draws + kVec - 1) / kVec * kVec;
  priorities_ = arena_.take<float>(padded);
  batch_weights_ = arena_.take<float>(padded);
}

// The slots for final observations that shape_.max_steps requires.
void Replay::take_final_slots() {
  const std::int64_t slots = final_slots_of(shape_, shape_.max_steps);
  if (slots == final_slots_) return;
  const std::size_t rows = slots * shape_.lanes;
  final_arena_ = Arena();  // free the old ones first
  final_obs_ = final_arena_.take<float>(rows * shape_.obs);
  final_mask_ = final_arena_.take<std::uint8_t>(shape_.masks ? rows * shape_.actions : 0);
  final_slots_ = slots;
}

Limits Replay::gap_limits() const {
  return Limits::integers(max_gap_ == std::numeric_limits<int>::max() ? 0 : 1, max_gap_);
}

void Replay::expect_demonstrations(std::int64_t steps, std::int64_t gap) {
  assert(shape_.demonstrations && gap > 0);
  if (steps > slots_) {
    throw UsageError(fmt::format(
        "replay.capacity: {} transitions; the demonstrations need {} steps of {} environments = {}",
        capacity(), steps, shape_.lanes, steps * shape_.lanes));
  }
  demonstrated_ = steps;
  shape_.max_steps = static_cast<int>(std::min<std::int64_t>(gap, max_gap_));
  take_final_slots();
}

void Replay::copy_obs(std::int64_t slot, std::span<const float> obs,
                      std::span<const std::uint8_t> mask) {
  std::copy(obs.begin(), obs.end(), obs_.begin() + slot * static_cast<std::int64_t>(obs.size()));
  if (shape_.masks) {
    std::copy(mask.begin(), mask.end(),
              mask_.begin() + slot * static_cast<std::int64_t>(mask.size()));
  }
}

void Replay::begin(std::span<const float> obs, std::span<const std::uint8_t> mask) {
  pushed_ = 0;
  terminals_ = 0;
  largest_priority_ = PriorityTree::kOne;
  if (shape_.prioritised) tree_.fill(0, ring_ * shape_.lanes, 0);
  copy_obs(0, obs, mask);
}

void Replay::push(const Transitions& t) {
  const std::int64_t n = shape_.lanes;
  const std::int64_t slot = head();
  std::uint64_t* outcomes = outcomes_.data() + slot * n;
  std::uint8_t any_truncated = 0;
  const auto store_outcomes = [&](auto&& action_of) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t end = t.terminated[i] * kTerminated + t.truncated[i] * kTruncated;
      outcomes[i] = pack({t.rewards[i], action_of(i), end});
      any_truncated |= t.truncated[i];
    }
  };
  if (const std::int64_t size = shape_.action_size; size > 0) {
    assert(std::ssize(t.continuous_actions) == n * size);
    store_outcomes([](std::int64_t) { return std::uint32_t{0}; });
    std::copy_n(t.continuous_actions.data(), n * size, &continuous_actions_[slot * n * size]);
  } else {
    store_outcomes([&](std::int64_t i) {
      assert(t.actions[i] >= 0 && t.actions[i] < shape_.actions);
      return static_cast<std::uint32_t>(t.actions[i]);
    });
  }
  std::uint32_t terminated = 0;
  for (std::int64_t i = 0; i < n; ++i) terminated += t.terminated[i];
  terminals_ += terminated;
  if (any_truncated != 0) {
    const std::int64_t d = shape_.obs;
    const std::int64_t a = shape_.actions;
    for (std::int64_t i = 0; i < n; ++i) {
      if (t.truncated[i] == 0) continue;
      const std::int64_t place = final_place(pushed_, static_cast<int>(i));
      std::copy_n(t.final_obs.data() + i * d, d, final_obs_.data() + place * d);
      if (shape_.masks) std::copy_n(t.final_mask.data() + i * a, a, final_mask_.data() + place * a);
    }
  }
  if (shape_.prioritised) tree_.fill(slot * n, n, largest_priority_);
  ++pushed_;
  if (pushed_ >= ring_) forget(head());
  copy_obs(head(), t.next_obs, t.next_mask);
}

// Drops the oldest vector step; its slot becomes the head.
void Replay::forget(std::int64_t slot) {
  const std::int64_t n = shape_.lanes;
  std::uint64_t terminated = 0;
  for (const std::uint64_t word : outcomes_.subspan(slot * n, n)) terminated += word & kTerminated;
  terminals_ -= static_cast<std::int64_t>(terminated);
  if (shape_.prioritised) tree_.fill(slot * n, n, 0);
}

Batch Replay::batch(int index) const {
  const std::int64_t first = std::int64_t{index} * batch_size_;
  const bool continuous = shape_.action_size > 0;
  return {.size = batch_size_,
          .obs = batch_obs_.data() + first * shape_.obs,
          .next_obs = batch_next_obs_.data() + first * shape_.obs,
          .actions = continuous ? nullptr : batch_actions_.data() + first,
          .rewards = batch_rewards_.data() + first,
          .discounts = batch_discounts_.data() + first,
          .weights = shape_.prioritised ? batch_weights_.data() + first : nullptr,
          .mask = shape_.masks ? batch_mask_.data() + first * shape_.actions : nullptr,
          .next_mask = shape_.masks ? batch_next_mask_.data() + first * shape_.actions : nullptr,
          .continuous_actions =
              continuous ? batch_continuous_actions_.data() + first * shape_.action_size : nullptr};
}

}  // namespace hotloop
