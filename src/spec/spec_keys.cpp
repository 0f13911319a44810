#include "spec/spec_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hotloop {
namespace {

// Steps are counted in 64 bits and converted to double: up to here both are exact.
constexpr double kMany = 1e15;
constexpr Range kShare = {0, 1};
constexpr Range kDecay = {.low = 0, .high = 1, .open_high = true};

std::string end_text(double x) { return x < 1e9 ? fmt::format("{}", x) : fmt::format("{:g}", x); }

}  // namespace

std::string Range::text(std::string_view name) const {
  std::string result(name);
  if (low > -std::numeric_limits<double>::infinity()) {
    result = fmt::format("{} {} {}", end_text(low), open_low ? "<" : "<=", result);
  }
  if (high < std::numeric_limits<double>::infinity()) {
    result += fmt::format(" {} {}", open_high ? "<" : "<=", end_text(high));
  }
  return result == name ? "any finite number" : result;
}

std::string key_elsewhere(std::span<const Key> keys, std::string_view leaf) {
  static constexpr std::pair<std::string_view, std::string_view> kForeign[] = {
      {"lr", "optimiser.learning_rate"}, {"tau", "algo.target.blend"},
      {"polyak", "algo.target.blend"},   {"buffer_size", "replay.capacity"},
      {"num_envs", "env.count"},         {"n_envs", "env.count"},
      {"total_timesteps", "run.steps"},  {"max_grad_norm", "optimiser.clip_norm"}};
  for (const auto& [name, path] : kForeign) {
    if (name == leaf) return std::string(path);
  }
  std::string joined;
  for (const Key& key : keys) {
    if (key.leaf() == leaf) return std::string(key.path);
    if (leaf.find('_') == std::string_view::npos) continue;
    std::string flat(key.path);
    std::replace(flat.begin(), flat.end(), '.', '_');
    if (flat.ends_with(fmt::format("_{}", leaf))) joined = key.path;
  }
  return joined;
}

bool schedule_has(ScheduleKind kind, std::string_view key) {
  const bool is_step = kind == ScheduleKind::step;
  if (key == "to") return kind != ScheduleKind::linear_to_zero;
  if (key == "over") return !is_step;
  if (key == "factor" || key == "every") return is_step;
  return true;  // kind, from, after, count
}

