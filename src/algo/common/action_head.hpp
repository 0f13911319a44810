// How the outputs of the network that acts become actions: greedily, or drawn from a policy.
#pragma once

#include <cstdint>

#include "algo/common/policy.hpp"
#include "algo/common/q/head.hpp"
#include "env/batch_env.hpp"

namespace hotloop {

// Where the draws of a policy that is not greedy come from: row i has (seed, exploration, i, step).
struct Draws {
  std::uint64_t seed, step;
};

// A block of up to kLanes rows at a time. Preferences are what the choice depends on,
// [preferences()][kLanes]: Q(s, a); or log p(a | s), masked ones -1e30; or of continuous actions the
// means and then the log stds, before they are squashed into their bounds.
class ActionHead {
 public:
  virtual ~ActionHead() = default;

  virtual int outputs() const = 0;  // the first ones of the network: the choice depends on them
  virtual int actions() const = 0;  // to choose from, or dimensions
  virtual int preferences() const { return actions(); }
  virtual bool is_continuous() const { return false; }
  virtual bool is_policy() const { return false; }  // can be drawn from; else it says Q(s, a)

  // The preferences: the outputs themselves, or computed into `scratch` [preferences()][kLanes].
  virtual const float* prefer(const PolicyLanes& lanes, float* scratch) const = 0;
  // Actions for the lanes of rows [first, first + lanes.rows); `draws` is null for the greedy choice.
  virtual void choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
                      const Draws* draws, Actions& actions) const = 0;
};

// argmax_a Q(s, a)
class GreedyHead final : public ActionHead {
 public:
  explicit GreedyHead(const QHead& head) : head_(head) {}
  int outputs() const override { return head_.outputs(); }
  int actions() const override { return head_.actions; }
  const float* prefer(const PolicyLanes& lanes, float* scratch) const override;
  void choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
              const Draws* draws, Actions& actions) const override;

 private:
  QHead head_;
};

// The most probable action or the mean; or drawn, as in training.
class PolicyActionHead final : public ActionHead {
 public:
  explicit PolicyActionHead(const PolicyHead& head) : head_(head) {}
  int outputs() const override { return head_.outputs(); }
  int actions() const override { return head_.actions; }
  int preferences() const override { return head_.outputs(); }
  bool is_continuous() const override { return head_.is_box(); }
  bool is_policy() const override { return true; }
  const float* prefer(const PolicyLanes& lanes, float* scratch) const override;
  void choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
              const Draws* draws, Actions& actions) const override;

 private:
  PolicyHead head_;
};

}  // namespace hotloop
