// Combinations of keys that sac and td3 refuse, because a key would have no effect or a wrong one.
#include "tests/spec/spec_text.hpp"

namespace hotloop {
namespace {

struct Refused {
  std::string name, key;  // of the algorithm; that the message blames
  std::vector<std::string> overrides;
};

std::ostream& operator<<(std::ostream& out, const Refused& refused) {
  for (const std::string& text : refused.overrides) out << text << ' ';
  return out;
}

class ContinuousSpec : public testing::TestWithParam<Refused> {};

TEST_P(ContinuousSpec, IsRefused) {
  const auto& [name, key, overrides] = GetParam();
  const std::string text = "env: {name: pendulum}\nalgo: {name: " + name + "}\n";
  EXPECT_EQ(complaint(text), "accepted");
  EXPECT_NE(complaint(text, overrides).find(key + ": "), std::string::npos)
      << complaint(text, overrides);
}

INSTANTIATE_TEST_SUITE_P(
    Refused, ContinuousSpec,
    testing::Values(
        Refused{"sac", "algo.target_critics", {"algo.critics=2", "algo.target_critics=3"}},
        Refused{"sac", "algo.dropped_quantiles", {"algo.quantiles=5", "algo.dropped_quantiles=5"}},
        Refused{"sac",
                "algo.critic_layer_norm",
                {"net.layer_norm=true", "algo.critic_layer_norm=true"}},
        Refused{"sac", "algo.critic_layer_norm", {"net.hidden=[]", "algo.critic_layer_norm=true"}},
        Refused{"sac", "algo.critic_dropout", {"net.hidden=[]", "algo.critic_dropout=0.1"}},
        Refused{"sac", "algo.crossq", {"algo.crossq=true", "algo.batch=100"}},
        Refused{"sac", "algo.crossq", {"algo.crossq=true", "algo.critic_layer_norm=true"}},
        Refused{"sac", "algo.target.tau", {"algo.crossq=true", "algo.target.tau=0.01"}},
        Refused{"sac", "algo.target_entropy", {"algo.ent_coef=0.2", "algo.target_entropy=-1"}},
        Refused{"sac", "net.channels", {"net.channels=[4]"}},
        Refused{"td3", "algo.noise_theta", {"algo.noise_theta=0.1"}},
        Refused{
            "td3", "algo.target_noise_clip", {"algo.target_noise=0", "algo.target_noise_clip=1"}},
        Refused{"td3",
                "algo.noise",
                {"algo.noise=ornstein_uhlenbeck", "algo.pipelined=true", "env.count=2",
                 "algo.train_every=4"}}));

TEST(ContinuousSpec, CriticsOfTheirOwnMayHaveWhatTheActorLacks) {
  const std::string text = "env: {name: pendulum}\nalgo: {name: sac, critic_hidden: [8]}\n";
  EXPECT_EQ(complaint(text, {"net.hidden=[]", "algo.critic_dropout=0.1"}), "accepted");
}

}  // namespace
}  // namespace hotloop
