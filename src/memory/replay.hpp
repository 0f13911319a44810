// Replay memory as a structure of arrays: stores whole vector steps, returns whole batches. Each
// field has its own ring, except that reward, discrete action and end of episode share a word: the
// cost of a random draw is the cache lines it touches. Continuous actions are rows of floats in
// their own ring.
//
// Lane n is environment n. A slot holds one vector step: slot t of every field is contiguous over
// lanes, so a push is one copy per field. s' of slot t is the observation of slot t + 1: it is
// never stored twice. The newest slot, the head, holds only an observation; its action comes later.
//
// Where an episode ends, slot t + 1 holds the next episode's first observation. After a termination
// s' has no value and is not needed. After a truncation it is needed: the final observation is
// stored separately. Two truncations in one lane are at least `max_steps` apart, so the index
// (step / max_steps) mod K, with K = slots / max_steps + 2, belongs to no other stored transition
// of the lane.
//
// The first vector steps may be demonstrations (demonstrations.hpp): they are stored like any other,
// but are no env steps, and their truncations may be closer to each other.
//
// n-step returns (Sutton 1988) need no storage: gathering a drawn transition walks along its lane.
// The window ends after n steps, at the end of the episode, or at the head.
//
// Prioritised replay (Schaul et al. 2016, proportional): transition i is drawn with probability
// P_i = p_i / sum p, p = (|error| + epsilon)^alpha, and has weight w_i = (size * P_i)^-beta,
// divided by the largest w of its batch. New transitions enter with the largest priority given so
// far. The leaves of the sum tree are the places of the ring; those of the head have priority 0.
//
// Combined experience replay (Zhang and Sutton 2017): the newest vector step is in every batch.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <hotloop/rng.hpp>

#include "core/arena.hpp"
#include "core/limits.hpp"
#include "memory/priority_tree.hpp"
#include "memory/transitions.hpp"

namespace hotloop {

// Transitions are drawn with 32 random bits.
inline constexpr std::int64_t kMaxReplayCapacity = 4'000'000'000;
static_assert(kMaxReplayCapacity < std::int64_t{1} << 32);

struct ReplayShape {
  int lanes = 1;
  int obs = 0;                  // floats per observation
  int actions = 0;              // number of discrete actions
  int action_size = 0;          // floats per continuous action; 0 = actions are discrete
  bool masks = false;           // whether action masks are stored
  int max_steps = 0;            // minimum steps between two truncations; 0 = no truncations
  bool demonstrations = false;  // whether it may begin with demonstrations
  std::int64_t capacity = 0;    // transitions; rounded down to whole vector steps
  int steps = 1;                // n of n-step returns
  double gamma = 0.99;          // discount, within the window and of the bootstrap
  bool newest = false;          // whether the newest vector step is in every batch
  bool prioritised = false;
  double alpha = 0.6;  // 0 = all equal, 1 = in proportion to the error
  double priority_epsilon = 1e-4;
};

class Replay {
 public:
  // `draws` is the largest number of transitions that one `sample` gathers.
  Replay(const ReplayShape& shape, std::int64_t draws);

  static double bytes_per_transition(const ReplayShape& shape);
  static std::size_t bytes_needed(const ReplayShape& shape, std::int64_t draws);

  // The first `steps` vector steps to be pushed are demonstrations, with truncations at least `gap`
  // steps apart. To be called before begin(), if shape().demonstrations.
  void expect_demonstrations(std::int64_t steps, std::int64_t gap);
  // The observations that the first push starts from.
  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask);
  void push(const Transitions& step);

  // Draws `batches` times `size` transitions with replacement and gathers them all in one pass.
  // Batch k draws from the stream (seed, replay, 0, first + k), so it gets the same transitions
  // whether it is drawn alone or with others. Priorities change with each batch, so prioritised
  // batches are drawn one by one (`batches` is 1). With `newest`, the last min(N, size) of each
  // batch are the lanes of the newest vector step, in order, and only the others are drawn.
  void sample(int batches, int size, std::uint64_t seed, std::uint64_t first, double beta = 1);
  Batch batch(int index) const;  // of the last sample

  // Sets the priorities of batch `index` of the last sample; nothing may have been pushed since.
  // errors [B] are |delta| >= 0. If a transition was drawn twice, its last error counts.
  void set_priorities(int index, std::span<const float> errors);
  double priority(std::int64_t place) const {  // place = slot * lanes + lane
    return static_cast<double>(tree_[place]) / PriorityTree::kOne;
  }

  std::int64_t size() const { return stored_slots() * shape_.lanes; }
  std::int64_t capacity() const { return slots_ * shape_.lanes; }
  std::int64_t terminals() const { return terminals_; }  // stored transitions that terminated
  const ReplayShape& shape() const { return shape_; }

