// How network outputs become actions: the greedy choice, or a sample from the policy.
#pragma once

#include <cstdint>

#include "algo/common/policy.hpp"
#include "algo/common/q/head.hpp"
#include "env/batch_env.hpp"

namespace hotloop {

// The random stream that actions are sampled from: row i uses (seed, exploration, i, step).
struct Draws {
  std::uint64_t seed, step;
};

// Works on a block of up to kLanes rows at a time. Preferences [preferences()][kLanes] are what the
// choice depends on: Q(s, a); or log p(a | s), -1e30 for masked actions; or, for continuous
// actions, the means followed by the log stds, if there are any, before squashing.
class ActionHead {
 public:
  virtual ~ActionHead() = default;

  virtual int outputs() const = 0;  // the network's first outputs, which the choice depends on
  virtual int actions() const = 0;  // discrete actions, or dimensions
  virtual int preferences() const { return actions(); }
  virtual bool is_continuous() const { return false; }
  virtual bool is_policy() const { return false; }  // can be sampled
  // Q(s, a). What is neither a policy nor values is a deterministic actor.
  bool has_values() const { return !is_policy() && !is_continuous(); }

  // The preferences: the outputs themselves, or computed into `scratch` [preferences()][kLanes].
  virtual const float* compute_preferences(const PolicyLanes& lanes, float* scratch) const = 0;
  // Actions for rows [first, first + lanes.rows). Greedy if `draws` is null, otherwise sampled.
  virtual void choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
                      const Draws* draws, Actions& actions) const = 0;
};

// argmax_a Q(s, a)
class GreedyHead final : public ActionHead {
 public:
  explicit GreedyHead(const QHead& head) : head_(head) {}
  int outputs() const override { return head_.outputs(); }
  int actions() const override { return head_.actions; }
  const float* compute_preferences(const PolicyLanes& lanes, float* scratch) const override;
  void choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
              const Draws* draws, Actions& actions) const override;

 private:
  QHead head_;
};

// The most probable action or the mean; or a sample, as in training.
class PolicyActionHead final : public ActionHead {
 public:
  explicit PolicyActionHead(const PolicyHead& head) : head_(head) {}
  int outputs() const override { return head_.outputs(); }
  int actions() const override { return head_.actions; }
  int preferences() const override { return head_.outputs(); }
  bool is_continuous() const override { return head_.is_continuous(); }
  bool is_policy() const override { return true; }
  const float* compute_preferences(const PolicyLanes& lanes, float* scratch) const override;
  void choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
              const Draws* draws, Actions& actions) const override;

 private:
  PolicyHead head_;
};

}  // namespace hotloop
