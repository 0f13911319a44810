// dqn: keys, checks and facts, as the rest of the program sees them.
#include "algo/common/algorithm.hpp"

#include <fmt/format.h>

#include <cmath>

#include "algo/common/action_head.hpp"
#include "algo/common/networks.hpp"
#include "algo/dqn/learner.hpp"
#include "core/text.hpp"

namespace hotloop {
namespace {

const DqnOptions& own(const AgentSpec& spec) { return options_of<DqnOptions>(spec); }

Keys target_keys(TargetOptions& t) {
  const auto has_target = [&t] { return t.every > 0; };
  constexpr std::string_view kNone = "there is no target network (algo.target.every is 0)";
  return {
      {"algo.target.every",
       &t.every,
       {0, kMaxSteps},
       "how often the target network syncs with the online network; 0 = no target network"},
      Key{"algo.target.count",
          choice(t.count, kCountNames),
          {},
          "what `every` counts: env steps, updates or finished episodes"}
          .only_if(has_target, kNone),
      Key{"algo.target.tau",
          &t.tau,
          {0, 1, true},
          "weight of the online network in a sync: 1 = hard copy, below 1 = Polyak averaging"}
          .only_if(has_target, kNone),
  };
}

Keys head_keys(HeadOptions& h) {
  const auto is_c51 = [&h] { return h.kind == HeadKind::c51; };
  constexpr std::string_view kOther = "algo.head is not c51";
  return {
      {"algo.head",
       choice(h.kind, kHeadNames),
       {},
       "what the network predicts for an action: its value, a distribution over a fixed support "
       "(Bellemare et al. 2017) or quantiles of the return (Dabney et al. 2018)"},
      Key{"algo.atoms", &h.atoms, {2, 1'000}, "c51, quantile: outputs per action"}.only_if(
          [&h] { return h.kind != HeadKind::scalar; }, "algo.head is scalar"),
      Key{"algo.v_min",
          &h.v_min,
          {-1e30, 1e30},
          "c51: lower end of the support; in units of normalised rewards if rewards are normalised"}
          .only_if(is_c51, kOther),
      Key{"algo.v_max", &h.v_max, {-1e30, 1e30}, "c51: upper end of the support; same units"}
          .only_if(is_c51, kOther),
  };
}

Keys munchausen_keys(MunchausenOptions& m) {
  const auto on = [&m] { return m.alpha > 0; };
  constexpr std::string_view kOff = "algo.munchausen is 0";
  return {
      {"algo.munchausen", &m.alpha, kShare,
       "weight of the scaled log-policy that is added to rewards; next states then have soft "
       "values (Vieillard et al. 2020 use 0.9); 0 = off"},
      Key{"algo.munchausen_temperature",
          &m.temperature,
          {0, 1e6, true},
          "munchausen: the policy is softmax(Q / this)"}
          .only_if(on, kOff),
      Key{"algo.munchausen_clip",
          &m.clip,
          {-1e6, 0},
          "munchausen: lower bound of the scaled log-policy"}
          .only_if(on, kOff),
  };
}

void check_munchausen(const DqnOptions& o, Violations& violations) {
  const auto clashes = [&](bool given, std::string_view why) {
    violations.blame_if(given, "algo.munchausen", why);
  };
  clashes(o.head.kind != HeadKind::scalar, "needs algo.head: scalar");
  clashes(o.target.every == 0, "needs a target network (algo.target.every above 0)");
  clashes(o.double_q, "cannot be combined with algo.double: its targets have no argmax");
  clashes(o.n_step > 1,
          "cannot be combined with algo.n_step above 1: every reward of the window would need its "
          "own log-policy");
}

class DqnAlgorithm final : public Algorithm {
 public:
  std::string_view name() const override { return "dqn"; }
  std::string_view about() const override {
    return "Q-learning from a replay memory, with a target network";
  }
  AlgorithmFacts facts() const override {
    return {.pipelines = true, .action_values = true, .default_rank = 2};
  }

  void set_defaults(AgentSpec& spec) const override {
    spec.options = DqnOptions{};
    spec.learn.learning_starts = 1'000;
  }

  Keys keys(AgentSpec& spec) const override {
    auto& o = options_of<DqnOptions>(spec);
    Keys keys = {
        Key{"algo.gamma", &spec.learn.gamma, kShare, "discount factor"},
        Key{"algo.loss",
            choice(o.loss, kLossNames),
            {},
            "loss of the TD error; huber becomes linear at 1"}
            .only_if([&o] { return o.head.kind == HeadKind::scalar; },
                     "c51 and quantile heads have their own loss"),
        Key{"algo.batch", &spec.learn.batch, {1, 65'536}, "transitions per gradient"},
    };
    const auto add = [&keys](Keys more) { append(keys, std::move(more)); };
    add(replay_learning_keys(spec));
    add({accumulate_key(spec.learn),
         {"algo.repeats",
          &o.repeats,
          {1, 10'000},
          "consecutive updates on each drawn batch; must divide the updates of a round"},
         {"algo.double",
          &o.double_q,
          {},
          "Double DQN: the online network selects the action, the target network evaluates it (van "
          "Hasselt et al. 2016)"},
         {"algo.n_step",
          &o.n_step,
          {1, 1'000},
          "rewards summed before bootstrapping; never across the end of an episode"}});
    add(head_keys(o.head));
    add(target_keys(o.target));
    add(munchausen_keys(o.munchausen));
    add({{"algo.truncation_ends",
          &o.truncation_ends,
          {},
          "treat truncation by a time limit as termination, without bootstrapping; biased, but "
          "common"}});
    add(exploration_keys(o.explore, spec));
    add(normalise_keys(spec.learn));
    add(replay_keys(o.replay, spec));
    return keys;
  }

  void derive(AgentSpec& spec) const override {
    std::int64_t& capacity = options_of<DqnOptions>(spec).replay.capacity;
    const std::int64_t usable = capacity - capacity % spec.envs;
    // If it is too small, keep it as given: check() refuses it.
    if (usable >= std::int64_t{spec.learn.batch} * spec.learn.accumulate) capacity = usable;
  }

  void check(const AgentSpec& spec, Violations& violations) const override {
    const DqnOptions& o = own(spec);
    const LearningOptions& l = spec.learn;
    check_replay(o.replay, o.n_step, spec, violations);
    const double per_round = static_cast<double>(l.train_every) * l.updates_per_step;
    const double draws = per_round / o.repeats;
    if (o.repeats > 1 && std::abs(draws - std::round(draws)) > 1e-6) {
      violations.blame(
          "algo.repeats",
          fmt::format("a round makes {:g} updates (algo.train_every * algo.updates_per_step), "
                      "which is not a multiple of {}",
                      per_round, o.repeats));
    }
    violations.blame_if(
        o.double_q && o.target.every == 0, "algo.double",
        "needs a target network: without one (algo.target.every: 0) the same network would select "
        "and evaluate the action");
    if (o.munchausen.alpha > 0) check_munchausen(o, violations);
    if (const QHead head = make_head(o.head, 1); head.kind == HeadKind::c51) {
      const float largest = std::max(std::abs(head.v_min), std::abs(head.v_max));
      if (!(o.head.v_min < o.head.v_max) || !(head.spacing() > 1e-6f * largest)) {
        violations.blame(
            "algo.v_min",
            fmt::format("{} is not below algo.v_max ({}), or is too close to it for {} "
                        "atoms in single precision",
                        o.head.v_min, o.head.v_max, o.head.atoms));
      }
    }
    check_exploration(o.explore, spec, violations);
  }

  std::string describe(const AgentSpec& spec) const override {
    const DqnOptions& o = own(spec);
    std::string text;
    const auto add = [&](bool is_on, std::string_view word) {
      if (is_on) text += fmt::format("{} ", word);
    };
    add(o.target.every == 0, "vanilla");
    add(o.double_q, "double");
    add(o.munchausen.alpha > 0, "munchausen");
    add(spec.net.dueling, "dueling");
    add(spec.net.noisy != Noisy::none, "noisy");
    add(o.n_step > 1, fmt::format("{}-step", o.n_step));
    add(o.head.kind != HeadKind::scalar, kHeadNames[static_cast<std::size_t>(o.head.kind)]);
    text += name();
    if (o.replay.prioritised) text += ", prioritised";
    if (o.replay.newest) text += ", newest included";
    text += describe_exploration(o.explore);
    if (spec.learn.pipelined) text += ", pipelined";
    return text;
  }

  std::unique_ptr<Learner> make_learner(const AgentSpec& spec, const WorldFacts& world,
                                        std::uint64_t seed) const override {
    return std::make_unique<DqnLearner>(spec, world, seed);
  }

  Structure network(const AgentSpec& spec, const WorldFacts& world) const override {
    return q_structure(spec, world, make_head(own(spec).head, world.spec.actions));
  }
  std::shared_ptr<const ActionHead> head(const AgentSpec& spec,
                                         const WorldFacts& world) const override {
    return std::make_shared<GreedyHead>(make_head(own(spec).head, world.spec.actions));
  }

  MemoryNeed memory_need(const AgentSpec& spec, const WorldFacts& world) const override {
    return {.experience = replay_bytes(dqn_replay_shape(spec, world), spec),
            .network = static_cast<double>(Dqn::bytes_needed(network(spec, world), spec))};
  }
  std::string describe_memory(const AgentSpec& spec, const WorldFacts& world) const override {
    return describe_replay(dqn_replay_shape(spec, world));
  }
  std::int64_t replay_capacity(const AgentSpec& spec) const override {
    return own(spec).replay.capacity;
  }
  std::string too_large(const AgentSpec& spec, const WorldFacts& world,
                        double available) const override {
    const MemoryNeed need = memory_need(spec, world);
    if (need.network > need.experience) {
      return fmt::format(
          "net.hidden: the network, with its gradients and optimiser in batches of {} "
          "(algo.batch), needs {}, but this process has only {} of memory",
          spec.learn.batch, size_text(need.network), size_text(available));
    }
    return replay_too_large(dqn_replay_shape(spec, world), need.experience, need.network,
                            available);
  }

  LearningWork work(const AgentSpec& spec, const WorldFacts& world) const override {
    const DqnOptions& o = own(spec);
    const Structure structure = network(spec, world);
    const BatchSplit split(structure, spec.learn.batch, spec.max_threads());
    return {.acting = structure,
            .rows_at_once = split.rows_at_once(),
            .shares_batches = split.threads > 1,
            .target_passes = o.double_q ? 2.0 : 1.0,
            .bytes_per_transition = Replay::bytes_per_transition(dqn_replay_shape(spec, world)),
            .drawn_per_update = 1.0 * spec.learn.batch * spec.learn.accumulate / o.repeats};
  }

  std::vector<Proposal> remedies(const AgentSpec& spec, const PhaseShare& share) const override {
    const DqnOptions& o = own(spec);
    std::vector<Proposal> all = replay_remedies(o.replay, spec, share);
    if (o.double_q) all.push_back({"no Double", {"algo.double=false"}, {"learn/target"}});
    return all;
  }

  std::vector<std::string> with_envs(const AgentSpec& spec, int envs) const override {
    return rounds_with_envs(spec, envs);
  }

  std::string advice(Sign sign, const AgentSpec& spec) const override {
    const DqnOptions& o = own(spec);
    const bool has_target = o.target.every > 0;
    const bool munchausen = o.munchausen.alpha > 0;  // excludes Double and n_step > 1
    switch (sign) {
      case Sign::diverging:
        return fmt::format(
            "{}a smaller optimiser.learning_rate or {}",
            has_target && !o.double_q && !munchausen ? "algo.double, " : "",
            has_target ? "a larger algo.target.every" : "a target network (algo.target.every)");
      case Sign::no_gap:
        return fmt::format("{}a smaller algo.gamma or a larger network",
                           munchausen ? "" : "a larger algo.n_step, ");
      case Sign::no_terminals:
        return fmt::format(
            "{}a larger algo.target.every, or a higher final {}",
            munchausen ? "" : "a larger algo.n_step, ",
            o.explore.kind == Explore::boltzmann ? "algo.temperature" : "algo.epsilon");
      case Sign::target_lag:
        return "a smaller algo.target.every or a smaller optimiser.learning_rate";
      default:
        return gradient_advice(spec, o.loss == Loss::mse && o.head.kind == HeadKind::scalar);
    }
  }

  const Schedule* random_actions(const AgentSpec& spec) const override {
    const ExplorationOptions& e = own(spec).explore;
    return e.kind == Explore::epsilon_greedy ? &e.epsilon : nullptr;
  }
};

HOTLOOP_ALGORITHM(DqnAlgorithm)

}  // namespace
}  // namespace hotloop