  // For checkpoints: everything that must be saved, by name; arrays only as far as they hold data.
  // That length follows from "pushed", which therefore comes first, and must be within its limits
  // when the visitor returns. Restore into a replay right after begin(): what is not visited must
  // be in that state.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("pushed", std::span<std::int64_t>(&pushed_, 1), Limits::count());
    const std::int64_t slots = pushed_ < slots_ ? pushed_ + 1 : ring_;
    v("terminals", std::span<std::int64_t>(&terminals_, 1), Limits::count());
    if (shape_.demonstrations) {
      v("demonstrated", std::span<std::int64_t>(&demonstrated_, 1), Limits::integers(0, slots_));
      v("truncation_gap", std::span<std::int32_t>(&shape_.max_steps, 1), gap_limits());
      take_final_slots();
    }
    v("obs", obs_.first(obs_.size() / ring_ * slots), Limits::finite());
    v("mask", mask_.first(mask_.size() / ring_ * slots), Limits::flags());
    v("outcomes", outcomes_.first(outcomes_.size() / ring_ * slots), Limits::any());
    if (shape_.action_size > 0) {
      v("continuous_actions", continuous_actions_.first(continuous_actions_.size() / ring_ * slots),
        Limits::between(-1, 1));
    }
    v("final_obs", final_obs_, Limits::finite());
    v("final_mask", final_mask_, Limits::flags());
    if (!shape_.prioritised) return;
    const auto limit = static_cast<double>(tree_.limit());
    v("priorities", tree_.leaves().first(tree_.leaves().size() / ring_ * slots),
      Limits::integers(0, limit));
    v("largest_priority", std::span<float>(&largest_priority_, 1), Limits::integers(1, limit));
  }
  // After restoring: checks what limits cannot say and computes what is not visited. `env_steps` is
  // the number of transitions ever pushed, without demonstrations. Throws RunError.
  void restored(std::int64_t env_steps);

 private:
  enum End : std::uint32_t { kRunning = 0, kTerminated = 1, kTruncated = 2 };

  // A discrete action (0 if actions are continuous) and its outcome in one word: 32 bits of reward,
  // 30 of action, 2 of end.
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
  std::int64_t final_place(std::int64_t step, int lane) const {
    return (step / shape_.max_steps % final_slots_ * shape_.lanes) + lane;
  }
  std::int64_t first_place() const {  // of the oldest transition
    return (pushed_ - stored_slots()) % ring_ * shape_.lanes;
  }

  Limits gap_limits() const;
  void take_final_slots();
  void check_transitions() const;
  void check_priorities() const;
  void copy_obs(std::int64_t slot, std::span<const float> obs, std::span<const std::uint8_t> mask);
  void forget(std::int64_t slot);
  // kOneStep: the compiler drops the walk along the window.
  template <bool kOneStep>
  void sample_windows(int batches, int size, std::uint64_t seed, std::uint64_t first, double beta);
  template <bool kOneStep, class Prefetch>
  void prefetch_window(std::int64_t place, Prefetch&& prefetch) const;
  template <bool kOneStep>
  void draw_uniformly(Rng rng, std::span<std::int64_t> places) const;
  template <bool kOneStep>
  void gather(std::int64_t draws);
  template <bool kOneStep>
  void draw_by_priority(std::uint64_t seed, std::uint64_t stream, std::int64_t drawn);
  void compute_weights(double beta);

  ReplayShape shape_;
  std::int64_t slots_;                           // capacity in vector steps
  std::int64_t ring_;                            // slots_ and the head
  std::int64_t final_slots_ = 0;                 // slots for final observations
  int max_gap_;                                  // the largest allowed shape_.max_steps
  std::int64_t demonstrated_ = 0;                // vector steps of demonstrations, the first ones
  std::int64_t pushed_ = 0;                      // vector steps ever pushed
  std::int64_t terminals_ = 0;                   // stored transitions that terminated
  float largest_priority_ = PriorityTree::kOne;  // given so far, in units of the tree
  int batch_size_ = 0;
  std::int64_t sampled_at_ = 0;  // `pushed_` at the last sample
  Arena arena_, final_arena_;
  PriorityTree tree_;                    // [ring, N] leaves, if prioritised
  std::span<float> obs_;                 // [ring, N, D]
  std::span<std::uint8_t> mask_;         // [ring, N, A]
  std::span<std::uint64_t> outcomes_;    // [ring, N]
  std::span<float> continuous_actions_;  // [ring, N, action_size] in [-1, 1]
  std::span<float> final_obs_;           // [final_slots, N, D]
  std::span<std::uint8_t> final_mask_;   // [final_slots, N, A]
  std::span<double> powers_;             // [steps + 1] of gamma
  // What `sample` gathered, [draws, ...].
  std::span<std::int64_t> places_;  // slot * N + lane
  std::span<float> batch_obs_, batch_next_obs_, batch_rewards_, batch_discounts_,
      batch_continuous_actions_;
  std::span<std::int32_t> batch_actions_;
  std::span<std::uint8_t> batch_mask_, batch_next_mask_;
  // Only if prioritised, [draws]. Floats are padded to whole vectors: a scalar tail would use other
  // instructions, and the last bits of a number would depend on its position in the batch.
  std::span<std::uint64_t> random_;
  std::span<float> priorities_;  // in units of the tree
  std::span<float> batch_weights_;
};

}  // namespace hotloop
