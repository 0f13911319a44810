// N copies of a world behind one interface: the batch runner.
//
// It owns everything that is the same for all worlds: time limits, auto-reset, random streams,
// episode statistics, saving and restoring. Rows are stepped in contiguous chunks by a thread team.
//
// Auto-reset happens inside `step`: where an episode ended, `obs` already shows the first observation
// of the next one and `final_obs` the last of the old one. `terminated` (the world ended) and
// `truncated` (the time limit cut it) are never both 1.
#pragma once

#include <hotloop/env.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "core/thread_team.hpp"

namespace hotloop {

// Storage and dynamics of N worlds, without episodes. One implementation per world type, made by
// world_array.hpp; rows are [begin, end).
class WorldArray {
 public:
  virtual ~WorldArray() = default;
  virtual const EnvSpec& spec() const = 0;
  virtual bool has_mask() const = 0;
  virtual void reset(int row, Rng& rng) = 0;
  // Row i draws from Rng(seed, purpose, i, step).
  virtual void step(int begin, int end, std::span<const std::int32_t> actions, std::uint64_t seed,
                    Purpose purpose, std::uint64_t step, std::span<float> rewards,
                    std::span<std::uint8_t> terminated) = 0;
  virtual void observe(int begin, int end, std::span<float> obs) const = 0;           // [N, D]
  virtual void mask(int begin, int end, std::span<std::uint8_t> allowed) const = 0;   // [N, A]
  virtual std::size_t row_bytes() const = 0;
  virtual void save_row(int row, std::byte* to) const = 0;
  virtual void restore_row(int row, const std::byte* from) = 0;
};

struct Episode {
  double total_return = 0;
  std::int64_t length = 0;
};

class BatchEnv {
 public:
  BatchEnv(std::unique_ptr<WorldArray> worlds, int count, std::uint64_t seed, Purpose purpose);

  const EnvSpec& spec() const { return worlds_->spec(); }
  int count() const { return count_; }
  bool has_mask() const { return worlds_->has_mask(); }

  void reset();  // all rows begin a first episode, step counter at 0
  void step(std::span<const std::int32_t> actions, ThreadTeam& team);

  // Results of the last reset or step; valid until the next.
  std::span<const float> obs() const { return obs_; }                      // [N, D]
  std::span<const std::uint8_t> mask() const { return mask_; }             // [N, A] or empty
  std::span<const float> rewards() const { return rewards_; }              // [N]
  std::span<const std::uint8_t> terminated() const { return terminated_; } // [N]
  std::span<const std::uint8_t> truncated() const { return truncated_; }   // [N]
  std::span<const float> final_obs() const { return final_obs_; }          // [N, D], rows that ended
  std::span<const std::uint8_t> final_mask() const { return final_mask_; } // [N, A] or empty, ditto
  std::span<const Episode> finished() const { return {finished_.data(), finished_count_}; }  // in row order

  std::uint64_t steps() const { return steps_; }  // vector steps since reset

  // The whole state as bytes, `state_bytes()` of them.
  std::size_t state_bytes() const;
  void save(std::span<std::byte> to) const;
  void restore(std::span<const std::byte> from);  // obs() and mask() are rebuilt

 private:
  void step_rows(int begin, int end, std::span<const std::int32_t> actions);

  std::unique_ptr<WorldArray> worlds_;
  int count_;
  std::uint64_t seed_;
  Purpose purpose_;
  std::uint64_t steps_ = 0;
  std::size_t finished_count_ = 0;
  Arena arena_;
  std::span<float> obs_, final_obs_, rewards_;
  std::span<std::uint8_t> mask_, final_mask_, terminated_, truncated_;
  std::span<Episode> running_;   // [N] the episode in progress
  std::span<Episode> finished_;  // [N] capacity; the first finished_count_ are valid
};

}  // namespace hotloop
