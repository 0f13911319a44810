// The training loop of actor-critics with continuous actions and a replay memory: act and explore;
// store transitions, with actions in [-1, 1]; draw batches; update on each.
//
// An algorithm derives from it, and supplies its networks, its exploration and its update.
#pragma once

#include <string>
#include <vector>

#include "algo/common/continuous/action_range.hpp"
#include "algo/common/continuous/critics.hpp"
#include "algo/common/continuous/episode_probe.hpp"
#include "algo/common/continuous/options.hpp"
#include "algo/common/learner_base.hpp"
#include "memory/replay.hpp"

namespace hotloop {

ReplayShape continuous_replay_shape(const ContinuousOptions& options, const AgentSpec& spec,
                                    const WorldFacts& world);

class ContinuousLearner : public LearnerBase {
 public:
  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask) override;
  void begin_after(const Demonstrations& demonstrations, std::span<const float> obs,
                   std::span<const std::uint8_t> mask) override;
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask,
           std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
           Actions& actions) override;
  void freeze_policy(const Counters& counters) override;
  void push(const Transitions& step, Counters& counters) override;
  void learn(Training training) override;
  Signs signs(const Counters& counters) override;
  LearntNetwork& acting() override { return actor(); }
  std::vector<NamedNetwork> networks() override;
  void settings(const Counters& counters, const NumberVisitor& visitor) const override;
  void visit(const ArrayVisitor& visitor) override;
  void restored(const Counters& counters) override;

  Replay& replay() { return replay_; }

 protected:
  // `actor` is the structure of the network that acts.
  ContinuousLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed,
                    const ContinuousOptions& options, const Structure& actor);

  virtual LearntNetwork& actor() = 0;
  virtual Critics& critics() = 0;
  // An exploring action a [A] in [-1, 1] for environment `env`, from one lane of the actor's
  // outputs, kLanes apart.
  virtual void explore(const float* outputs, int env, std::uint64_t vector_step,
                       const Progress& progress, float* a) = 0;
  // One update on this batch; records its report.
  virtual void update(const Batch& batch, Training& training) = 0;
  virtual std::span<const float> errors() const = 0;  // of the last update, for priorities: [B]
  // What the critics count per step besides rewards.
  virtual double bonus() { return 0; }
  // Arrays that decide its future, besides networks, targets of the critics and replay.
  virtual void visit_own(const ArrayVisitor& visitor) = 0;

  // Throws RunError if an update of the actor was not finite.
  static void check_actor(double loss, double gradient_norm, const Counters& counters);
  double critic_learning_rate(const Counters& counters) const {
    return options_.critics.learning_rate.at(counters.progress());
  }

  // An update that leaves out the actor reports the actor's latest numbers again.
  template <class Report, std::size_t kCount>
  static void visit_report(Report& report, const std::array<Column<Report>, kCount>& columns,
                           const ArrayVisitor& visitor) {
    for (const Column<Report>& column : columns) {
      visitor("report." + std::string(column.name), std::span<double>(&(report.*column.value), 1),
              Limits::finite());
    }
  }

  ActionRange range_;
  Arena arena_;

 private:
  Transitions store(const Transitions& step);  // returns it with actions in [-1, 1]
  void act_block(int block, std::span<const float> obs, std::uint64_t vector_step,
                 const Progress& progress, Actions& actions);
  void compare_returns(Signs& signs);

  ContinuousOptions options_;
  int group_;  // draws gathered in one pass
  Replay replay_;
  Workspace acting_;         // [N]
  std::span<float> pushed_;  // [N, A] actions of a vector step in [-1, 1]
  std::span<float> frozen_;  // the actor's parameters; empty = use online()
  EpisodeProbe episodes_;
  CriticBatch probe_;  // [EpisodeProbe::kRows] for signs()
};

}  // namespace hotloop
