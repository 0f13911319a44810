#include "algo/pqn/algorithm.hpp"

#include <fmt/format.h>

#include "algo/common/action_head.hpp"
#include "algo/common/networks.hpp"
#include "algo/pqn/learner.hpp"

namespace hotloop {
namespace {

const PqnOptions& own(const AgentSpec& spec) { return options_of<PqnOptions>(spec); }

QHead q_head(const WorldFacts& world) { return {.actions = world.spec.actions}; }

}  // namespace

void PqnAlgorithm::set_defaults(AgentSpec& spec) const {
  const PqnOptions options;
  spec.options = options;
  spec.learn.batch = options.rollout.n_steps;  // divides a rollout of any number of environments
  spec.net.layer_norm = true;                  // stabilises learning instead of a target network
}

Keys PqnAlgorithm::keys(AgentSpec& spec) const {
  auto& o = options_of<PqnOptions>(spec);
  Keys keys = {
      {"algo.gamma", &spec.learn.gamma, kShare, "discount factor"},
      {"algo.loss",
       choice(o.loss, kLossNames),
       {},
       "loss of the TD error; huber becomes linear at 1"},
      {"algo.batch", &spec.learn.batch, {1, 65'536}, "transitions per gradient"},
  };
  append(keys, exploration_keys(o.explore, spec));
  append(keys, rollout_keys(o.rollout, "passes over a rollout, in batches"));
  append(keys, {lambda_key(o.rollout, "algo.lambda")});
  append(keys, normalise_keys(spec.learn));
  return keys;
}

void PqnAlgorithm::derive(AgentSpec& spec) const { derive_rounds(own(spec).rollout, spec); }

void PqnAlgorithm::check(const AgentSpec& spec, Violations& violations) const {
  check_rollout(own(spec).rollout, spec, violations);
  check_exploration(own(spec).explore, spec, violations);
}

std::string PqnAlgorithm::describe(const AgentSpec& spec) const {
  return fmt::format("{}{}{}{}", spec.net.dueling ? "dueling " : "",
                     spec.net.noisy != Noisy::none ? "noisy " : "", name(),
                     describe_exploration(own(spec).explore));
}

std::unique_ptr<Learner> PqnAlgorithm::make_learner(const AgentSpec& spec, const WorldFacts& world,
                                                    std::uint64_t seed) const {
  return std::make_unique<PqnLearner>(spec, world, seed);
}

Structure PqnAlgorithm::network(const AgentSpec& spec, const WorldFacts& world) const {
  return q_structure(spec, world, q_head(world));
}

std::shared_ptr<const ActionHead> PqnAlgorithm::head(const AgentSpec&,
                                                     const WorldFacts& world) const {
  return std::make_shared<GreedyHead>(q_head(world));
}

MemoryNeed PqnAlgorithm::memory_need(const AgentSpec& spec, const WorldFacts& world) const {
  return rollout_memory_need(rollout_shape(own(spec).rollout, 0, spec, world), network(spec, world),
                             spec);
}

std::string PqnAlgorithm::describe_memory(const AgentSpec& spec, const WorldFacts&) const {
  return describe_rollout(own(spec).rollout, spec);
}

std::string PqnAlgorithm::too_large(const AgentSpec& spec, const WorldFacts& world,
                                    double available) const {
  return rollout_too_large(own(spec).rollout, spec, memory_need(spec, world), available);
}

LearningWork PqnAlgorithm::work(const AgentSpec& spec, const WorldFacts& world) const {
  const Structure structure = network(spec, world);
  const BatchSplit split(structure, spec.learn.batch, spec.max_threads());
  return {.acting = structure,
          .rows_at_once = split.rows_at_once(),
          .shares_batches = split.threads > 1,
          .bytes_per_transition =
              rollout_bytes_per_transition(rollout_shape(own(spec).rollout, 0, spec, world)),
          .drawn_per_update = 1.0 * spec.learn.batch};
}

std::vector<Proposal> PqnAlgorithm::remedies(const AgentSpec& spec, const PhaseShare&) const {
  return rollout_remedies(own(spec).rollout, spec);
}

std::vector<std::string> PqnAlgorithm::with_envs(const AgentSpec& spec, int envs) const {
  return shorter_rollout(own(spec).rollout, spec, envs);
}

std::string PqnAlgorithm::advice(Sign sign, const AgentSpec& spec) const {
  if (sign == Sign::no_gap) {
    return "a larger algo.lambda, a smaller algo.gamma or a larger network";
  }
  if (sign == Sign::gradient) return gradient_advice(spec, own(spec).loss == Loss::mse);
  return Algorithm::advice(sign, spec);
}

const Schedule* PqnAlgorithm::random_actions(const AgentSpec& spec) const {
  const ExplorationOptions& e = own(spec).explore;
  return e.kind == Explore::epsilon_greedy ? &e.epsilon : nullptr;
}

namespace {
HOTLOOP_ALGORITHM(PqnAlgorithm)
}  // namespace
}  // namespace hotloop
