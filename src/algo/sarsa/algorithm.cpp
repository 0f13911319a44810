// sarsa (Rummery & Niranjan 1994): pqn's learner with V(s) = Q(s, a) of the action taken next, and
// the expected Q(s, a) of its exploring policy where an episode was truncated (pqn.hpp).
#include "algo/pqn/algorithm.hpp"
#include "algo/pqn/options.hpp"

namespace hotloop {
namespace {

class SarsaAlgorithm final : public PqnAlgorithm {
 public:
  std::string_view name() const override { return "sarsa"; }
  std::string_view about() const override {
    return "on-policy: learns the values of its own exploring policy, from the latest rollout";
  }

  void set_defaults(AgentSpec& spec) const override {
    PqnOptions options;
    options.backup = Backup::taken;
    options.rollout.lambda = 0;
    spec.options = options;
    spec.learn.batch = options.rollout.n_steps;  // divides a rollout of any number of environments
  }
};

HOTLOOP_ALGORITHM(SarsaAlgorithm)

}  // namespace
}  // namespace hotloop
