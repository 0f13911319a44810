// The training loop, without files or output: rounds of collecting and learning.
//
// A round collects `train_every` env steps and then makes the updates that are due. The sequence of
// rounds is a pure function of the spec and the seed. Between rounds the caller may inspect the
// trainer, evaluate, log and save: none of this affects training.
//
// If algo.pipelined, the updates of a round are made while the next round is collected with the
// parameters from before these updates. Collected steps are stored when both are done. So the state
// after a round is the same as if both ran one after the other; with one thread, and in the few
// rounds that the clock splits into phases, they do. The updates of the last round are never made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "algo/common/learner.hpp"
#include "core/phase_clock.hpp"
#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "env/world_facts.hpp"
#include "spec/spec.hpp"
#include "train/episode_log.hpp"
#include "train/thread_choice.hpp"

namespace hotloop {

// The range of 0 and all rewards so far.
struct RewardRange {
  double lowest = 0, highest = 0;
  void add(double reward) {
    lowest = std::min(lowest, reward);
    highest = std::max(highest, reward);
  }
  double largest() const { return std::max(-lowest, highest); }
};

struct FinishedEpisode {
  std::int64_t env_steps = 0;  // of the run, when the episode ended
  Episode episode;
};

class Trainer {
 public:
  // `demonstrations` of the spec's environment are in the replay when training begins. A run that
  // continues from a checkpoint has them there already, and needs none.
  explicit Trainer(const TrainSpec& spec, const Demonstrations* demonstrations = nullptr);
  ~Trainer();

  // Throws RunError naming the first non-finite observation, reward, loss or gradient.
  void round();
  bool done() const {
    const std::int64_t episodes = spec_.run.episodes;
    return counters_.env_steps >= total_steps_ || (episodes > 0 && counters_.episodes >= episodes);
  }

  const TrainSpec& spec() const { return spec_; }
  const WorldFacts& world() const { return world_; }
  const Counters& counters() const { return counters_; }
  RewardRange rewards() const { return rewards_; }
  EpisodeLog& episodes() { return episodes_; }
  const EpisodeLog& episodes() const { return episodes_; }
  // The episodes that ended in the latest round, in order; empty unless run.episode_log.
  std::span<const FinishedEpisode> finished() const { return finished_; }
  Window& window() { return window_; }
  const Window& window() const { return window_; }
  PhaseClock& clock() { return clock_; }
  const PhaseClock& clock() const { return clock_; }
  Learner& learner() { return *learner_; }
  const Learner& learner() const { return *learner_; }
  LearntNetwork& network() { return learner_->acting(); }  // the network that acts
  BatchEnv& env() { return env_; }
  const BatchEnv& env() const { return env_; }
  ThreadTeam& team() { return threads_.crew().team; }
  const ThreadChoice& threads() const { return threads_; }

  void restore(const Counters& counters, const Window& window, const RewardRange& rewards) {
    counters_ = counters;
    window_ = window;
    rewards_ = rewards;
  }
  // To be called when everything else has been restored too: environments, episodes and the arrays
  // of the learner. Throws RunError if they contradict each other.
  void restored();

 private:
  void begin(const Demonstrations* demonstrations);
  void check_counters() const;
  void collect(ThreadTeam& team);
  void collect_while_learning(std::int64_t until);
  void check_step() const;
  void check_finite(std::span<const float> values, int first_env, std::string_view field) const;
  void check_masks(std::span<const std::uint8_t> masks, int first_env) const;

  TrainSpec spec_;
  WorldFacts world_;
  std::int64_t total_steps_;  // spec.run.steps, rounded up to complete vector steps
  PhaseClock clock_;
  ThreadChoice threads_;
  BatchEnv env_;
  std::unique_ptr<Learner> learner_;
  Actions actions_;
  struct Pipeline;
  std::unique_ptr<Pipeline> pipeline_;  // null = not pipelined
  Counters counters_;
  Window window_;
  EpisodeLog episodes_;
  std::vector<FinishedEpisode> finished_;  // in the latest round; never reallocates
  RewardRange rewards_;
};

}  // namespace hotloop
