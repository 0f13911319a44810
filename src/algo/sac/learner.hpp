// SAC's part of the training loop (common/continuous/learner.hpp): it explores by sampling its
// policy.
#pragma once

#include "algo/common/continuous/learner.hpp"
#include "algo/sac/sac.hpp"

namespace hotloop {

class SacLearner final : public ContinuousLearner {
 public:
  SacLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed);

  std::vector<std::string_view> columns() const override { return names(kSacColumns); }
  void settings(const Counters& counters, const NumberVisitor& visitor) const override;

  Sac& sac() { return sac_; }

 protected:
  LearntNetwork& actor() override { return sac_.actor(); }
  Critics& critics() override { return sac_.critics(); }
  void explore(const float* outputs, int env, std::uint64_t vector_step, const Progress& progress,
               float* a) override;
  void update(const Batch& batch, Training& training) override;
  std::span<const float> errors() const override { return sac_.errors(); }
  double bonus() override { return sac_.temperature() * sac_.report().entropy; }
  void visit_own(const ArrayVisitor& visitor) override;

 private:
  SacOptions options_;
  Sac sac_;
};

}  // namespace hotloop
