// What is wrong with a spec whose keys are each in range: combinations that make no sense.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algo/common/q_head.hpp"
#include "spec/spec_keys.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

// Numbers that one random stream can be asked for, and that fit their counters.
constexpr std::int64_t kMostDraws = std::int64_t{1} << 25;

class Checker {
 public:
  explicit Checker(const TrainSpec& spec) : spec_(spec), q_(spec.q) {}

  std::vector<Violation> run() {
    check_run();
    if (spec_.algorithm == Algorithm::dqn) {
      check_replay();
    } else {
      check_rollout();
    }
    check_ppo();
    check_network();
    check_graph();
    check_exploration();
    check_schedule("algo.epsilon", q_.epsilon);
    check_schedule("algo.temperature", q_.temperature);
    check_schedule("replay.beta", q_.beta);
    check_schedule("optimiser.learning_rate", q_.learning_rate);
    if (q_.learning_rate == constant(0))
      blame("optimiser.learning_rate", "0: the run would never learn");
    const Schedule& t = q_.temperature;
    const bool stops = t.kind == ScheduleKind::step && t.factor == 0;
    if (t.kind == ScheduleKind::linear_to_zero || stops) {
      blame("algo.temperature", "must stay above 0; use kind linear with a small `to`");
    }
    return std::move(found_);
  }

 private:
  void blame(std::string_view path, std::string text) { found_.push_back({path, std::move(text)}); }

