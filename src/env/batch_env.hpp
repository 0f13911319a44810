// The batch runner: N copies of an environment, stepped together.
//
// It owns everything that is the same for all environments: time limits, auto-reset, random streams,
// episode statistics, saving and restoring. Rows are stepped in contiguous chunks by a thread team.
//
// Auto-reset happens inside `step`: where an episode ended, `obs` already shows the first
// observation of the next one and `final_obs` the last of the old one. `terminated` (the world
// ended) and `truncated` (the time limit cut it) are never both 1.
//
// Streams: row i draws from Rng(seed, purpose, i, t) in vector step t = 1, 2, …, and the reset that
// follows it from Rng(seed, purpose, i, -t) modulo 2^64; the first reset is that of t = 0. No two
// of them meet, so a draw more in `step` never changes what the next episode starts from.
//
// Environments that step all rows in one call (vector_worlds.hpp) do resets, limits and streams
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

// One vector step's actions, of the kind that an environment takes; the other kind is empty.
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
  // `worlds` must hold `count` rows. Ready to step: the first episodes have begun.
  BatchEnv(std::unique_ptr<Worlds> worlds, int count, std::uint64_t seed, Purpose purpose);

  const EnvSpec& spec() const { return worlds_->spec(); }
  int count() const { return count_; }
  const Worlds& worlds() const { return *worlds_; }
  std::uint64_t seed() const { return seed_; }
  Purpose purpose() const { return purpose_; }
  bool has_mask() const { return worlds_->has_mask(); }

  void reset();  // all rows begin a first episode, step counter at 0
  // Discrete actions must be in [0, spec().actions) and allowed by mask(), continuous ones finite;
  // debug builds assert it. Continuous actions are passed on unclipped.
  void step(const ActionRows& actions, ThreadTeam& team);

  // Results of the last reset or step; valid until the next. Final rows are those that ended.
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

  // The whole state as bytes. After `restore`, obs() and mask() are as they were when saved; rewards,
  // flags and finished() are empty until the next step. The bytes must come from the same environment
  // and number of rows.
  std::vector<std::byte> save() const;
  void restore(std::span<const std::byte> from);

  // Another seed, from the next reset on.
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  // From the next reset or step on, its results are written to this memory of the caller.
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
  std::size_t fixed_bytes() const;  // of a state, without what VectorWorlds append
  void clear_results();
  bool actions_are_legal(const ActionRows& actions) const;

  std::unique_ptr<Worlds> worlds_;
  WorldArray* rows_ = nullptr;        // worlds_, if it is stepped row by row;
  VectorWorlds* together_ = nullptr;  // else this is worlds_
  int count_;
  std::uint64_t seed_;
  Purpose purpose_;
  std::int64_t limit_;  // spec().max_steps, or never
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
  std::span<std::int64_t> began_after_;  // [N] steps_ when it began: its length needs no counting
  std::span<Episode> finished_;          // [N] capacity; the first finished_count_ are valid
};

}  // namespace hotloop
