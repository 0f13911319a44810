#include "memory/replay.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace hotloop {
namespace {

std::int64_t slots_of(const ReplayShape& s) { return s.capacity / s.lanes; }
std::int64_t aside_of(const ReplayShape& s) {
  return s.max_steps > 0 ? slots_of(s) / s.max_steps + 2 : 0;
}
std::size_t obs_bytes(const ReplayShape& s) {
  return s.obs * sizeof(float) + (s.masks ? static_cast<std::size_t>(s.actions) : 0);
}

// Rows are short: four floats at a time beats a call of memcpy.
inline void copy_row(const float* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) std::memcpy(to + i, from + i, 4 * sizeof(float));
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace

double Replay::bytes_per_transition(const ReplayShape& s) {
  return static_cast<double>(bytes_needed(s, 0)) / static_cast<double>(slots_of(s) * s.lanes);
}

std::size_t Replay::bytes_needed(const ReplayShape& s, std::int64_t draws) {
  const std::size_t small = sizeof(std::uint64_t);  // the outcome
  const std::size_t stored =
      (slots_of(s) + 1) * (small + obs_bytes(s)) + aside_of(s) * obs_bytes(s);
  const std::size_t gathered =
      2 * obs_bytes(s) + sizeof(std::int32_t) + 2 * sizeof(float) + sizeof(std::int64_t);
  return stored * s.lanes + gathered * draws;
}

Replay::Replay(const ReplayShape& shape, std::int64_t draws)
    : shape_(shape), slots_(slots_of(shape)), ring_(slots_ + 1), aside_(aside_of(shape)) {
  assert(slots_ > 0);
  const std::size_t n = shape.lanes;
  const std::size_t d = shape.obs;
  const std::size_t a = shape.masks ? shape.actions : 0;
  obs_ = arena_.take<float>(ring_ * n * d);
  mask_ = arena_.take<std::uint8_t>(ring_ * n * a);
  outcomes_ = arena_.take<std::uint64_t>(ring_ * n);
  final_obs_ = arena_.take<float>(aside_ * n * d);
  final_mask_ = arena_.take<std::uint8_t>(aside_ * n * a);
  places_ = arena_.take<std::int64_t>(draws);
  batch_obs_ = arena_.take<float>(draws * d);
  batch_next_obs_ = arena_.take<float>(draws * d);
  batch_rewards_ = arena_.take<float>(draws);
  batch_continues_ = arena_.take<float>(draws);
  batch_actions_ = arena_.take<std::int32_t>(draws);
  batch_next_mask_ = arena_.take<std::uint8_t>(draws * a);
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
  copy_obs(0, obs, mask);
}

void Replay::push(const Transitions& t) {
  const std::int64_t n = shape_.lanes;
  const std::int64_t slot = head();
  std::uint64_t* outcomes = outcomes_.data() + slot * n;
  std::uint8_t any_truncated = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t end = t.terminated[i] * kTerminated + t.truncated[i] * kTruncated;
    outcomes[i] = pack({t.rewards[i], static_cast<std::uint32_t>(t.actions[i]), end});
    any_truncated |= t.truncated[i];
  }
  if (any_truncated != 0) {
    const std::int64_t d = shape_.obs;
    const std::int64_t a = shape_.actions;
    for (std::int64_t i = 0; i < n; ++i) {
      if (t.truncated[i] == 0) continue;
      const std::int64_t place = aside(pushed_, static_cast<int>(i));
      std::copy_n(t.final_obs.data() + i * d, d, final_obs_.data() + place * d);
      if (shape_.masks) std::copy_n(t.final_mask.data() + i * a, a, final_mask_.data() + place * a);
    }
  }
  ++pushed_;
  copy_obs(head(), t.next_obs, t.next_mask);
}

void Replay::sample(int batches, int size, std::uint64_t seed, std::uint64_t first_stream) {
  const std::int64_t n = shape_.lanes;
  const std::int64_t d = shape_.obs;
  const std::int64_t a = shape_.actions;
  const std::int64_t draws = std::int64_t{batches} * size;
  const std::int64_t oldest = pushed_ - stored_slots();
  const std::int64_t first = oldest % ring_ * n;  // place of the oldest transition
  const std::int64_t end = ring_ * n;
  assert(draws <= static_cast<std::int64_t>(places_.size()) && stored_slots() > 0);
  batch_size_ = size;

  // All places first, with a prefetch each; the gather then finds its cache lines on the way.
  const auto stored = static_cast<std::uint32_t>(this->size());
  for (int k = 0; k < batches; ++k) {
    Rng rng(seed, Purpose::replay, 0, first_stream + k);
    for (std::int64_t i = std::int64_t{k} * size; i < std::int64_t{k + 1} * size; ++i) {
      std::int64_t at = first + rng.below(stored);
      if (at >= end) at -= end;
      places_[i] = at;
      __builtin_prefetch(obs_.data() + at * d);
      __builtin_prefetch(obs_.data() + (at + n) * d);
      __builtin_prefetch(outcomes_.data() + at);
    }
  }
  for (std::int64_t i = 0; i < draws; ++i) {
    const std::int64_t at = places_[i];
    const Outcome outcome = unpack(outcomes_[at]);
    std::int64_t next = at + n < end ? at + n : at + n - end;
    const float* next_obs = obs_.data();
    const std::uint8_t* next_mask = mask_.data();
    if (outcome.end == kTruncated) {
      const std::int64_t age =
          (at >= first ? at - first : at + end - first) / n;  // vector steps after the oldest
      next = aside(oldest + age, static_cast<int>(at % n));
      next_obs = final_obs_.data();
      next_mask = final_mask_.data();
    }
    copy_row(obs_.data() + at * d, d, &batch_obs_[i * d]);
    copy_row(next_obs + next * d, d, &batch_next_obs_[i * d]);
    batch_actions_[i] = static_cast<std::int32_t>(outcome.action);
    batch_rewards_[i] = outcome.reward;
    batch_continues_[i] = outcome.end == kTerminated ? 0.0f : 1.0f;
    if (shape_.masks) std::copy_n(next_mask + next * a, a, &batch_next_mask_[i * a]);
  }
}

Batch Replay::batch(int index) const {
  const std::int64_t first = std::int64_t{index} * batch_size_;
  return {.size = batch_size_,
          .obs = batch_obs_.data() + first * shape_.obs,
          .next_obs = batch_next_obs_.data() + first * shape_.obs,
          .actions = batch_actions_.data() + first,
          .rewards = batch_rewards_.data() + first,
          .continues = batch_continues_.data() + first,
          .next_mask = shape_.masks ? batch_next_mask_.data() + first * shape_.actions : nullptr};
}

}  // namespace hotloop
