// The batch runner: N copies of an environment, stepped together.
//
// It does everything that is the same for all environments: time limits, auto-reset, random
// streams, episode statistics, saving and restoring. Rows are stepped in contiguous chunks by a
// thread team.
//
// Auto-reset happens inside `step`: when an episode ends, `obs` already has the first observation
// of the next episode, and `final_obs` has the last one of the old episode. `terminated` (the world
// ended) and `truncated` (by the time limit) are never both 1.
//
// Streams: row i draws from Rng(seed, purpose, i, t) in vector step t = 1, 2, …, and the reset
// after that step draws from Rng(seed, purpose, i, -t) modulo 2^64; the first reset has t = 0. The
// streams are disjoint, so an extra draw in `step` never changes the start of the next episode.
//
// Environments that step all rows in one call (vector_worlds.hpp) handle resets, limits and streams
// themselves.
#pragma once

#include <hotloop/env.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "core/thread_team.hpp"
#include "env/vector_worlds.hpp"

namespace hotloop {

struct Episode {
  double total_return = 0;
  std::int64_t length = 0;
  std::array<float, kMaxMeasures> measures{};  // in the order of spec().measures
};

// The actions of one vector step, of the kind that the environment takes; the other kind is empty.
struct Actions {
  std::vector<std::int32_t> discrete;  // [N]
  std::vector<float> continuous;       // [N, spec.action_size]

  Actions(const EnvSpec& spec, int count)
      : discrete(spec.actions > 0 ? count : 0),
        continuous(static_cast<std::size_t>(count) * spec.action_size) {}

  operator ActionRows() const {
    ActionRows rows;
    rows.discrete = discrete;
    rows.continuous = continuous;
    return rows;
  }
};

class BatchEnv {
 public:
  // `worlds` must hold `count` rows. Afterwards the first episodes have begun.
  BatchEnv(std::unique_ptr<Worlds> worlds, int count, std::uint64_t seed, Purpose purpose);

  const EnvSpec& spec() const { return worlds_->spec(); }
  int count() const { return count_; }
  const Worlds& worlds() const { return *worlds_; }
  std::uint64_t seed() const { return seed_; }
  Purpose purpose() const { return purpose_; }
  bool has_mask() const { return worlds_->has_mask(); }

  void reset();  // all rows begin a first episode; the step counter is 0
  // Discrete actions must be in [0, spec().actions) and allowed by mask(), continuous ones finite;
  // debug builds assert it. Continuous actions are not clipped.
  void step(const ActionRows& actions, ThreadTeam& team);

  // Results of the last reset or step; valid until the next. Final rows: only of ended episodes.
  std::span<const float> obs() const { return obs_; }                       // [N, D]
  std::span<const std::uint8_t> mask() const { return mask_; }              // [N, A] or empty
  std::span<const float> rewards() const { return rewards_; }               // [N]
  std::span<const float> reward_parts() const { return reward_parts_; }     // [N, C] or empty
  std::span<const std::uint8_t> terminated() const { return terminated_; }  // [N]
  std::span<const std::uint8_t> truncated() const { return truncated_; }    // [N]
  std::span<const float> final_obs() const { return final_obs_; }           // [N, D]
  std::span<const std::uint8_t> final_mask() const { return final_mask_; }  // [N, A] or empty
  std::span<const Episode> finished() const {                               // in row order
    return finished_.first(finished_count_);
  }

  std::uint64_t steps() const { return steps_; }  // vector steps since reset

  // The whole state as bytes. After `restore`, obs() and mask() are as they were when saved;
  // rewards and flags are 0 and finished() is empty until the next step. The bytes must come from
  // the same environment with the same number of rows. Throws RunError if they are not a state that
  // it could have saved, as far as the environment can tell.
  std::vector<std::byte> save() const;
  void restore(std::span<const std::byte> from);

  // Takes effect at the next reset.
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  // From the next reset or step on, results are written to this memory of the caller.
  struct Shown {
    std::span<float> obs;                           // [N, D]
    std::span<float> rewards;                       // [N]
    std::span<std::uint8_t> terminated, truncated;  // [N]
  };
  void show_in(const Shown& to);

 private:
  void step_by_row(const ActionRows& actions, ThreadTeam& team);
  void step_rows(int begin, int end, const ActionRows& actions);
  void step_together(const ActionRows& actions);
  VectorResults results() const;
  void end_episode(int row);
  void record_episode(int row);
  void collect_finished();
  std::size_t fixed_bytes() const;  // of a saved state, without the part from VectorWorlds
  void clear_results();
  bool actions_are_legal(const ActionRows& actions) const;

  std::unique_ptr<Worlds> worlds_;
  WorldArray* rows_ = nullptr;        // worlds_, if it is stepped row by row;
  VectorWorlds* together_ = nullptr;  // else this is worlds_
  int count_;
  std::uint64_t seed_;
  Purpose purpose_;
  std::int64_t limit_;  // spec().max_steps, or the largest integer
  std::uint64_t steps_ = 0;
  std::size_t finished_count_ = 0;
  Arena arena_;
  std::span<float> obs_;                 // [N, D]
  std::span<float> final_obs_;           // [N, D]
  std::span<float> rewards_;             // [N]
  std::span<float> reward_parts_;        // [N, C] or empty
  std::span<std::uint8_t> mask_;         // [N, A] or empty
  std::span<std::uint8_t> final_mask_;   // [N, A] or empty
  std::span<std::uint8_t> terminated_;   // [N]
  std::span<std::uint8_t> truncated_;    // [N]
  std::span<double> running_return_;     // [N] of the episode in progress
  std::span<std::int64_t> began_after_;  // [N] steps_ when it began, which gives its length
  std::span<Episode> finished_;          // [N] capacity; the first finished_count_ are valid
};

}  // namespace hotloop
