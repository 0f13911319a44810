// Evaluation on separate environments and random streams, so it never affects training.
//
// Every evaluation plays from the same `episodes` initial states (random streams (seed,
// evaluation_world, row, step)), one episode per row. So evaluations of a run are comparable, and
// the score saved with a model can be reproduced exactly.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algo/common/action_head.hpp"
#include "core/arena.hpp"
#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "memory/demonstrations.hpp"
#include "net/network.hpp"
#include "spec/spec.hpp"

namespace hotloop {

struct PlayedEpisode {
  double total_return = 0;
  std::int64_t length = 0;
  bool finished = false;                       // false = cut at max_steps
  std::array<float, kMaxMeasures> measures{};  // NaN = undefined in this episode
};

struct Evaluation {
  double mean = 0;
  double std = 0;  // over episodes
  double mean_length = 0;
  std::vector<PlayedEpisode> episodes;          // by row
  std::array<double, kMaxMeasures> measures{};  // means, in the environment's order, or NaN
  std::array<double, kMaxMeasures> largest{};   // the largest of each
};

// The return, or one measure, of every episode; for summarise().
std::vector<double> returns_of(const Evaluation& evaluation);
std::vector<double> measures_of(const Evaluation& evaluation, int measure);

// Plays one episode in every row, after a reset; `choose` sets the actions for the current state of
// env. Episodes longer than `max_steps` are cut and count with their return so far. Their
// transitions are stored in `record`, unless it is null.
Evaluation play_episodes(BatchEnv& env, std::int64_t max_steps, ThreadTeam& team,
                         const std::function<void(Actions& actions)>& choose,
                         Demonstrations* record = nullptr);

// The greedy actions of a network for a batch of observations: the action with the largest value or
// probability, or the mean of a Gaussian. A stochastic policy can also sample, as in training.
class GreedyPolicy {
 public:
  GreedyPolicy(const Structure& structure, std::shared_ptr<const ActionHead> head, int rows);

  // `scale` normalises observations and is not updated; null = no normalisation.
  void choose(std::span<const float> parameters, const InputScale* scale,
              std::span<const float> obs, std::span<const std::uint8_t> mask, ThreadTeam& team,
              Actions& actions, const Draws* draws = nullptr);
  // The values or probabilities of a row in the latest `choose`, as text: "Q 1.20 0.85",
  // "p 0.99 0.01"; empty for continuous actions.
  std::string opinion(int row) const;
  // The same as numbers: see ActionHead.
  int preferences() const { return head_->preferences(); }
  float preference(int row, int i) const {
    return preference_[row / kLanes][i * kLanes + row % kLanes];
  }

 private:
  std::shared_ptr<const ActionHead> head_;
  int rows_;
  Plan plan_;  // only the outputs that the choice depends on
  Workspace workspace_;
  Arena arena_;
  std::span<float> scratch_;              // [blocks][preferences()][kLanes]
  std::vector<const float*> preference_;  // [blocks] -> [preferences()][kLanes]
};

class Evaluator {
 public:
  Evaluator(const EnvChoice& env, const EvaluationOptions& options, std::uint64_t seed,
            const Structure& structure, std::shared_ptr<const ActionHead> head);

  // `sample`: sample from the policy, as in training.
  Evaluation run(std::span<const float> parameters, const InputScale* scale, ThreadTeam& team,
                 bool sample = false, Demonstrations* record = nullptr);
  const EnvSpec& spec() const { return env_.spec(); }

 private:
  std::int64_t max_steps_;
  BatchEnv env_;
  GreedyPolicy policy_;
};

// Policies without a network: "random", or a script of the environment. Returns its number, for
// choose_by_script; throws UsageError if there is no such script.
int script_number(const std::string& script, const EnvChoice& env);
void choose_by_script(int script, const BatchEnv& env, Actions& actions);

Evaluation evaluate_script(int script, const EnvChoice& env, const EvaluationOptions& options,
                           std::uint64_t seed, ThreadTeam& team, Demonstrations* record = nullptr);

}  // namespace hotloop
