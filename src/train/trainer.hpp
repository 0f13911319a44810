// Training itself, without files or screens: rounds of collecting and learning.
//
// A round collects `train_every` env steps and then makes the updates they are owed. The sequence
// of rounds is a pure function of the spec and the seed. Whoever drives the trainer may look at it,
// evaluate, log and save between rounds as often as it likes: nothing of that touches training.
//
// Pipelined (algo.pipelined), the updates of a round are made while the next one is collected, by the
// parameters from before them, and what is collected is remembered when both are done. So at the end of
// a round everything is as if they had come one after the other, which they do with one thread, and in the
// few rounds that the clock splits. The updates of the last round are those of a round that never comes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/phase_clock.hpp"
#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "train/episode_log.hpp"
#include "algo/common/learner.hpp"
#include "spec/spec.hpp"

namespace hotloop {

struct FinishedEpisode {
  std::int64_t env_steps = 0;  // of the run when it ended
  Episode episode;
};

class Trainer {
 public:
  explicit Trainer(const TrainSpec& spec);
  ~Trainer();

  // Throws RunError naming the first non-finite observation, reward, loss or gradient.
  void round();
  bool done() const {
    const std::int64_t episodes = spec_.run.episodes;
    return counters_.env_steps >= total_steps_ || (episodes > 0 && counters_.episodes >= episodes);
  }

  const TrainSpec& spec() const { return spec_; }
  const Counters& counters() const { return counters_; }
  double now(const Schedule& schedule) const { return schedule.at(counters_.progress()); }
  RewardRange rewards() const { return rewards_; }
  EpisodeLog& episodes() { return episodes_; }
  const EpisodeLog& episodes() const { return episodes_; }
  // Those that ended in the latest round, in the order in which they did; none unless run.episode_log.
  std::span<const FinishedEpisode> finished() const { return finished_; }
  Window& window() { return window_; }
  const Window& window() const { return window_; }
  PhaseClock& clock() { return clock_; }
  const PhaseClock& clock() const { return clock_; }
  Learner& learner() { return *learner_; }
  LearntNetwork& network() { return learner_->network(); }
  BatchEnv& env() { return env_; }
  const BatchEnv& env() const { return env_; }
  ThreadTeam& team() { return team_; }

  void restore(const Counters& counters, const Window& window, const RewardRange& rewards) {
    counters_ = counters;
    window_ = window;
    rewards_ = rewards;
  }

 private:
  void collect(ThreadTeam& team);
  void collect_while_learning(std::int64_t until);
  void check_step() const;
  void check_finite(std::span<const float> values, int first_env, std::string_view field) const;
  void check_masks(std::span<const std::uint8_t> masks, int first_env) const;

  TrainSpec spec_;
  std::int64_t total_steps_;  // spec.run.steps, rounded up to whole vector steps
  PhaseClock clock_;
  ThreadTeam team_;
  BatchEnv env_;
  std::unique_ptr<Learner> learner_;
  Actions actions_;
  struct Pipeline;
  std::unique_ptr<Pipeline> pipeline_;  // null = learning follows collecting
  Counters counters_;
  Window window_;
  EpisodeLog episodes_;
  std::vector<FinishedEpisode> finished_;  // of a round; never grows beyond what was reserved
  RewardRange rewards_;
};

// The mean return that counts as solved; NaN if neither spec nor environment says.
double solved_threshold(const EvaluationOptions& options, const EnvSpec& env);
double solved_threshold(const TrainSpec& spec);  // makes a world to ask

// Bytes that training takes, the large parts of them: what it learns from, and the network at work
// (counted for on-policy algorithms only, whose batches may be large).
struct MemoryNeed {
  double experience = 0;
  double network = 0;
};
MemoryNeed memory_need(const TrainSpec& spec);
inline constexpr double kMostOfMemory = 0.9;  // of the machine's

// Throws UsageError if the environment is unknown or not for this algorithm, or if the replay cannot
// fit into memory; the trainer asks this first.
void check_feasible(const TrainSpec& spec);

// Updates that the spec declares for so many env steps, rounded up to whole vector steps.
std::int64_t declared_updates(const TrainSpec& spec, std::int64_t env_steps);

}  // namespace hotloop
