// Shared by all gradient-based learners: running statistics, and recording of updates.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "algo/common/agent_spec.hpp"
#include "algo/common/learner.hpp"
#include "algo/common/normaliser.hpp"
#include "env/world_facts.hpp"

namespace hotloop {

class LearnerBase : public Learner {
 public:
  float reward_factor() const final { return rewards_ ? rewards_->factor() : 1.0f; }
  // Checks the statistics of networks and rewards. A learner that overrides it calls it too.
  void restored(const Counters& counters) override;

 protected:
  LearnerBase(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed);

  double learning_rate(const Counters& counters) const {
    return spec_.optimiser.learning_rate.at(counters.progress());
  }
  const InputScale* scale() const { return obs_ ? obs_->scale() : nullptr; }

  void observe(std::span<const float> obs);
  void observe(const Transitions& step);
  void observe_rewards(const Transitions& step);
  // A random permutation of 0, 1, 2, ... from its own random stream (Fisher-Yates).
  void shuffle(std::uint64_t stream, std::span<std::int32_t> order) const;

  // Counts an update and adds its report to the window.
  template <class Report, std::size_t kCount>
  void record(const Report& report, const std::array<Column<Report>, kCount>& columns,
              Training& training) const {
    static_assert(kCount <= kMaxColumns);
    count_update(report, training);
    for (std::size_t i = 0; i < kCount; ++i) {
      training.window.sums[i] += report.*columns[i].value;
    }
  }
  template <class Report, std::size_t kCount>
  static std::vector<std::string_view> names(const std::array<Column<Report>, kCount>& columns) {
    std::vector<std::string_view> names;
    for (const Column<Report>& column : columns) names.push_back(column.name);
    return names;
  }

  // Visits the networks with their optimisers, and the running statistics.
  void visit_shared(const ArrayVisitor& visitor);

  AgentSpec spec_;
  std::uint64_t seed_;
  std::optional<ObsNormaliser> obs_;
  std::optional<RewardNormaliser> rewards_;

 private:
  static void count_update(const UpdateReport& report, Training& training);
};

}  // namespace hotloop
