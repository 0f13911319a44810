// What learners have in common: schedules, running statistics, and the record of updates.
#pragma once

#include <optional>
#include <span>

#include "algo/common/normaliser.hpp"
#include "algo/common/learner.hpp"

namespace hotloop {

class LearnerBase : public Learner {
 public:
  float reward_factor() const final { return rewards_ ? rewards_->factor() : 1.0f; }

 protected:
  explicit LearnerBase(const TrainSpec& spec);

  Exploration exploration(const Counters& counters) const;
  double learning_rate(const Counters& counters) const {
    return spec_.q.learning_rate.at(counters.progress());
  }
  const InputScale* scale() const { return obs_ ? obs_->scale() : nullptr; }

  void observe(std::span<const float> obs);
  void observe(const Transitions& step);
  void observe_rewards(const Transitions& step);
  // 0, 1, 2, ... in an order drawn from a stream of its own (Fisher-Yates).
  void shuffle(std::uint64_t stream, std::span<std::int32_t> order) const;
  void record(const UpdateReport& report, Training& training) const;
  void visit_shared(LearntNetwork& network, const ArrayVisitor& visitor);

  TrainSpec spec_;
  std::optional<ObsNormaliser> obs_;
  std::optional<RewardNormaliser> rewards_;
};

}  // namespace hotloop
