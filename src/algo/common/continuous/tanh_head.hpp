// How the outputs of an actor become actions: tanh of the mean; or, if the actor also has log stds,
// a sample tanh(mean + std * e). See sac/squashed.hpp.
#pragma once

#include "algo/common/action_head.hpp"
#include "algo/common/continuous/action_range.hpp"

namespace hotloop {

inline constexpr float kMinSquashedLogStd = -20, kMaxSquashedLogStd = 2;

class TanhHead final : public ActionHead {
 public:
  // With `has_std`, the outputs are [means | log stds]; otherwise means.
  TanhHead(const ActionRange& range, bool has_std) : range_(range), has_std_(has_std) {}

  int outputs() const override { return range_.size * (has_std_ ? 2 : 1); }
  int actions() const override { return range_.size; }
  int preferences() const override { return outputs(); }
  bool is_continuous() const override { return true; }
  bool is_policy() const override { return has_std_; }
  const float* compute_preferences(const PolicyLanes& lanes, float* scratch) const override;
  void choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
              const Draws* draws, Actions& actions) const override;

 private:
  ActionRange range_;
  bool has_std_;
};

}  // namespace hotloop