  void check_run() {
    const std::string& name = spec_.name;
    if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.')) {
      blame("name", fmt::format("\"{}\" cannot name a folder", name));
    }
    if (q_.learning_starts > spec_.run.steps) {
      blame("algo.learning_starts",
            fmt::format("{} is more than run.steps ({}): the run would never learn",
                        q_.learning_starts, spec_.run.steps));
    } else if (q_.updates_per_step > 0 && q_.train_every > 0 &&
               declared_updates(spec_, spec_.run.steps) == 0) {
      blame("run.steps",
            fmt::format("{} end before the first update: the run would never learn; a round has {} "
                        "env steps ({}) and {:g} updates{}",
                        spec_.run.steps, q_.train_every,
                        spec_.algorithm == Algorithm::dqn ? "algo.train_every"
                                                          : "algo.rollout times env.count",
                        static_cast<double>(q_.train_every) * q_.updates_per_step,
                        q_.learning_starts > 0
                            ? fmt::format(", after the first {} steps (algo.learning_starts)",
                                          q_.learning_starts)
                            : ""));
    }
    if (spec_.evaluation.stop_when_solved && spec_.evaluation.every == 0) {
      blame("evaluation.stop_when_solved",
            "needs evaluation.every above 0: nothing is evaluated before the end");
    }
  }

  void check_network() {
    if (!spec_.net.branches.empty() && !spec_.net.channels.empty()) {
      blame("net.channels", "does not go together with net.branches; choose one of them");
    }
    for (const Branch& branch : spec_.net.branches) {
      const bool forest = std::any_of(branch.layers.begin(), branch.layers.end(),
                                      [](const auto& word) { return word.starts_with("forest"); });
      if (forest && q_.normalise_obs) {
        blame("algo.normalise.obs",
              "does not go with a forest: the parents of nodes are indices, not measurements");
      }
    }
    if (spec_.net.dueling && !spec_.net.dueling_hidden.empty() && spec_.net.layer_norm) {
      blame("net.dueling_hidden", "does not go together with net.layer_norm; choose one of them");
    }
    if (spec_.net.layer_norm && spec_.net.hidden.empty() &&
        spec_.net.graph.kind == GraphKind::none) {
      blame("net.layer_norm", "normalises the hidden layers, and net.hidden has none");
    }
  }

  void check_graph() {
    const NetOptions& net = spec_.net;
    if (net.graph.kind == GraphKind::none) {
      if (net.init == Initialiser::small_world) {
        blame("net.init", "small_world is for graphs; give net.graph.kind, or choose another");
      }
      return;
    }
    const auto without_graph = [&](bool given, std::string_view path) {
      if (given) blame(path, "does not go with net.graph: a graph has no layers");
    };
    without_graph(net.layer_norm, "net.layer_norm");
    without_graph(net.noisy != Noisy::none, "net.noisy");
    without_graph(!net.dueling_hidden.empty(), "net.dueling_hidden");
    without_graph(!net.channels.empty(), "net.channels");
    without_graph(!net.branches.empty(), "net.branches");
    if (net.graph.kind == GraphKind::edges && net.graph.edges.empty()) {
      blame("net.graph.edges", "missing; kind edges needs it, or net.graph.file");
    }
  }

  void check_replay() {
    const int envs = spec_.envs;
    if (q_.train_every % envs != 0) {
      blame("algo.train_every",
            fmt::format("{} is not a multiple of env.count ({}); nearest: {}", q_.train_every, envs,
                        std::max<std::int64_t>(1, (q_.train_every + envs / 2) / envs) * envs));
    }
    if (q_.train_offset >= q_.train_every || q_.train_offset % envs != 0) {
      blame("algo.train_offset",
            fmt::format("{} is not allowed; a multiple of env.count ({}) below algo.train_every "
                        "({}) is",
                        q_.train_offset, envs, q_.train_every));
    }
    const double per_round = static_cast<double>(q_.train_every) * q_.updates_per_step;
    const double draws = per_round / q_.repeats;
    if (q_.repeats > 1 && std::abs(draws - std::round(draws)) > 1e-6) {
      blame("algo.repeats",
            fmt::format(
                "a round makes {:g} updates (algo.train_every * algo.updates_per_step), which "
                "is not a multiple of {}",
                per_round, q_.repeats));
    }
    if (q_.double_q && q_.target_every == 0) {
      blame(
          "algo.double",
          "needs a target network: without one (algo.target.every: 0) the network that chooses is "
          "the network that values");
    }
    if (q_.munchausen > 0) check_munchausen();
    if (const QHead head = make_head(q_, 1); head.kind == HeadKind::c51) {
      const float largest = std::max(std::abs(head.v_min), std::abs(head.v_max));
      if (!(q_.v_min < q_.v_max) || !(head.spacing() > 1e-6f * largest)) {
        blame("algo.v_min",
              fmt::format("{} is not below algo.v_max ({}), or too close to it for {} "
                          "atoms in single precision",
                          q_.v_min, q_.v_max, q_.atoms));
      }
    }
    const std::int64_t draw = std::int64_t{q_.batch} * q_.accumulate;
    if (draw > kMostDraws) {
      blame("algo.accumulate", fmt::format("{} times algo.batch ({}) is more than {} transitions",
                                           q_.accumulate, q_.batch, kMostDraws));
    }
    if (q_.pipelined && q_.train_every > kMostDraws) {
      blame("algo.train_every", fmt::format("{}: a pipelined round has at most {} env steps",
                                            q_.train_every, kMostDraws));
    }
    if (q_.newest && envs >= draw) {
      blame("replay.newest",
            fmt::format("env.count ({}) leaves no room for older transitions in a batch of {}; "
                        "allowed: fewer environments than the batch",
                        envs, draw));
    }
    if (q_.n_step > 1 && q_.gamma == 0) {
      blame("algo.n_step",
            fmt::format("{} steps, but with algo.gamma 0 only the reward of the first "
                        "would count",
                        q_.n_step));
    }
    if (const std::int64_t kept = q_.replay_capacity / envs; q_.n_step > kept && kept > 0) {
      blame("algo.n_step",
            fmt::format("{} is more than replay.capacity keeps of an environment ({} "
                        "/ {} = {} steps)",
                        q_.n_step, q_.replay_capacity, envs, kept));
    }
    if (q_.replay_capacity < envs) {
      blame("replay.capacity",
            fmt::format("{} is less than env.count ({})", q_.replay_capacity, envs));
    } else if (const std::int64_t usable = q_.replay_capacity / envs * envs; usable < draw) {
      blame(
          "replay.capacity",
          fmt::format(
              "{}{} is less than algo.batch ({}){}", usable,
              usable < q_.replay_capacity ? " (rounded down)" : "", q_.batch,
              q_.accumulate > 1 ? fmt::format(" times algo.accumulate ({})", q_.accumulate) : ""));
    }
  }

  void check_munchausen() {
    const auto clashes = [&](bool given, std::string_view why) {
      if (given) blame("algo.munchausen", std::string(why));
    };
    clashes(q_.head != HeadKind::scalar, "is for algo.head: scalar");
    clashes(q_.target_every == 0, "needs a target network (algo.target.every above 0)");
    clashes(q_.double_q, "does not go with algo.double: its targets have no maximum to choose");
    clashes(
        q_.n_step > 1,
        "does not go with algo.n_step: every reward of a window would need a policy of its own");
  }

  void check_ppo() {
    const PpoOptions& p = spec_.ppo;
    const bool is_ppo = spec_.algorithm == Algorithm::ppo;
    const auto only_ppo = [&](bool given, std::string_view path) {
      if (given && !is_ppo) blame(path, "belongs to algo.name: ppo");
    };
    const auto not_ppo = [&](bool given, std::string_view path) {
      if (given && is_ppo) blame(path, "does not go with algo.name: ppo");
    };
    const PpoOptions standard;
    only_ppo(p.clip != standard.clip, "algo.clip");
    only_ppo(p.value_weight != standard.value_weight, "algo.value_weight");
    only_ppo(p.entropy != standard.entropy, "algo.entropy");
    only_ppo(!std::isnan(p.entropy_floor), "algo.entropy_floor");
    only_ppo(p.entropy_floor_weight != standard.entropy_floor_weight, "algo.entropy_floor_weight");
    only_ppo(p.advantages != standard.advantages, "algo.advantages");
    only_ppo(p.squash != standard.squash, "algo.squash");
    only_ppo(p.deviation != standard.deviation, "algo.deviation");
    only_ppo(p.log_deviation != standard.log_deviation, "algo.log_deviation");
    only_ppo(!p.part_weights.empty(), "algo.part_weights");
    only_ppo(p.target_kl > 0, "algo.target_kl");
    only_ppo(p.value_clip > 0, "algo.value_clip");
    only_ppo(spec_.net.separate, "net.separate");
    only_ppo(!spec_.net.value_from.empty(), "net.value_from");
    not_ppo(spec_.net.dueling, "net.dueling");
    not_ppo(spec_.net.noisy != Noisy::none, "net.noisy");
    not_ppo(q_.explore != Explore::epsilon_greedy, "algo.explore");
    not_ppo(q_.epsilon != constant(0), "algo.epsilon");
    not_ppo(q_.explore_steps > 1, "algo.explore_steps");
    not_ppo(q_.loss != Loss::mse, "algo.loss");
    if (is_ppo && p.advantages == Standardise::batch && q_.batch == 1) {
      blame("algo.advantages", "a batch of one has no spread: every advantage would be 0");
    }
    if (is_ppo && p.advantages == Standardise::episode && q_.rollout == 1) {
      blame("algo.advantages", "a rollout of one step has no spread: every advantage would be 0");
    }
    if (!spec_.net.value_from.empty() && spec_.net.branches.empty()) {
      blame("net.value_from", "needs net.branches; without them, net.separate is what you want");
    }
    if (spec_.net.graph.kind != GraphKind::none && spec_.net.separate) {
      blame("net.separate", "does not go with net.graph: one graph computes policy and values");
    }
    check_schedule("algo.clip", p.clip);
    check_schedule("algo.entropy", p.entropy);
  }

  void check_rollout() {
    const std::string_view name = kAlgorithmNames[static_cast<std::size_t>(spec_.algorithm)];
    const auto only_dqn = [&](bool given, std::string_view path) {
      if (given) {
        blame(path,
              fmt::format("belongs to algo.name: dqn; {} learns from its latest rollout alone, "
                          "without replay or target network",
                          name));
      }
    };
    only_dqn(q_.target_every != 0, "algo.target.every");
    only_dqn(q_.double_q, "algo.double");
    only_dqn(q_.munchausen > 0, "algo.munchausen");
    only_dqn(q_.n_step != 1, "algo.n_step");
    only_dqn(q_.head != HeadKind::scalar, "algo.head");
    only_dqn(q_.repeats != 1, "algo.repeats");
    only_dqn(q_.accumulate != 1, "algo.accumulate");
    only_dqn(q_.train_offset != 0, "algo.train_offset");
    only_dqn(q_.learning_starts != 0, "algo.learning_starts");
    only_dqn(q_.prioritised, "replay.prioritised");
    only_dqn(q_.newest, "replay.newest");
    only_dqn(q_.pipelined, "algo.pipelined");
    only_dqn(q_.truncation_ends, "algo.truncation_ends");

    const std::int64_t transitions = std::int64_t{q_.rollout} * spec_.envs;
    if (transitions > kMostDraws) {
      blame("algo.rollout", fmt::format("{} times env.count ({}) is more than {} transitions",
                                        q_.rollout, spec_.envs, kMostDraws));
    }
    if (transitions % q_.batch != 0) {
      blame("algo.batch",
            fmt::format("{} does not divide a rollout of {} transitions (algo.rollout "
                        "{} times env.count {})",
                        q_.batch, transitions, q_.rollout, spec_.envs));
    }
    if (q_.train_every != transitions) {
      blame("algo.train_every", fmt::format("{} is not a rollout of {} transitions; leave it out",
                                            q_.train_every, transitions));
    }
    const double updates = updates_per_step_of_rollouts(q_);
    if (q_.updates_per_step != updates) {
      blame("algo.updates_per_step",
            fmt::format("{} is not algo.epochs / algo.batch = {}; leave it out",
                        q_.updates_per_step, updates));
    }
  }

  void check_exploration() {
    const bool acts_greedily = q_.explore == Explore::epsilon_greedy && q_.epsilon == constant(0);
    const bool noisy = spec_.net.noisy != Noisy::none && spec_.net.noisy_sigma > 0;
    if (spec_.algorithm != Algorithm::ppo && acts_greedily && !noisy) {
      blame("algo.epsilon",
            "0, and no noisy layers: nothing would explore; give it a value above 0, or net.noisy");
    }
  }

  void check_schedule(std::string_view path, const Schedule& schedule) {
    if (schedule.kind == ScheduleKind::step && schedule.factor > 1) {
      blame(path, fmt::format("a factor of {} leaves the range sooner or later; allowed: 0 <= "
                              "factor <= 1",
                              schedule.factor));
    }
    if (schedule.kind == ScheduleKind::exponential && !(schedule.from > 0 && schedule.to > 0)) {
      blame(path, fmt::format("an exponential schedule from {} to {} is impossible; both ends must "
                              "be above 0",
                              schedule.from, schedule.to));
    }
    if (schedule.kind == ScheduleKind::step && schedule.to > schedule.from) {
      blame(path, fmt::format("a step schedule never falls below `to`, but begins at {}; allowed: "
                              "to <= {}, found {}",
                              schedule.from, schedule.from, schedule.to));
    }
  }

  const TrainSpec& spec_;
  const QOptions& q_;
  std::vector<Violation> found_;
};

}  // namespace

std::vector<Violation> spec_violations(const TrainSpec& spec) { return Checker(spec).run(); }

}  // namespace hotloop
