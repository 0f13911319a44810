// The DQN family: learns from transitions drawn out of a replay memory.
#pragma once

#include <vector>

#include "algo/dqn/dqn.hpp"
#include "algo/common/learner_base.hpp"

namespace hotloop {

class ReplayLearner final : public LearnerBase {
 public:
  explicit ReplayLearner(const TrainSpec& spec);

  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask) override;
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask,
           std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
           Actions& actions) override;
  void hold_policy(const Counters& counters) override;
  void push(const Transitions& step, Counters& counters) override;
  void learn(Training training) override;
  Signs signs(const Counters& counters) override;
  QNetwork& network() override { return dqn_.network(); }
  void visit(const ArrayVisitor& visitor) override;
  void restored() override { replay_.restored(); }

  Dqn& dqn() { return dqn_; }
  Replay& replay() { return replay_; }

 private:
  void update(int draw, Training& training);
  double target_lag();
  void follow(std::int64_t before, std::int64_t now, Counters& counters);

  Dqn dqn_;
  int group_;  // draws that are gathered together
  Replay replay_;
  std::vector<Batch> batches_;               // [accumulate] the parts of one draw
  std::vector<std::uint8_t> ended_, never_;  // [N] flags, if truncation_ends
  std::int64_t held_updates_ = -1;           // made when the policy was held; -1 = it is not
  double lag_;  // of the target, when it first followed since somebody asked; or NaN
};

}  // namespace hotloop
