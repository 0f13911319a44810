// Replay::sample: draws all places first and prefetches their cache lines into L2; then gathers
// them, prefetching each again shortly before it is needed. A CPU drops prefetches when more than a
// few dozen are in flight; prefetching a line that is already cached costs almost nothing.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/cpu/prefetch.hpp"
#include "core/phase_clock.hpp"
#include "memory/random_words.hpp"
#include "memory/replay.hpp"

namespace hotloop {
namespace {

constexpr std::int64_t kAhead = 8;  // transitions between the second prefetch and the gather

// Rows are short: four floats at a time beat a call of memcpy.
inline void copy_row(const float* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) std::memcpy(to + i, from + i, 4 * sizeof(float));
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace

// Prefetches the cache lines that the window of a transition will touch.
template <bool kOneStep, class Prefetch>
inline void Replay::prefetch_window(std::int64_t place, Prefetch&& prefetch) const {
  const std::int64_t n = shape_.lanes;
  const std::int64_t d = shape_.obs;
  const int steps = kOneStep ? 1 : shape_.steps;
  const float* row = obs_.data() + place * d;
  prefetch(row);
  prefetch(row + steps * n * d);
  // A long window is read in order; it is enough to prefetch its first words.
  for (int k = 0; k < std::min(steps, 8); ++k) prefetch(outcomes_.data() + place + k * n);
  if (shape_.action_size > 0) prefetch(continuous_actions_.data() + place * shape_.action_size);
}

template <bool kOneStep>
void Replay::draw_uniformly(Rng rng, std::span<std::int64_t> places) const {
  const std::int64_t first = first_place();
  const std::int64_t end = ring_ * shape_.lanes;
  const auto stored = static_cast<std::uint32_t>(size());
  for (std::int64_t& place : places) {
    const std::int64_t at = first + rng.below(stored);
    place = at >= end ? at - end : at;
    prefetch_window<kOneStep>(place, prefetch_l2);
  }
}

// Fills the first `drawn` places; the others are already set.
template <bool kOneStep>
void Replay::draw_by_priority(std::uint64_t seed, std::uint64_t stream, std::int64_t drawn) {
  for (std::int64_t i = drawn; i < batch_size_; ++i) priorities_[i] = tree_[places_[i]];
  const std::span<std::uint64_t> random = random_.first(drawn);
  random_words(Rng(seed, Purpose::replay, 0, stream), random);
  tree_.draw(random, places_, priorities_,
             [this](std::int64_t place) { prefetch_window<kOneStep>(place, prefetch_l2); });
}

template <bool kOneStep>
void Replay::gather(std::int64_t draws) {
  const std::int64_t n = shape_.lanes;
  const std::int64_t d = shape_.obs;
  const std::int64_t a = shape_.actions;
  const std::int64_t size = shape_.action_size;
  const std::int64_t oldest = pushed_ - stored_slots();
  const std::int64_t first = first_place();
  const std::int64_t end = ring_ * n;
  const std::int64_t head = this->head() * n;  // place of its first lane
  const int steps = shape_.steps;
  const auto gamma = static_cast<float>(shape_.gamma);

  for (std::int64_t i = 0; i < draws; ++i) {
    if (i + kAhead < draws) prefetch_window<kOneStep>(places_[i + kAhead], prefetch);
    const std::int64_t start = places_[i];
    const Outcome taken = unpack(outcomes_[start]);
    Outcome last = taken;  // the last outcome of the window
    std::int64_t at = start;
    std::int64_t next = at + n < end ? at + n : at + n - end;
    float reward = taken.reward;
    float discount = gamma;
    if constexpr (!kOneStep) {
      double sum = taken.reward;
      int m = 1;
      for (; m < steps && last.end == kRunning && (next < head || next >= head + n); ++m) {
        at = next;
        last = unpack(outcomes_[at]);
        sum += powers_[m] * last.reward;
        next = at + n < end ? at + n : at + n - end;
      }
      reward = static_cast<float>(sum);
      discount = static_cast<float>(powers_[m]);
    }
    const float* next_obs = obs_.data();
    const std::uint8_t* next_mask = mask_.data();
    if (last.end == kTruncated) {
      const std::int64_t age =
          (at >= first ? at - first : at + end - first) / n;  // vector steps after the oldest
      next = final_place(oldest + age, static_cast<int>(at % n));
      next_obs = final_obs_.data();
      next_mask = final_mask_.data();
    }
    copy_row(obs_.data() + start * d, d, &batch_obs_[i * d]);
    copy_row(next_obs + next * d, d, &batch_next_obs_[i * d]);
    batch_actions_[i] = static_cast<std::int32_t>(taken.action);
    if (size > 0) {
      copy_row(&continuous_actions_[start * size], size, &batch_continuous_actions_[i * size]);
    }
    batch_rewards_[i] = reward;
    batch_discounts_[i] = last.end == kTerminated ? 0.0f : discount;
    if (!shape_.masks) continue;
    std::copy_n(&mask_[start * a], a, &batch_mask_[i * a]);
    std::copy_n(next_mask + next * a, a, &batch_next_mask_[i * a]);
  }
}

template <bool kOneStep>
void Replay::sample_windows(int batches, int size, std::uint64_t seed, std::uint64_t first,
                            double beta) {
  const std::int64_t n = shape_.lanes;
  const std::int64_t drawn = shape_.newest ? std::max<std::int64_t>(0, size - n) : size;
  const std::int64_t newest = (pushed_ - 1) % ring_ * n;  // place of its first lane
  for (int k = 0; k < batches; ++k) {
    const std::span<std::int64_t> places = places_.subspan(std::int64_t{k} * size, size);
    for (std::int64_t i = drawn; i < size; ++i) places[i] = newest + i - drawn;
    if (shape_.prioritised) {
      draw_by_priority<kOneStep>(seed, first + k, drawn);
      compute_weights(beta);
    } else {
      draw_uniformly<kOneStep>(Rng(seed, Purpose::replay, 0, first + k), places.first(drawn));
    }
  }
  mark(Phase::memory_gather);
  gather<kOneStep>(std::int64_t{batches} * size);
}

void Replay::sample(int batches, int size, std::uint64_t seed, std::uint64_t first, double beta) {
  assert(std::int64_t{batches} * size <= static_cast<std::int64_t>(places_.size()));
  assert(stored_slots() > 0);
  assert(batches == 1 || !shape_.prioritised);
  batch_size_ = size;
  sampled_at_ = pushed_;
  shape_.steps == 1 ? sample_windows<true>(batches, size, seed, first, beta)
                    : sample_windows<false>(batches, size, seed, first, beta);
}

}  // namespace hotloop
