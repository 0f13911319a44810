// Keys that do nothing because what they belong to is switched off.
#include <array>
#include <cmath>

#include "spec/spec_keys.hpp"

namespace hotloop {

std::string_view idle_because(const TrainSpec& spec, std::string_view path) {
  const QOptions& q = spec.q;
  const OptimiserKind kind = spec.optimiser.kind;
  const bool adam = kind == OptimiserKind::adam || kind == OptimiserKind::adamw;
  const bool dqn = spec.algorithm == Algorithm::dqn, ppo = spec.algorithm == Algorithm::ppo;
  const bool graph = spec.net.graph.kind != GraphKind::none;

  struct Group {
    bool idle;
    std::string_view because;
    std::array<std::string_view, 3> keys{};  // with all that is below them
  };
  const Group groups[] = {
      {!dqn, "only algo.name: dqn has a replay memory", {"replay."}},
      {!q.prioritised,
       "replay.prioritised is false",
       {"replay.alpha", "replay.epsilon", "replay.beta"}},
      {dqn, "algo.name is dqn, which has no rollouts", {"algo.rollout", "algo.epochs"}},
      {dqn, "algo.name is dqn; algo.n_step is its likeness", {"algo.lambda"}},
      {dqn && q.head != HeadKind::scalar,
       "c51 and quantile heads have a loss of their own",
       {"algo.loss"}},
      {q.head == HeadKind::scalar, "algo.head is scalar", {"algo.atoms"}},
      {q.head != HeadKind::c51, "algo.head is not c51", {"algo.v_min", "algo.v_max"}},
      {q.munchausen == 0, "algo.munchausen is 0", {"algo.munchausen_"}},
      {q.target_every == 0,
       "there is no target network (algo.target.every is 0)",
       {"algo.target.count", "algo.target.blend"}},
      {q.explore != Explore::epsilon_greedy,
       "algo.explore is boltzmann",
       {"algo.epsilon", "algo.explore_steps"}},
      {q.epsilon == constant(0), "algo.epsilon is 0", {"algo.explore_steps"}},
      {q.explore != Explore::boltzmann, "algo.explore is not boltzmann", {"algo.temperature"}},
      {spec.ppo.deviation == Deviation::network,
       "algo.deviation is network",
       {"algo.log_deviation"}},
      {std::isnan(spec.ppo.entropy_floor),
       "algo.entropy_floor is none",
       {"algo.entropy_floor_weight"}},
      {graph, "net.graph takes the place of layers", {"net.hidden"}},
      {!graph && path != "net.graph.kind", "net.graph.kind is none", {"net.graph."}},
      {spec.net.noisy == Noisy::none, "net.noisy is none", {"net.noisy_sigma"}},
      {spec.net.noisy == Noisy::all && spec.net.channels.empty() && spec.net.branches.empty(),
       "noisy layers start as their paper says",
       {"net.init"}},
      {!spec.net.dueling, "net.dueling is false", {"net.dueling_hidden"}},
      {!ppo, "it belongs to algo.name: ppo", {"net.policy_gain"}},
      {!adam, "only adam and adamw have it", {"optimiser.beta"}},
      {adam, "adam and adamw have beta1 instead", {"optimiser.momentum"}},
      {kind != OptimiserKind::rmsprop, "only rmsprop has it", {"optimiser.decay"}},
      {kind == OptimiserKind::sgd, "sgd has none", {"optimiser.epsilon"}},
  };
  for (const Group& group : groups) {
    if (!group.idle) continue;
    for (const std::string_view key : group.keys) {
      if (!key.empty() && path.starts_with(key)) return group.because;
    }
  }
  return {};
}

}  // namespace hotloop
