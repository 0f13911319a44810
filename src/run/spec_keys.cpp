#include "run/spec_keys.hpp"

#include <fmt/format.h>

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

std::vector<Key> spec_keys(TrainSpec& s) {
  DqnOptions& d = s.dqn;
  OptimiserOptions& o = s.optimiser;
  EvaluationOptions& e = s.evaluation;
  RunOptions& r = s.run;
  // clang-format off
  return {
      {"name", &s.name, {}, "name of the run's folder", "", "the file's name"},
      {"about", &s.about, {}, "one line for `hotloop list specs`"},

      {.path = "env.name", .field = &s.env, .range = {},
       .about = "environment (`hotloop list envs`)", .required = true},
      {"env.count", &s.envs, {1, 1'000'000}, "copies of the environment, stepped together"},

      {"algo.name", choice(s.algorithm, kAlgorithmNames), {}, "learning algorithm"},
      {"algo.gamma", &d.gamma, kShare, "discount of the next step's value"},
      {"algo.batch", &d.batch, {1, 65'536}, "transitions per update"},
      {"algo.loss", choice(d.loss, kLossNames), {}, "of the temporal-difference error"},
      {"algo.learning_starts", &d.learning_starts, {0, kMany},
       "env steps of pure collection first"},
      {"algo.updates_per_step", &d.updates_per_step, {0, 1'000, true},
       "gradient updates per env step from then on; a fraction left over by one round is carried "
       "to the next"},
      {"algo.train_every", &d.train_every, {1, 1e9},
       "env steps in a round, whose updates follow at once; a multiple of `env.count`", "",
       "`env.count`"},
      {"algo.target.every", &d.target_every, {1, kMany},
       "how often the target network follows the online one"},
      {"algo.target.count", choice(d.target_clock, kTargetClockNames), {},
       "what `every` counts: env steps or updates"},
      {"algo.target.blend", &d.target_blend, {0, 1, true},
       "share of the online network in the target: 1 is a hard copy, less a Polyak blend"},
      {"algo.epsilon", &d.epsilon, kShare, "probability of a random action"},

      {"replay.capacity", &d.replay_capacity, {1, 4'000'000'000},
       "transitions kept, all environments together; at least `algo.batch` and `env.count`, "
       "rounded down to a multiple of `env.count`"},

      {"net.hidden", &s.net.hidden, {1, 16'384}, "widths of the hidden layers"},
      {"net.activation", choice(s.net.activation, kActivationNames), {},
       "after every hidden layer; the output is linear"},
      {"net.init", choice(s.net.init, kInitialiserNames), {},
       "how weights start; biases start at zero, except with `pytorch`, which draws them like its "
       "weights"},

      {"optimiser.name", choice(o.kind, kOptimiserNames), {}, "how gradients become steps"},
      {"optimiser.learning_rate", &d.learning_rate, {0, 10}, "size of a step"},
      {"optimiser.clip_norm", &o.clip_norm, {0, 1e30},
       "global gradient norm above which gradients are scaled down; 0 = off"},
      {"optimiser.beta1", &o.beta1, kDecay, "adam, adamw: decay of the first moment"},
      {"optimiser.beta2", &o.beta2, kDecay, "adam, adamw: decay of the second moment"},
      {"optimiser.decay", &o.decay, kDecay, "rmsprop: decay of the squared gradient"},
      {"optimiser.momentum", &o.momentum, kDecay, "sgd, rmsprop"},
      {"optimiser.epsilon", &o.epsilon, {0, 1, true}, "added to the root of the second moment"},
      {"optimiser.weight_decay", &o.weight_decay, {0, 1e6},
       "adamw: decoupled; others: added to the gradient"},

      {"evaluation.every", &e.every, {0, kMany},
       "env steps between greedy evaluations; 0 = only at the end"},
      {"evaluation.episodes", &e.episodes, {1, 1'000'000}, "episodes of an evaluation"},
      {"evaluation.max_steps", &e.max_steps, {1, kMany},
       "an evaluation counts an episode that is longer as it is then"},
      {"evaluation.threshold", &e.threshold, {},
       "mean return that counts as solved; `env` = the environment's own", "env"},
      {"evaluation.stop_when_solved", &e.stop_when_solved, {},
       "end the run at the first evaluation that reaches the threshold"},

      {"run.steps", &r.steps, {1, kMany}, "env steps, all environments together"},
      {"run.threads", &r.threads, {1, 256}, "threads; the result does not depend on it"},
      {"run.seed", &r.seed, {}, "of every random stream"},
      {"run.checkpoint_seconds", &r.checkpoint_seconds, {0, 1e9},
       "seconds between checkpoints; 0 = after every round"},
      {"run.log_every", &r.log_every, {1, kMany}, "env steps between lines of `metrics.jsonl`"},
  };
  // clang-format on
}

std::vector<Violation> spec_violations(const TrainSpec& s) {
  std::vector<Violation> found;
  const DqnOptions& d = s.dqn;
  const auto blame = [&](std::string_view path, std::string text) {
    found.push_back({path, std::move(text)});
  };
  if (s.name.empty() || s.name.find('/') != std::string::npos || s.name.starts_with('.')) {
    blame("name", fmt::format("\"{}\" cannot name a folder", s.name));
  }
  if (d.train_every % s.envs != 0) {
    blame("algo.train_every",
          fmt::format("{} is not a multiple of env.count ({}); nearest: {}", d.train_every, s.envs,
                      (d.train_every / s.envs + 1) * s.envs));
  }
  if (d.replay_capacity < s.envs) {
    blame("replay.capacity",
          fmt::format("{} is less than env.count ({})", d.replay_capacity, s.envs));
  } else if (const std::int64_t usable = d.replay_capacity / s.envs * s.envs; usable < d.batch) {
    blame("replay.capacity",
          fmt::format("{}{} is less than algo.batch ({})", usable,
                      usable < d.replay_capacity ? " (rounded down)" : "", d.batch));
  }
  if (d.learning_starts > s.run.steps) {
    blame("algo.learning_starts",
          fmt::format("{} is more than run.steps ({}): the run would never learn",
                      d.learning_starts, s.run.steps));
  }
  if (s.evaluation.stop_when_solved && s.evaluation.every == 0) {
    blame("evaluation.stop_when_solved",
          "needs evaluation.every above 0: nothing is evaluated before the end");
  }
  const auto check_schedule = [&](std::string_view path, const Schedule& schedule) {
    if (schedule.kind == ScheduleKind::exponential && !(schedule.from > 0 && schedule.to > 0)) {
      blame(path, fmt::format("an exponential schedule from {} to {} is impossible; both ends must "
                              "be above 0",
                              schedule.from, schedule.to));
    }
  };
  check_schedule("algo.epsilon", d.epsilon);
  check_schedule("optimiser.learning_rate", d.learning_rate);
  return found;
}

}  // namespace hotloop