std::vector<Key> spec_keys(TrainSpec& s) {
  QOptions& q = s.q;
  PpoOptions& p = s.ppo;
  OptimiserOptions& o = s.optimiser;
  EvaluationOptions& e = s.evaluation;
  RunOptions& r = s.run;
  GraphOptions& g = s.net.graph;
  // clang-format off
  return {
      {"name", &s.name, {}, "name of the run's folder", "", "the file's name"},
      {"about", &s.about, {}, "one line for `hotloop list specs`"},

      {.path = "env.name", .field = &s.env, .range = {},
       .about = "environment (`hotloop list envs`)", .required = true},
      {"env.count", &s.envs, {1, 1'000'000}, "copies of the environment, stepped together"},
      {"env.options", &s.env_options, {},
       "options of the environment by name (`hotloop list options`)"},

      {"algo.name", choice(s.algorithm, kAlgorithmNames), {},
       "dqn learns from a replay memory; pqn and sarsa from the latest rollout, without target network; "
       "ppo likewise, a policy and values, also for actions in a box"},
      {"algo.gamma", &q.gamma, kShare, "discount of the next step's value"},
      {"algo.loss", choice(q.loss, kLossNames), {},
       "of the temporal-difference error; huber bends at 1. The heads c51 and quantile have their own; "
       "ppo's values have mse", "", "`huber`, ppo `mse`"},
      {"algo.batch", &q.batch, {1, 65'536}, "transitions per gradient"},
      {.path = "algo.learning_starts", .field = &q.learning_starts, .range = {0, kMany},
       .about = "env steps of pure collection first; 0 for pqn, sarsa and ppo",
       .default_text = "`1000`, on-policy `0`"},
      {.path = "algo.updates_per_step", .field = &q.updates_per_step, .range = {0, 1'000, true},
       .about = "gradient updates per env step from then on; a fraction left over by one round is "
       "carried to the next. For pqn, sarsa and ppo it follows: `algo.epochs` / `algo.batch`",
       .default_text = "`1`, on-policy epochs / batch"},
      {"algo.train_every", &q.train_every, {1, 1e9},
       "env steps in a round, whose updates follow at once; a multiple of `env.count`. For pqn, "
       "sarsa and ppo it follows: `algo.rollout` times `env.count`", "", "`env.count`, on-policy a rollout"},
      {"algo.train_offset", &q.train_offset, {0, 1e9},
       "rounds end this many env steps after the multiples of `train_every`"},
      {"algo.repeats", &q.repeats, {1, 10'000},
       "dqn: updates in a row on each drawn batch; the updates of a round must be a multiple of it"},
      {"algo.accumulate", &q.accumulate, {1, 1'024},
       "dqn: batches whose mean gradient makes one update, as one larger batch would"},
      {"algo.pipelined", &q.pipelined, {},
       "dqn: the updates of a round are made while the next one is collected by the parameters from "
       "before them; at the same time if `run.threads` is 2 or more, with the same result if not"},

      {"algo.double", &q.double_q, {}, "dqn: the online network chooses the action that the target "
       "network values (van Hasselt et al. 2016)"},
      {"algo.n_step", &q.n_step, {1, 1'000},
       "dqn: rewards summed before bootstrapping; never across an episode's end"},
      {"algo.head", choice(q.head, kHeadNames), {},
       "dqn: what is learnt of an action: its value, a distribution over fixed returns (Bellemare et "
       "al. 2017) or quantiles of the return (Dabney et al. 2018)"},
      {"algo.atoms", &q.atoms, {2, 1'000}, "c51, quantile: outputs per action"},
      {"algo.v_min", &q.v_min, {-1e30, 1e30},
       "c51: the smallest return, in the units of normalised rewards if these are on"},
      {"algo.v_max", &q.v_max, {-1e30, 1e30}, "c51: the largest return, likewise"},
      {.path = "algo.target.every", .field = &q.target_every, .range = {0, kMany},
       .about = "how often the target network follows the online one; 0 = there is none",
       .default_text = "`500`, on-policy `0`"},
      {"algo.target.count", choice(q.target_count, kCountNames), {},
       "what `every` counts: env steps, updates or finished episodes"},
      {"algo.target.blend", &q.target_blend, {0, 1, true},
       "share of the online network in the target: 1 is a hard copy, less a Polyak blend"},

      {"algo.munchausen", &q.munchausen, kShare,
       "dqn: this times the scaled log-policy is added to rewards, and next states are valued by the soft "
       "policy (Vieillard et al. 2020, who have 0.9); 0 = off"},
      {"algo.munchausen_temperature", &q.munchausen_temperature, {0, 1e6, true},
       "munchausen: the policy is softmax(Q / this)"},
      {"algo.munchausen_clip", &q.munchausen_clip, {-1e6, 0},
       "munchausen: the scaled log-policy counts as no less than this"},

      {"algo.truncation_ends", &q.truncation_ends, {},
       "dqn: learn from an episode cut by its time limit as if it had ended there; biased, and common"},

      {"algo.explore", choice(q.explore, kExploreNames), {},
       "random actions now and then, or all by softmax(Q / temperature); a draw per environment"},
      {.path = "algo.epsilon", .field = &q.epsilon, .range = kShare,
       .about = "epsilon_greedy: probability of a random action; with noisy layers 0 unless given; not of "
       "ppo",
       .default_text = "`{kind: linear, from: 1, to: 0.05, over: 10000}`"},
      {"algo.explore_steps", &q.explore_steps, {1, 1'000'000},
       "epsilon_greedy: vector steps for which an environment that explores keeps its random action; more "
       "than one gets further where a goal needs the same action many times (Dabney et al. 2021)"},
      {"algo.temperature", &q.temperature, {0, 1e9, true}, "boltzmann: flattens the choice"},

      {"algo.rollout", &q.rollout, {1, 1'000'000}, "pqn, sarsa, ppo: vector steps in a round", "",
       "`32`, ppo `128`"},
      {"algo.epochs", &q.epochs, {1, 1'000},
       "pqn, sarsa, ppo: passes over a rollout, in batches; for ppo 1, in one batch, is A2C", "",
       "`2`, ppo `4`"},
      {"algo.lambda", &q.lambda, kShare,
       "pqn, sarsa, ppo: 0 = one-step returns, 1 = as long as the rollout",
       "", "`0.65`, sarsa `0`, ppo `0.95`"},

      {"algo.clip", &p.clip, {0, 1e9, true},
       "ppo: the ratio of new to old probability counts between 1 - clip and 1 + clip"},
      {"algo.value_clip", &p.value_clip, {0, 1e30},
       "ppo: a value counts within this of the one it had when it acted; 0 = off"},
      {"algo.value_weight", &p.value_weight, {0, 1e6}, "ppo: weight of the mean squared error of values"},
      {"algo.part_weights", &p.part_weights, {0, 1e6},
       "ppo: a value for each part of the reward that the environment tells apart, and the weight of "
       "its loss beside that of the whole; none = the whole only"},
      {"algo.entropy", &p.entropy, {0, 1e6}, "ppo: weight of the policy's entropy"},
      {"algo.entropy_floor", &p.entropy_floor, {},
       "ppo: entropy below which it is pulled up; `none` = nowhere", "none"},
      {"algo.entropy_floor_weight", &p.entropy_floor_weight, {0, 1e6},
       "ppo: weight of what is missing to the floor"},
      {"algo.target_kl", &p.target_kl, {0, 1e6},
       "ppo: an epoch whose mean divergence from the policy that acted exceeds this is the last of its "
       "rollout; 0 = off"},
      {"algo.advantages", choice(p.advantages, kStandardiseNames), {},
       "ppo: over what advantages are brought to mean 0 and deviation 1"},
      {"algo.squash", choice(p.squash, kSquashNames), {},
       "ppo, boxes: how raw numbers become actions within their bounds: smooth = tanh where the bounds "
       "are symmetric, else logistic; clip = cut off"},
      {"algo.deviation", choice(p.deviation, kDeviationNames), {},
       "ppo, boxes: log deviations are free parameters, or come from the network"},
      {"algo.log_deviation", &p.log_deviation, {-10, 5}, "ppo, boxes: where free ones start"},

      {"algo.normalise.obs", &q.normalise_obs, {},
       "observations minus their running mean, by their deviation, within 10"},
      {"algo.normalise.rewards", &q.normalise_rewards, {},
       "rewards by the running deviation of the discounted return", "", "`false`, ppo `true`"},

      {"replay.capacity", &q.replay_capacity, {1, 4'000'000'000},
       "transitions kept, all environments together; at least `env.count` and `algo.batch` times "
       "`algo.accumulate`, "
       "rounded down to a multiple of `env.count`"},
      {"replay.newest", &q.newest, {},
       "the newest transition of every environment is in every draw, at its end (Zhang & Sutton 2017)"},
      {"replay.prioritised", &q.prioritised, {},
       "draws in proportion to priority, with importance weights (Schaul et al. 2016)"},
      {"replay.alpha", &q.priority_alpha, kShare, "priority = (size of the error + epsilon) ^ alpha"},
      {"replay.epsilon", &q.priority_epsilon, {0, 1e6, true}, "see alpha"},
      {"replay.beta", &q.beta, kShare,
       "importance weight = (size * probability) ^ -beta, by the largest of the batch"},

      {"net.branches", &s.net.branches, {},
       "named branches from parts of the observation (`hotloop list envs`) to one vector that takes the "
       "place of the observation: see [networks](networks.md)"},
      {"net.channels", &s.net.channels, {1, 1'024},
       "widths of 3x3 convolutions before the hidden layers; for environments whose observation is a "
       "grid"},
      {"net.hidden", &s.net.hidden, {1, 16'384}, "widths of the hidden layers"},
      {"net.activation", choice(s.net.activation, kActivationNames), {},
       "after every hidden layer; the output is linear", "", "`relu`, ppo `tanh`"},
      {"net.init", choice(s.net.init, kInitialiserNames), {},
       "how weights start; biases start at zero, except with `pytorch` and `small_world` (for graphs "
       "only), which draw them like their weights. Noisy layers start as their paper says; a "
       "graph has `he` for `orthogonal`", "", "`pytorch`, ppo `orthogonal`"},
      {"net.layer_norm", &s.net.layer_norm, {},
       "normalise every hidden layer before its activation; not the convolutions", "",
       "`false`, pqn `true`"},
      {"net.dueling", &s.net.dueling, {},
       "Q = V + A - mean A from the last hidden layer (Wang et al. 2016)"},
      {"net.dueling_hidden", &s.net.dueling_hidden, {1, 16'384},
       "dueling: widths of further hidden layers that V has to itself, and A likewise; not with "
       "`net.layer_norm`"},
      {"net.noisy", choice(s.net.noisy, kNoisyNames), {},
       "layers that explore by noise of learnt size (Fortunato et al. 2018): all dense ones, or the "
       "head, which is the last of them (with `net.dueling_hidden` the last of V and of A)"},
      {"net.noisy_sigma", &s.net.noisy_sigma, {0, 100},
       "the deviations of the noise start at this, divided by sqrt(inputs)"},

      {"net.separate", &s.net.separate, {}, "ppo: values have hidden layers of their own"},
      {"net.value_from", &s.net.value_from, {},
       "ppo: the branch that values read, while the policy reads the last; empty = both the last"},
      {"net.policy_gain", &s.net.policy_gain, {0, 1e6},
       "ppo: the policy's last layer starts at this times what `net.init` says; not of graphs"},

      {"net.graph.kind", choice(g.kind, kGraphNames), {},
       "a graph of neurons instead of hidden layers; `none` = layers"},
      {"net.graph.hidden", &g.hidden, {1, 16'384}, "its hidden neurons, one number; dense: one per layer"},
      {"net.graph.degree", &g.degree, {2, 16'384},
       "small_world and its like: k, edges per hidden neuron, and neurons that each input and output "
       "has to do with"},
      {"net.graph.rewire", &g.rewire, kShare,
       "small_world: share of edges moved at random; modular: share between modules"},
      {"net.graph.modules", &g.modules, {1, 1'024}, "modular: how many"},
      {"net.graph.seed", &g.seed, {}, "of the graph, and of `net.init: small_world`"},
      {"net.graph.file", &g.file, {},
       "a graph to read (.edges, .txt, .json, .graphml); the resolved spec holds its edges instead"},
      {"net.graph.edges", &g.edges, {}, "kind edges: `I H O: 0>2 1>2 2>3`, every edge once"},
      {"net.graph.activate_outputs", &g.activate_outputs, {}, "the activation follows outputs too"},
      {"net.graph.train_biases", &g.train_biases, {}, "or biases stay as they start"},

      {"optimiser.name", choice(o.kind, kOptimiserNames), {}, "how gradients become steps"},
      {"optimiser.learning_rate", &q.learning_rate, {0, 10}, "size of a step"},
      {"optimiser.clip_norm", &o.clip_norm, {0, 1e30},
       "global gradient norm above which gradients are scaled down; 0 = off", "", "`0`, ppo `0.5`"},
      {"optimiser.beta1", &o.beta1, kDecay, "adam, adamw: decay of the first moment"},
      {"optimiser.beta2", &o.beta2, kDecay, "adam, adamw: decay of the second moment"},
      {"optimiser.decay", &o.decay, kDecay, "rmsprop: decay of the squared gradient"},
      {"optimiser.momentum", &o.momentum, kDecay, "sgd, rmsprop"},
      {"optimiser.epsilon", &o.epsilon, {0, 1, true}, "added to the root of the second moment"},
      {"optimiser.weight_decay", &o.weight_decay, {0, 1e6},
       "adamw: decoupled; others: added to the gradient", "", "`0`, adamw `0.01`"},

      {"evaluation.every", &e.every, {0, kMany},
       "env steps between greedy evaluations; 0 = only at the end"},
      {"evaluation.episodes", &e.episodes, {1, 1'000'000}, "episodes of an evaluation"},
      {"evaluation.max_steps", &e.max_steps, {1, kMany},
       "an evaluation counts an episode that is longer as it is then"},
      {"evaluation.threshold", &e.threshold, {},
       "mean return that counts as solved; `env` = the environment's own", "env"},
      {"evaluation.stop_when_solved", &e.stop_when_solved, {},
       "end the run at the first evaluation that reaches the threshold"},

      {"evaluation.best", &e.best, {},
       "what model-best has most of: a sum of the return and measures, such as "
       "`1000 success + 100 progress + return`"},
      {"evaluation.gain", &e.gain, {0, 1e6},
       "by what share of its score a new best must be better than the old"},

      {.path = "run.steps", .field = &r.steps, .range = {1, kMany},
       .about = "env steps, all environments together",
       .default_text = "`50000`, with `run.episodes` no limit"},
      {"run.episodes", &r.episodes, {0, kMany},
       "ends the run after the round in which so many episodes have ended; 0 = does not"},
      {"run.threads", &r.threads, {1, 256}, "threads; the result does not depend on it"},
      {"run.seed", &r.seed, {}, "of every random stream"},
      {"run.checkpoint_seconds", &r.checkpoint_seconds, {0, 1e9},
       "seconds between checkpoints; 0 = after every round"},
      {"run.snapshot_every", &r.snapshot_every, {0, kMany},
       "episodes between models kept in `snapshots/`, the first after episode 1; 0 = none"},
      {"run.log_every", &r.log_every, {1, kMany}, "env steps between lines of `metrics.jsonl`"},
      {"run.episode_log", &r.episode_log, {}, "a line in `episodes.jsonl` for every episode"},
  };
  // clang-format on
}

}  // namespace hotloop
