// Playing for the battery: two runners that give the same results, and their comparison.
//
// BatchRunner is the engine's own BatchEnv. PlainRunner is its independent slow twin: one row after
// the other, with every rule written out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "env/batch_env.hpp"

namespace hotloop {

// The results of a runner's step.
struct PlayResults {
  std::span<const float> obs;                // [N, D]
  std::span<const std::uint8_t> mask;        // [N, A] or empty
  std::span<const float> rewards;            // [N]
  std::span<const float> reward_parts;       // [N, C] or empty
  std::span<const std::uint8_t> terminated;  // [N]
  std::span<const std::uint8_t> truncated;   // [N]
  std::span<const float> final_obs;          // [N, D], rows that ended
  std::span<const std::uint8_t> final_mask;  // [N, A] or empty, rows that ended
  std::span<const Episode> finished;         // in row order
};

// One vector step of bare worlds.
void step_worlds(WorldArray& worlds, int begin, int end, const Actions& actions, std::uint64_t seed,
                 std::uint64_t step, std::span<float> rewards, std::span<std::uint8_t> terminated);

class Runner {
 public:
  virtual ~Runner() = default;
  virtual void step(const Actions& actions) = 0;
  virtual PlayResults results() const = 0;
};

class BatchRunner final : public Runner {
 public:
  BatchRunner(std::unique_ptr<WorldArray> worlds, int rows, std::uint64_t seed, int threads)
      : env(std::move(worlds), rows, seed, Purpose::test), team(threads) {}
  void step(const Actions& actions) override;
  PlayResults results() const override;

  BatchEnv env;
  ThreadTeam team;
};

class PlainRunner final : public Runner {
 public:
  PlainRunner(std::unique_ptr<WorldArray> worlds, int rows, std::uint64_t seed);
  void step(const Actions& actions) override;
  PlayResults results() const override;
  WorldArray& worlds() { return *worlds_; }
  std::unique_ptr<WorldArray> take_worlds() { return std::move(worlds_); }  // call nothing after it

 private:
  void begin_episode(int row, std::uint64_t stream_step);
  void show(int row);

  std::unique_ptr<WorldArray> worlds_;
  int rows_;
  std::uint64_t seed_;
  std::uint64_t steps_ = 0;
  std::vector<float> obs_, final_obs_, rewards_, reward_parts_;
  std::vector<std::uint8_t> mask_, final_mask_, terminated_, truncated_;
  std::vector<Episode> running_, finished_;
};

// The same worlds with another time limit.
std::unique_ptr<WorldArray> with_limit(std::unique_ptr<WorldArray> worlds, int max_steps);

// Fills `actions` with one random allowed action per row for step t. Returns the first row without
// an allowed action, or -1; such a row gets action 0. Each float of a continuous action is at one
// of its bounds half of the time, otherwise between them.
int choose_actions(const EnvSpec& spec, std::span<const std::uint8_t> mask, std::uint64_t seed,
                   std::uint64_t t, Actions& actions);

// The first difference, as "row 3: reward: expected 1, found 0.5"; nullopt if the bits are equal.
std::optional<std::string> first_difference(const EnvSpec& spec, const PlayResults& expected,
                                            const PlayResults& found);

}  // namespace hotloop
