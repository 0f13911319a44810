// Training itself, without files or screens: rounds of collecting and learning.
//
// A round collects `train_every` env steps and then makes the updates they are owed. The sequence
// of rounds is a pure function of the spec and the seed. Whoever drives the trainer may look at it,
// evaluate, log and save between rounds as often as it likes: nothing of that touches training.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "algo/dqn.hpp"
#include "core/phase_clock.hpp"
#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "memory/replay.hpp"
#include "run/spec.hpp"

namespace hotloop {

struct Counters {
  std::int64_t env_steps = 0;
  std::int64_t updates = 0;
  std::int64_t episodes = 0;
  std::int64_t training_rounds = 0;  // rounds that were followed by updates
};

// Sums since the last time somebody read and cleared them.
struct Window {
  double returns = 0;
  std::int64_t episodes = 0;
  double loss = 0, mean_q = 0, gradient_norm = 0;
  std::int64_t updates = 0;
};

class Trainer {
 public:
  explicit Trainer(const TrainSpec& spec);

  // Throws RunError naming the first non-finite observation, reward, loss or gradient.
  void round();
  bool done() const { return counters_.env_steps >= total_steps_; }

  const TrainSpec& spec() const { return spec_; }
  const Counters& counters() const { return counters_; }
  double epsilon() const { return spec_.dqn.epsilon.at(counters_.env_steps); }
  double learning_rate() const { return spec_.dqn.learning_rate.at(counters_.env_steps); }
  Window& window() { return window_; }
  const Window& window() const { return window_; }
  PhaseClock& clock() { return clock_; }
  Dqn& agent() { return agent_; }
  const Dqn& agent() const { return agent_; }
  Replay& replay() { return replay_; }
  BatchEnv& env() { return env_; }
  ThreadTeam& team() { return team_; }

  void restore(const Counters& counters, const Window& window) {
    counters_ = counters;
    window_ = window;
  }

 private:
  void collect();
  void learn();
  void check_step() const;
  void check_finite(std::span<const float> values, int first_env, std::string_view field) const;
  void check_masks() const;

  TrainSpec spec_;
  std::int64_t total_steps_;  // spec.run.steps, rounded up to whole vector steps
  PhaseClock clock_;
  ThreadTeam team_;
  BatchEnv env_;
  Dqn agent_;
  int group_;  // batches that are drawn and gathered together
  Replay replay_;
  std::vector<std::int32_t> actions_;  // [N]
  Counters counters_;
  Window window_;
};

// The mean return that counts as solved; NaN if neither spec nor environment says.
double solved_threshold(const TrainSpec& spec);

// What the spec makes of its environment.
ReplayShape replay_shape(const TrainSpec& spec);
Structure network_structure(const TrainSpec& spec);

// Throws UsageError if the environment is unknown or the replay cannot fit into memory; the trainer
// asks this first.
void check_feasible(const TrainSpec& spec);

// Updates that the spec declares for the whole run.
std::int64_t declared_updates(const TrainSpec& spec);

}  // namespace hotloop
