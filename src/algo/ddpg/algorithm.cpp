// ddpg (Lillicrap et al. 2016): TD3 with one critic, without delay and without noise on target
// actions.
#include "algo/td3/algorithm.hpp"

namespace hotloop {
namespace {

class DdpgAlgorithm final : public Td3Algorithm {
 public:
  std::string_view name() const override { return "ddpg"; }
  std::string_view about() const override {
    return "deterministic actor with one critic, for continuous actions";
  }

  void set_defaults(AgentSpec& spec) const override {
    Td3Algorithm::set_defaults(spec);
    auto& o = options_of<Td3Options>(spec);
    o.critics.count = o.critics.in_target = 1;
    o.policy_delay = 1;
    o.target_noise = 0;
  }
};

HOTLOOP_ALGORITHM(DdpgAlgorithm)

}  // namespace
}  // namespace hotloop
