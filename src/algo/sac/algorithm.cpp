// sac: keys, checks and facts, as the rest of the program sees them.
#include "algo/common/continuous/algorithm.hpp"

#include <fmt/format.h>

#include <cmath>

#include <hotloop/error.hpp>

#include "algo/sac/learner.hpp"

namespace hotloop {
namespace {

class SacAlgorithm final : public ContinuousAlgorithm {
 public:
  std::string_view name() const override { return "sac"; }
  std::string_view about() const override {
    return "soft actor-critic from a replay memory, for continuous actions";
  }

  void set_defaults(AgentSpec& spec) const override {
    spec.options = SacOptions{};
    set_shared_defaults(spec);
  }

  Keys keys(AgentSpec& spec) const override {
    auto& o = options_of<SacOptions>(spec);
    const auto learnt = [&o] { return std::isnan(o.ent_coef); };
    constexpr std::string_view kFixed = "algo.ent_coef is fixed";
    return keys_with(
        {Key{"algo.ent_coef",
             &o.ent_coef,
             {0, 1e6, true},
             "the temperature, weight of the entropy; `auto` = learnt (Haarnoja et al. 2018b)"}
             .or_unset("auto"),
         Key{"algo.ent_coef_init",
             &o.ent_coef_init,
             {0, 1e6, true},
             "initial value of a learnt temperature"}
             .only_if(learnt, kFixed),
         Key{"algo.target_entropy",
             &o.target_entropy,
             {-1e6, 1e6},
             "entropy that a learnt temperature aims at, of actions in [-1, 1]; `auto` = minus "
             "the number of their dimensions"}
             .or_unset("auto")
             .only_if(learnt, kFixed),
         Key{"algo.ent_coef_learning_rate",
             &o.ent_coef_learning_rate,
             {0, 10},
             "learning rate of the temperature"}
             .by_default("`optimiser.learning_rate`",
                         [&] { o.ent_coef_learning_rate = spec.optimiser.learning_rate; })
             .only_if(learnt, kFixed)},
        spec);
  }

  void check(const AgentSpec& spec, Violations& violations) const override {
    ContinuousAlgorithm::check(spec, violations);
    violations.check_schedule("algo.ent_coef_learning_rate",
                              options_of<SacOptions>(spec).ent_coef_learning_rate);
  }

  void check_world(const AgentSpec& spec, std::string_view,
                   const WorldFacts& world) const override {
    const double target = options_of<SacOptions>(spec).target_entropy;
    const int size = world.spec.action_size;
    const double largest = size * std::log(2);  // that of uniform actions in [-1, 1]
    if (std::isnan(target) || target < largest) return;
    throw UsageError(fmt::format(
        "algo.target_entropy: {:g} cannot be reached: the entropy of {} in [-1, 1] is "
        "below {:.2f}; the usual target is {}",
        target, size == 1 ? "1 action" : fmt::format("{} actions", size), largest, -size));
  }

  std::unique_ptr<Learner> make_learner(const AgentSpec& spec, const WorldFacts& world,
                                        std::uint64_t seed) const override {
    return std::make_unique<SacLearner>(spec, world, seed);
  }

 protected:
  ContinuousOptions& shared(AgentSpec& spec) const override { return options_of<SacOptions>(spec); }
  const ContinuousOptions& shared(const AgentSpec& spec) const override {
    return options_of<SacOptions>(spec);
  }
  bool has_std() const override { return true; }
};

HOTLOOP_ALGORITHM(SacAlgorithm)

}  // namespace
}  // namespace hotloop
