// The training loop of DQN: act and explore; store transitions; draw batches from the replay memory
// and update on each; sync the target network; update the priorities of the drawn transitions.
#pragma once

#include <vector>

#include "algo/common/learner_base.hpp"
#include "algo/dqn/dqn.hpp"
#include "memory/replay.hpp"

namespace hotloop {

// The replay memory for this environment.
ReplayShape dqn_replay_shape(const AgentSpec& spec, const WorldFacts& world);

class DqnLearner final : public LearnerBase {
 public:
  DqnLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed);

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
  QNetwork& acting() override { return dqn_.network(); }
  std::vector<std::string_view> columns() const override { return names(kQColumns); }
  void settings(const Counters& counters, const NumberVisitor& visitor) const override;
  void visit(const ArrayVisitor& visitor) override;
  void restored(const Counters& counters) override;

  Dqn& dqn() { return dqn_; }
  Replay& replay() { return replay_; }

 private:
  void store(const Transitions& step);
  void update(int draw, Training& training);
  double target_lag();
  void sync_if_due(std::int64_t before, std::int64_t now, Counters& counters);

  DqnOptions options_;
  Dqn dqn_;
  int group_;  // draws gathered in one pass
  Replay replay_;
  std::vector<Batch> batches_;               // [accumulate] the parts of one draw
  std::vector<std::uint8_t> ended_, never_;  // [N] flags, used if truncation_ends
  std::int64_t frozen_updates_ = -1;         // updates when the policy was frozen; -1 = not frozen
  double lag_;  // target_lag() before the first sync since signs() was called; or NaN
};

}  // namespace hotloop
