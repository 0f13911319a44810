// TD3's part of the training loop (common/continuous/learner.hpp): it explores with noise on its
// actions.
#pragma once

#include "algo/common/continuous/learner.hpp"
#include "algo/td3/td3.hpp"

namespace hotloop {

class Td3Learner final : public ContinuousLearner {
 public:
  Td3Learner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed);

  void push(const Transitions& step, Counters& counters) override;
  std::vector<std::string_view> columns() const override { return names(kTd3Columns); }
  void settings(const Counters& counters, const NumberVisitor& visitor) const override;

  Td3& td3() { return td3_; }

 protected:
  LearntNetwork& actor() override { return td3_.actor(); }
  Critics& critics() override { return td3_.critics(); }
  void explore(const float* outputs, int env, std::uint64_t vector_step, const Progress& progress,
               float* a) override;
  void update(const Batch& batch, Training& training) override;
  std::span<const float> errors() const override { return td3_.errors(); }
  void visit_own(const ArrayVisitor& visitor) override;

 private:
  Td3Options options_;
  Td3 td3_;
  std::span<float> drift_;  // [N, A] the noise so far; empty if it is Gaussian
};

}  // namespace hotloop
