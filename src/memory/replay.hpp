// Replay memory as a structure of arrays: whole vector steps in, whole batches out. Observations have
// a ring of their own; action, reward and end share a word, because a random draw costs as much as the
// cache lines it touches.
//
// Lane n is environment n. A slot holds one vector step: slot t of every field is contiguous over
// lanes, so a push is one copy per field. s' of slot t is the observation of slot t + 1: it is
// never stored twice. The newest slot, the head, holds only the observation that its action will
// follow.
//
// Where an episode ends, slot t + 1 shows the next episode's first observation. After a termination
// s' has no value and is not needed. After a truncation it is: the final observation is kept aside.
// Two truncations in one lane are at least `max_steps` apart, so (step / max_steps) mod K, with K =
// slots / max_steps + 2, names a place that no other living transition of the lane uses.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <hotloop/rng.hpp>

#include "core/arena.hpp"

namespace hotloop {

struct ReplayShape {
  int lanes = 1;
  int obs = 0;  // floats per observation
  int actions = 0;
  bool masks = false;         // whether action masks are stored
  int max_steps = 0;          // the environment's time limit; 0 = it never truncates
  std::int64_t capacity = 0;  // transitions; rounded down to whole vector steps
};

// One vector step, as the environment gave it.
struct Transitions {
  std::span<const std::int32_t> actions;     // [N]
  std::span<const float> rewards;            // [N]
  std::span<const std::uint8_t> terminated;  // [N]
  std::span<const std::uint8_t> truncated;   // [N]
  std::span<const float> next_obs;           // [N, D] after auto-reset
  std::span<const std::uint8_t> next_mask;   // [N, A] or empty
  std::span<const float> final_obs;          // [N, D] rows of truncated lanes are read
  std::span<const std::uint8_t> final_mask;  // [N, A] or empty, ditto
};

// Gathered transitions, K batches of B one after the other; the arrays belong to the replay.
struct Batch {
  int size = 0;
  const float* obs = nullptr;               // [B, D]
  const float* next_obs = nullptr;          // [B, D]
  const std::int32_t* actions = nullptr;    // [B]
  const float* rewards = nullptr;           // [B]
  const float* continues = nullptr;         // [B] 0 where the episode terminated, else 1
  const std::uint8_t* next_mask = nullptr;  // [B, A] or null
};

class Replay {
 public:
  // `draws` is the largest number of transitions that one `sample` gathers.
  Replay(const ReplayShape& shape, std::int64_t draws);

  static double bytes_per_transition(const ReplayShape& shape);
  static std::size_t bytes_needed(const ReplayShape& shape, std::int64_t draws);

  // The observations that the first push starts from.
  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask);
  void push(const Transitions& step);

  // Draws `batches` times `size` transitions uniformly with replacement and gathers them all in one
  // pass. Batch k draws from the stream (seed, replay, 0, first + k): the same transitions, whether it
  // is drawn alone or with others.
  void sample(int batches, int size, std::uint64_t seed, std::uint64_t first);
  Batch batch(int index) const;  // of the last sample

  std::int64_t size() const { return stored_slots() * shape_.lanes; }
  std::int64_t capacity() const { return slots_ * shape_.lanes; }
  const ReplayShape& shape() const { return shape_; }

  // For checkpoints: the vector steps pushed so far, and the arrays by name.
  std::int64_t pushed() const { return pushed_; }
  void set_pushed(std::int64_t pushed) { pushed_ = pushed; }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("obs", obs_);
    v("mask", mask_);
    v("outcomes", outcomes_);
    v("final_obs", final_obs_);
    v("final_mask", final_mask_);
  }

 private:
  enum End : std::uint32_t { kRunning = 0, kTerminated = 1, kTruncated = 2 };

  // What followed an action, in a word: the reward's bits, the action, two bits for the end.
  struct Outcome {
    float reward;
    std::uint32_t action;
    std::uint32_t end;
  };
  static std::uint64_t pack(const Outcome& o) {
    return std::uint64_t{std::bit_cast<std::uint32_t>(o.reward)} << 32 | o.action << 2 | o.end;
  }
  static Outcome unpack(std::uint64_t word) {
    const auto low = static_cast<std::uint32_t>(word);
    return {std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32)), low >> 2, low & 3};
  }

  std::int64_t stored_slots() const { return pushed_ < slots_ ? pushed_ : slots_; }
  std::int64_t head() const { return pushed_ % ring_; }
  std::int64_t aside(std::int64_t step, int lane) const {
    return (step / shape_.max_steps % aside_ * shape_.lanes) + lane;
  }
  void copy_obs(std::int64_t slot, std::span<const float> obs, std::span<const std::uint8_t> mask);

  ReplayShape shape_;
  std::int64_t slots_;       // vector steps that fit
  std::int64_t ring_;        // slots and the head
  std::int64_t aside_;       // final observations per lane
  std::int64_t pushed_ = 0;  // vector steps ever pushed
  int batch_size_ = 0;
  Arena arena_;
  std::span<float> obs_;                // [ring, N, D]
  std::span<std::uint8_t> mask_;        // [ring, N, A]
  std::span<std::uint64_t> outcomes_;   // [ring, N]
  std::span<float> final_obs_;          // [aside, N, D]
  std::span<std::uint8_t> final_mask_;  // [aside, N, A]
  // What `sample` gathered, [draws, ...].
  std::span<std::int64_t> places_;  // slot * N + lane
  std::span<float> batch_obs_, batch_next_obs_, batch_rewards_, batch_continues_;
  std::span<std::int32_t> batch_actions_;
  std::span<std::uint8_t> batch_next_mask_;
};

}  // namespace hotloop
