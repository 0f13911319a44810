#include "bench/sac_twin.hpp"

#include "reference/sac.hpp"
#include "reference/td3.hpp"

namespace hotloop::bench {
namespace {

using reference::Doubles;
using reference::Learnt;

Learnt learnt(LearntNetwork& network) {
  const Doubles parameters(network.online().begin(), network.online().end());
  return {network.structure(), parameters, network.optimiser().options()};
}

}  // namespace

std::function<void()> slow_updates(std::string_view variant, Learner& learner, int actions,
                                   int batch, int count) {
  const auto repeated = [count](auto update) {
    return [=] {
      for (int i = 0; i < count; ++i) update();
    };
  };
  const std::vector<NamedNetwork> networks = learner.networks();
  const Learnt actor = learnt(*networks[0].network);
  const std::vector<Learnt> critics = {learnt(*networks[1].network), learnt(*networks[2].network)};
  Rng rng(2, Purpose::test, 0, 0);
  const auto draw = [&](int width) {
    Doubles all(static_cast<std::size_t>(batch) * width);
    for (double& value : all) value = rng.uniform(-1, 1);
    return all;
  };
  const int obs = actor.net.inputs;
  const reference::ContinuousBatch rows{.size = batch,
                                        .obs = draw(obs),
                                        .next_obs = draw(obs),
                                        .actions = draw(actions),
                                        .rewards = draw(1),
                                        .discounts = Doubles(batch, 0.99)};
  const Doubles next_noise = draw(actions), noise = draw(actions);
  if (variant == "td3") {
    auto twin =
        std::make_shared<reference::Td3>(reference::Td3Settings{.delay = count}, actor, critics);
    return repeated([=] { twin->update(rows, next_noise); });
  }
  reference::SacSettings settings{.crossq = variant == "crossq", .delay = count};
  if (variant == "tqc") {
    settings.quantiles = true;
    settings.drop = 2;
    settings.actor_value = reference::ActorValue::mean;
  }
  auto twin = std::make_shared<reference::Sac>(settings, actor, critics, 0.0, OptimiserOptions{});
  return repeated([=] { twin->update(rows, next_noise, noise); });
}

}  // namespace hotloop::bench
