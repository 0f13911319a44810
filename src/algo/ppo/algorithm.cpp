// ppo: keys, checks and facts, as the rest of the program sees them.
#include "algo/common/algorithm.hpp"

#include <fmt/format.h>

#include <cmath>

#include <hotloop/error.hpp>

#include "algo/common/action_head.hpp"
#include "algo/common/networks.hpp"
#include "algo/ppo/learner.hpp"

namespace hotloop {
namespace {

const PpoOptions& own(const AgentSpec& spec) { return options_of<PpoOptions>(spec); }

void check_reward_parts(const PpoOptions& o, std::string_view name, const EnvSpec& env) {
  const auto given = static_cast<int>(o.part_weights.size());
  if (given == 0 || given == env.reward_part_count()) return;
  std::string names;
  for (int i = 0; i < env.reward_part_count(); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", env.reward_parts[i]);
  throw UsageError(
      fmt::format("algo.part_weights: {} weights, but the rewards of {} have {} parts{}{}; give "
                  "one for each, or none",
                  given, name, env.reward_part_count(), names.empty() ? "" : ": ", names));
}

// Keys for continuous actions have no meaning if actions are discrete.
void check_continuous_keys(const PpoOptions& o, std::string_view name, const EnvSpec& env) {
  if (env.actions == 0) return;
  const PpoOptions standard;
  const auto refuse = [&](bool given, std::string_view key) {
    if (given) {
      throw UsageError(fmt::format(
          "{}: is for continuous actions, but {} has discrete ones; leave it out", key, name));
    }
  };
  refuse(o.squash != standard.squash, "algo.squash");
  refuse(o.std_source != standard.std_source, "algo.std");
  refuse(o.log_std_init != standard.log_std_init, "algo.log_std_init");
}

class PpoAlgorithm final : public Algorithm {
 public:
  std::string_view name() const override { return "ppo"; }
  std::string_view about() const override {
    return "actor-critic from the latest rollout, for discrete and continuous actions";
  }
  AlgorithmFacts facts() const override {
    return {.on_policy = true, .continuous = true, .actor_critic = true, .default_rank = 1};
  }

  void set_defaults(AgentSpec& spec) const override {
    spec.options = PpoOptions{};
    spec.learn.normalise_rewards = true;
    spec.net.activation = Activation::tanh;
    spec.net.init = Initialiser::orthogonal;
    spec.optimiser.max_grad_norm = 0.5f;
  }

  Keys keys(AgentSpec& spec) const override {
    auto& o = options_of<PpoOptions>(spec);
    Keys keys = {
        {"algo.gamma", &spec.learn.gamma, kShare, "discount factor"},
        {"algo.batch", &spec.learn.batch, {1, 65'536}, "transitions per gradient"},
    };
    append(keys, rollout_keys(
                     o.rollout,
                     "passes over a rollout, in batches; for ppo, one pass in one batch is A2C"));
    append(keys, {lambda_key(o.rollout, "algo.gae_lambda")});
    append(
        keys,
        {{"algo.clip_range",
          &o.clip_range,
          {0, 1e9, true},
          "clips the ratio of new to old probability to [1 - clip, 1 + clip]"},
         {"algo.clip_range_vf",
          &o.clip_range_vf,
          {0, 1e30},
          "clips the change of a value since the rollout to this; 0 = off"},
         {"algo.vf_coef", &o.vf_coef, {0, 1e6}, "weight of the value loss, a mean squared error"},
         {"algo.part_weights",
          &o.part_weights,
          {0, 1e6},
          "learns one more value per reward part of the environment, with this weight of its loss "
          "relative to that of the total; empty = only the total"},
         {"algo.ent_coef", &o.ent_coef, {0, 1e6}, "weight of the entropy bonus"},
         Key{"algo.entropy_floor",
             &o.entropy_floor,
             {},
             "entropy below this is penalised; `none` = off"}
             .or_unset("none"),
         Key{"algo.entropy_floor_coef",
             &o.entropy_floor_coef,
             {0, 1e6},
             "weight of the penalty below the floor"}
             .only_if([&o] { return !std::isnan(o.entropy_floor); }, "algo.entropy_floor is none"),
         {"algo.target_kl",
          &o.target_kl,
          {0, 1e6},
          "early stopping: no more epochs on this rollout once the mean KL divergence from the old "
          "policy in an epoch exceeds this; 0 = off"},
         {"algo.squash",
          choice(o.squash, kSquashNames),
          {},
          "continuous actions: how raw actions are mapped into their bounds; smooth = tanh if the "
          "bounds are symmetric, otherwise logistic; clip = clamped"},
         {"algo.std",
          choice(o.std_source, kStdSourceNames),
          {},
          "continuous actions: log stds are free parameters, or outputs of the network"},
         Key{"algo.log_std_init",
             &o.log_std_init,
             {-10, 5},
             "continuous actions: initial value of state-independent log stds"}
             .only_if([&o] { return o.std_source == StdSource::state_independent; },
                      "algo.std is network")});
    append(keys, normalise_keys(spec.learn));
    append(keys, {{"algo.normalise.advantages",
                   choice(o.advantages, kStandardiseNames),
                   {},
                   "what advantages are normalised over, to mean 0 and std 1"}});
    return keys;
  }

  void derive(AgentSpec& spec) const override { derive_rounds(own(spec).rollout, spec); }

  void check(const AgentSpec& spec, Violations& violations) const override {
    const PpoOptions& o = own(spec);
    check_rollout(o.rollout, spec, violations);
    violations.blame_if(o.advantages == Standardise::batch && spec.learn.batch == 1,
                        "algo.normalise.advantages",
                        "a batch of 1 has std 0: every advantage would be 0");
    violations.blame_if(o.advantages == Standardise::episode && o.rollout.n_steps == 1,
                        "algo.normalise.advantages",
                        "a rollout of 1 step has std 0: every advantage would be 0");
    violations.check_schedule("algo.clip_range", o.clip_range);
    violations.check_schedule("algo.ent_coef", o.ent_coef);
  }

  void check_world(const AgentSpec& spec, std::string_view env,
                   const WorldFacts& world) const override {
    check_reward_parts(own(spec), env, world.spec);
    check_continuous_keys(own(spec), env, world.spec);
  }

  std::string describe(const AgentSpec&) const override { return std::string(name()); }

  std::unique_ptr<Learner> make_learner(const AgentSpec& spec, const WorldFacts& world,
                                        std::uint64_t seed) const override {
    return std::make_unique<PpoLearner>(spec, world, seed);
  }

  Structure network(const AgentSpec& spec, const WorldFacts& world) const override {
    const PpoOptions& o = own(spec);
    const EnvSpec& env = world.spec;
    const bool state_independent = env.actions == 0 && o.std_source == StdSource::state_independent;
    const ActorCriticHead head = ppo_head(spec, world);
    return make_actor_critic(env.obs,
                             {.policy = state_independent ? env.action_size : head.policy.outputs(),
                              .free = state_independent ? env.action_size : 0,
                              .free_initial = static_cast<float>(o.log_std_init),
                              .values = head.values},
                             spec.net, grid_of(spec, env), parts_of(env));
  }
  std::shared_ptr<const ActionHead> head(const AgentSpec& spec,
                                         const WorldFacts& world) const override {
    return std::make_shared<PolicyActionHead>(ppo_head(spec, world).policy);
  }

  MemoryNeed memory_need(const AgentSpec& spec, const WorldFacts& world) const override {
    return rollout_memory_need(ppo_rollout_shape(spec, world), network(spec, world), spec);
  }
  std::string describe_memory(const AgentSpec& spec, const WorldFacts&) const override {
    return describe_rollout(own(spec).rollout, spec);
  }
  std::string too_large(const AgentSpec& spec, const WorldFacts& world,
                        double available) const override {
    return rollout_too_large(own(spec).rollout, spec, memory_need(spec, world), available);
  }

  LearningWork work(const AgentSpec& spec, const WorldFacts& world) const override {
    const Structure structure = network(spec, world);
    const BatchSplit split(structure, spec.learn.batch, spec.max_threads());
    return {.acting = Ppo::acting_part(structure, ppo_head(spec, world)),
            .rows_at_once = split.rows_at_once(),
            .shares_batches = split.threads > 1,
            .bytes_per_transition = rollout_bytes_per_transition(ppo_rollout_shape(spec, world)),
            .drawn_per_update = 1.0 * spec.learn.batch};
  }
  std::vector<Proposal> remedies(const AgentSpec& spec, const PhaseShare&) const override {
    return rollout_remedies(own(spec).rollout, spec);
  }
  std::vector<std::string> with_envs(const AgentSpec& spec, int envs) const override {
    return shorter_rollout(own(spec).rollout, spec, envs);
  }
  std::string_view updates_key() const override { return "algo.n_epochs or a larger algo.batch"; }
  std::string advice(Sign sign, const AgentSpec& spec) const override {
    if (sign == Sign::gradient) return gradient_advice(spec, false);
    return Algorithm::advice(sign, spec);
  }
};

HOTLOOP_ALGORITHM(PpoAlgorithm)

}  // namespace
}  // namespace hotloop
