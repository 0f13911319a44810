#include "algo/common/continuous/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algo/common/continuous/action_range.hpp"
#include "algo/common/continuous/learner.hpp"
#include "algo/common/continuous/tanh_head.hpp"
#include "algo/common/networks.hpp"
#include "algo/common/replay_options.hpp"
#include "core/text.hpp"
#include "net/work.hpp"

namespace hotloop {
namespace {

Keys critic_keys(CriticOptions& c, AgentSpec& spec) {
  const auto quantiles = [&c] { return c.quantiles > 0; };
  return {
      {"algo.critics",
       &c.count,
       {1, kMaxCritics},
       "number of critics, each with its own target network"},
      Key{"algo.target_critics",
          &c.in_target,
          {1, kMaxCritics},
          "critics whose minimum is the target; if fewer than `algo.critics`, a random subset for "
          "each update (REDQ, Chen et al. 2021)"}
          .by_default("`algo.critics`", [&c] { c.in_target = c.count; }),
      Key{"algo.actor_value",
          choice(c.actor_value, kActorValueNames),
          {},
          "what the actor maximises: the smallest value that a critic gives, their mean, or that "
          "of the first critic"}
          .by_default("`min`, td3 and ddpg `first`, with quantiles `mean`",
                      [&c] {
                        if (c.quantiles > 0) c.actor_value = ActorValue::mean;
                      }),
      {"algo.quantiles",
       &c.quantiles,
       {0, 1'000},
       "quantiles of the return that each critic predicts (TQC, Kuznetsov et al. 2020); 0 = only "
       "the mean"},
      Key{"algo.dropped_quantiles",
          &c.dropped,
          {0, 999},
          "largest quantiles left out of the target, for each critic in it"}
          .only_if(quantiles, "algo.quantiles is 0"),
      {"algo.critic_hidden",
       &c.hidden,
       {1, 16'384},
       "widths of the critics' hidden layers; empty = those of `net.hidden`"},
      {"algo.critic_layer_norm",
       &c.layer_norm,
       {},
       "layer normalisation in the critics only; `net.layer_norm` is for all networks"},
      {"algo.critic_dropout", &c.dropout, kDecay,
       "share of the critics' hidden features that updates drop at random (DroQ, Hiraoka et al. "
       "2022), before layer normalisation"},
      {"algo.crossq",
       &c.crossq,
       {},
       "CrossQ (Bhatt et al. 2024): batch renormalisation in all networks, s and s' in one pass of "
       "the critics, no target networks"},
      Key{"algo.critic_learning_rate", &c.learning_rate, {0, 10}, "learning rate of the critics"}
          .by_default("`optimiser.learning_rate`",
                      [&] { c.learning_rate = spec.optimiser.learning_rate; }),
  };
}

double parameters(const Structure& structure) { return static_cast<double>(structure.storage); }

}  // namespace

void ContinuousAlgorithm::set_shared_defaults(AgentSpec& spec) {
  LearningOptions& l = spec.learn;
  l.batch = 256;
  l.learning_starts = 1'000;
  l.updates_per_step = 1;
  spec.net.hidden = {256, 256};
  spec.optimiser.learning_rate = constant(3e-4);
}

Keys ContinuousAlgorithm::keys_with(Keys own, AgentSpec& spec) const {
  ContinuousOptions& o = shared(spec);
  Keys keys = {
      {"algo.gamma", &spec.learn.gamma, kShare, "discount factor"},
      {"algo.batch", &spec.learn.batch, {1, 65'536}, "transitions per gradient"},
  };
  append(keys, replay_learning_keys(spec));
  append(keys, {Key{"algo.random_steps",
                    &o.random_steps,
                    {0, kMaxSteps},
                    "env steps with uniformly random actions at the beginning"}
                    .by_default("`algo.learning_starts`",
                                [&] { o.random_steps = spec.learn.learning_starts; }),
                Key{"algo.explore_steps",
                    &o.explore_steps,
                    {1, 1'000'000},
                    "vector steps that each random action is held; more than one finds what single "
                    "random actions rarely reach"}
                    .only_if([&o] { return o.random_steps > 0; }, "algo.random_steps is 0"),
                {"algo.n_step",
                 &o.n_step,
                 {1, 1'000},
                 "rewards summed before bootstrapping; never across the end of an episode"}});
  append(keys, critic_keys(o.critics, spec));
  append(keys, {Key{"algo.target.tau",
                    &o.tau,
                    {0, 1, true},
                    "weight of the online networks when the targets sync, after every update"}
                    .only_if([&o] { return !o.critics.crossq; },
                             "algo.crossq is true: there are no target networks"),
                {"algo.policy_delay",
                 &o.policy_delay,
                 {1, 10'000},
                 "updates of the critics for each update of the actor"}});
  append(keys, std::move(own));
  append(keys, normalise_keys(spec.learn));
  append(keys, replay_keys(o.replay, spec));
  return keys;
}

void ContinuousAlgorithm::derive(AgentSpec& spec) const {
  std::int64_t& capacity = shared(spec).replay.capacity;
  const std::int64_t usable = capacity - capacity % spec.envs;
  // If it is too small, keep it as given: check() refuses it.
  if (usable >= spec.learn.batch) capacity = usable;
}

void ContinuousAlgorithm::check(const AgentSpec& spec, Violations& violations) const {
  const ContinuousOptions& o = shared(spec);
  const CriticOptions& c = o.critics;
  check_replay(o.replay, o.n_step, spec, violations);
  if (c.in_target > c.count) {
    violations.blame("algo.target_critics",
                     fmt::format("{} is more than algo.critics ({})", c.in_target, c.count));
  }
  if (c.quantiles > 0 && c.dropped >= c.quantiles) {
    violations.blame(
        "algo.dropped_quantiles",
        fmt::format("{} would leave none of algo.quantiles ({})", c.dropped, c.quantiles));
  }
  violations.blame_if(c.layer_norm && spec.net.layer_norm, "algo.critic_layer_norm",
                      "net.layer_norm already normalises the critics; leave one of them out");
  if (c.crossq && spec.learn.batch % kLanes != 0) {
    violations.blame("algo.crossq",
                     fmt::format("needs an algo.batch that is a multiple of {}, not {}: s and s' "
                                 "share blocks of rows",
                                 kLanes, spec.learn.batch));
  }
  violations.blame_if(c.crossq && (c.layer_norm || spec.net.layer_norm), "algo.crossq",
                      "cannot be combined with layer normalisation: batch renormalisation takes "
                      "its place");
  const bool has_hidden = !c.hidden.empty() || !spec.net.hidden.empty();
  constexpr std::string_view kNoHidden = "the critics have no hidden layers (algo.critic_hidden)";
  violations.blame_if(c.dropout > 0 && !has_hidden, "algo.critic_dropout", kNoHidden);
  violations.blame_if(c.layer_norm && !has_hidden, "algo.critic_layer_norm", kNoHidden);
  violations.check_schedule("algo.critic_learning_rate", c.learning_rate);
  constexpr std::string_view kPlain =
      "the critics also read the action, and only plain hidden layers (net.hidden) can do so";
  violations.blame_if(!spec.net.branches.empty(), "net.branches", kPlain);
  violations.blame_if(!spec.net.channels.empty(), "net.channels", kPlain);
  violations.blame_if(spec.net.graph.kind != GraphKind::none, "net.graph.kind", kPlain);
}

Structure ContinuousAlgorithm::network(const AgentSpec& spec, const WorldFacts& world) const {
  NetOptions net = spec.net;
  net.batch_norm = shared(spec).critics.crossq;
  return make_mlp(world.spec.obs, world.spec.action_size * (has_std() ? 2 : 1), net);
}

std::shared_ptr<const ActionHead> ContinuousAlgorithm::head(const AgentSpec&,
                                                            const WorldFacts& world) const {
  return std::make_shared<TanhHead>(ActionRange(world.spec), has_std());
}

std::string ContinuousAlgorithm::describe(const AgentSpec& spec) const {
  const ContinuousOptions& o = shared(spec);
  const CriticOptions& c = o.critics;
  std::string text;
  if (o.n_step > 1) text += fmt::format("{}-step ", o.n_step);
  if (c.crossq) text += "crossq ";
  text += name();
  if (c.quantiles > 0) {
    text += fmt::format(", {} critics of {} quantiles without the top {}", c.count, c.quantiles,
                        c.dropped);
  } else if (c.in_target < c.count) {
    text += fmt::format(", {} of {} critics in a target", c.in_target, c.count);
  } else if (c.count != 2) {
    text += fmt::format(", {} critic{}", c.count, c.count == 1 ? "" : "s");
  }
  if (c.dropout > 0) text += ", dropout in the critics";
  if (o.replay.prioritised) text += ", prioritised";
  if (o.replay.newest) text += ", newest included";
  if (spec.learn.pipelined) text += ", pipelined";
  return text;
}

MemoryNeed ContinuousAlgorithm::memory_need(const AgentSpec& spec, const WorldFacts& world) const {
  const ContinuousOptions& o = shared(spec);
  constexpr double kCopies = 5;  // online, target, two moments, gradient
  const Structure policy = network(spec, world);
  const double actor = kCopies * sizeof(float) * parameters(policy) +
                       static_cast<double>(Workspace::bytes_needed(
                           policy, spec.learn.batch, Use::training, spec.max_threads()));
  const Structure critic = critic_structure(spec, o.critics, world);
  return {.experience = replay_bytes(continuous_replay_shape(o, spec, world), spec),
          .network = actor + static_cast<double>(Critics::bytes_needed(
                                 critic, o.critics, spec.learn.batch, spec.max_threads()))};
}

std::string ContinuousAlgorithm::describe_memory(const AgentSpec& spec,
                                                 const WorldFacts& world) const {
  return describe_replay(continuous_replay_shape(shared(spec), spec, world));
}

std::int64_t ContinuousAlgorithm::replay_capacity(const AgentSpec& spec) const {
  return shared(spec).replay.capacity;
}

std::string ContinuousAlgorithm::too_large(const AgentSpec& spec, const WorldFacts& world,
                                           double available) const {
  const MemoryNeed need = memory_need(spec, world);
  if (need.network > need.experience) {
    return fmt::format(
        "net.hidden: the networks ({} critics), with their gradients and optimisers in batches of "
        "{} (algo.batch), need {}, but this process has only {} of memory",
        shared(spec).critics.count, spec.learn.batch, size_text(need.network),
        size_text(available));
  }
  return replay_too_large(continuous_replay_shape(shared(spec), spec, world), need.experience,
                          need.network, available);
}

LearningWork ContinuousAlgorithm::work(const AgentSpec& spec, const WorldFacts& world) const {
  const ContinuousOptions& o = shared(spec);
  const Structure actor = network(spec, world);
  const Structure critic = critic_structure(spec, o.critics, world);
  const auto of_actor = work_of(actor), of_critic = work_of(critic);
  const int asked = o.critics.actor_value == ActorValue::first ? 1 : o.critics.count;
  // The actor's gradient goes back through the critics to their inputs: about another forward pass.
  const double actor_pass = of_actor.forward + of_actor.backward + asked * 2 * of_critic.forward;
  const bool joint = o.critics.crossq;  // s and s' in one pass, so none for the targets
  const int threads = spec.max_threads();
  const BatchSplit split(critic, spec.learn.batch, threads),
      split_of_actor(actor, spec.learn.batch, threads);
  return {
      .acting = actor,
      .rows_at_once = split.rows_at_once(),
      .shares_batches = split.threads > 1 || split_of_actor.threads > 1 || (joint && threads > 1),
      .bytes_per_transition = Replay::bytes_per_transition(continuous_replay_shape(o, spec, world)),
      .drawn_per_update = 1.0 * spec.learn.batch,
      .row_flop = {{Phase::learn_target,
                    of_actor.forward + (joint ? 0 : o.critics.in_target) * of_critic.forward},
                   {Phase::learn_forward, (joint ? 2 : 1) * of_critic.forward},
                   {Phase::learn_backward, (joint ? 2 : 1) * of_critic.backward},
                   {Phase::learn_actor, actor_pass}},
      .parameters = parameters(actor) / o.policy_delay + o.critics.count * parameters(critic)};
}

std::vector<Proposal> ContinuousAlgorithm::remedies(const AgentSpec& spec,
                                                    const PhaseShare& share) const {
  const ContinuousOptions& o = shared(spec);
  std::vector<Proposal> all = replay_remedies(o.replay, spec, share);
  if (o.policy_delay == 1) {
    all.push_back({"half the updates of the actor", {"algo.policy_delay=2"}, {"learn/actor"}});
  }
  if (o.critics.count > 2) {
    all.push_back({"two critics", {"algo.critics=2", "algo.target_critics=2"}, {"learn"}});
  }
  return all;
}

std::vector<std::string> ContinuousAlgorithm::with_envs(const AgentSpec& spec, int envs) const {
  return rounds_with_envs(spec, envs);
}

std::string ContinuousAlgorithm::advice(Sign sign, const AgentSpec& spec) const {
  switch (sign) {
    case Sign::diverging:
      return fmt::format("{}a smaller algo.critic_learning_rate or algo.critic_layer_norm",
                         shared(spec).critics.count < 2 ? "two critics (algo.critics), " : "");
    case Sign::critic_bias:
      return "algo.critic_layer_norm, algo.quantiles 25, or a smaller "
             "algo.critic_learning_rate";
    case Sign::no_terminals:
      return "a larger algo.n_step or a larger replay.capacity";
    case Sign::target_lag:
      return "a larger algo.target.tau or a smaller algo.critic_learning_rate";
    default:
      return gradient_advice(spec, false);
  }
}

}  // namespace hotloop
