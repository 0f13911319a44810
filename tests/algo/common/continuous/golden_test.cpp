// The slow twins against PyTorch: whole updates of SAC and TD3, the critics' update of TQC.
#include "tests/algo/common/continuous/golden.hpp"

#include "reference/sac.hpp"
#include "reference/td3.hpp"

namespace hotloop::golden {
namespace {

Numbers numbers(const std::string& name) {
  return Numbers(std::string(HOTLOOP_CONTINUOUS_GOLDEN_DIR) + "/" + name + ".txt");
}

reference::Sac golden_sac(int quantiles) {
  const Structure actor = network(kObs, 2 * kActions);
  const Structure critic = network(kObs + kActions, std::max(quantiles, 1));
  const reference::SacSettings settings{
      .quantiles = quantiles > 0,
      .drop = quantiles > 0 ? kDrop : 0,
      .actor_value = quantiles > 0 ? reference::ActorValue::mean : reference::ActorValue::minimum,
      .reward_factor = kRewardFactor,
      .tau = kTau,
      .target_entropy = kTargetEntropy,
      .actor_rate = kRate,
      .critic_rate = kRate,
      .alpha_rate = kRate};
  reference::Sac sac(settings, learnt(actor, 0, kSacLast), {learnt(critic, 1), learnt(critic, 2)},
                     kLogAlpha, kAdam);
  for (int k = 0; k < kCritics; ++k) sac.targets[k] = parameters(critic, 6 + k);
  return sac;
}

TEST(ContinuousGolden, SacTwinEqualsPyTorch) {
  const Numbers expected = numbers("sac");
  const Data data(100);
  reference::Sac sac = golden_sac(0);
  expected.expect("targets", sac.critic_targets(data.batch, data.next_eps));
  const auto losses = sac.update(data.batch, data.next_eps, data.eps);
  expected.expect("log_p", losses.log_p);
  expected.expect("actor_loss", losses.actor);
  expected.expect("log_alpha", sac.log_alpha);
  expected.expect_network("actor", sac.actor.net, sac.actor.p);
  for (int k = 0; k < kCritics; ++k) {
    const std::string which = std::to_string(k);
    expected.expect("critic_loss" + which, losses.critics[k]);
    expected.expect_network("critic" + which, sac.critics[k].net, sac.critics[k].p);
    expected.expect_network("target" + which, sac.critics[k].net, sac.targets[k]);
  }
}

TEST(ContinuousGolden, TqcTwinEqualsPyTorch) {
  const Numbers expected = numbers("tqc");
  const Data data(100);
  reference::Sac sac = golden_sac(kQuantiles);
  expected.expect("targets", sac.critic_targets(data.batch, data.next_eps));
  const auto losses = sac.update(data.batch, data.next_eps, data.eps);
  expected.expect("actor_loss", losses.actor);
  for (int k = 0; k < kCritics; ++k) {
    const std::string which = std::to_string(k);
    expected.expect("critic_loss" + which, losses.critics[k]);
    expected.expect_network("critic" + which, sac.critics[k].net, sac.critics[k].p);
  }
}

TEST(ContinuousGolden, Td3TwinEqualsPyTorch) {
  const Numbers expected = numbers("td3");
  const Structure actor = network(kObs, kActions), critic = network(kObs + kActions, 1);
  reference::Td3 td3({.sigma = kSigma,
                      .noise_clip = kNoiseClip,
                      .delay = 2,
                      .reward_factor = kRewardFactor,
                      .tau = kTau,
                      .actor_rate = kRate,
                      .critic_rate = kRate},
                     learnt(actor, 0, kTd3Last), {learnt(critic, 1), learnt(critic, 2)});
  td3.actor_target = parameters(actor, 5, kTd3Last);
  for (int k = 0; k < kCritics; ++k) td3.targets[k] = parameters(critic, 6 + k);
  for (int update = 1; update <= 2; ++update) {
    const Data data(100 * update);
    const std::string number = std::to_string(update);
    Doubles actions;
    for (int b = 0; b < kRows; ++b)
      actions = reference::joined(
          actions, td3.smoothed_action(reference::row_of(data.batch.next_obs, b, kObs),
                                       reference::row_of(data.next_eps, b, kActions)));
    expected.expect("next_action" + number, actions);
    expected.expect("targets" + number, td3.critic_targets(data.batch, data.next_eps));
    const auto losses = td3.update(data.batch, data.next_eps);
    for (int k = 0; k < kCritics; ++k)
      expected.expect("critic_loss" + number + std::to_string(k), losses.critics[k]);
    if (update == 2) expected.expect("actor_loss", losses.actor);
  }
  expected.expect_network("actor", actor, td3.actor.p);
  expected.expect_network("actor_target", actor, td3.actor_target);
  for (int k = 0; k < kCritics; ++k) {
    expected.expect_network("critic" + std::to_string(k), critic, td3.critics[k].p);
    expected.expect_network("target" + std::to_string(k), critic, td3.targets[k]);
  }
}

}  // namespace
}  // namespace hotloop::golden
