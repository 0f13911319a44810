#include "algo/common/replay_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/system.hpp"
#include "core/text.hpp"
#include "memory/staged_steps.hpp"

namespace hotloop {

Keys replay_keys(ReplayOptions& r, AgentSpec& spec) {
  const auto prioritised = [&r] { return r.prioritised; };
  constexpr std::string_view kUniform = "replay.prioritised is false";
  return {
      {"replay.capacity",
       &r.capacity,
       {1, kMaxReplayCapacity},
       "transitions stored, over all environments; at least `env.count` and those of one update, "
       "rounded down to a multiple of `env.count`"},
      {"replay.newest",
       &r.newest,
       {},
       "combined experience replay: every draw includes the newest transition of every "
       "environment, at its end (Zhang & Sutton 2017)"},
      {"replay.prioritised",
       &r.prioritised,
       {},
       "sample in proportion to priority, with importance weights (Schaul et al. 2016)"},
      Key{"replay.alpha", &r.alpha, kShare,
          "priority = (error + epsilon) ^ alpha; the error is the absolute TD error, or the loss "
          "of a c51 or quantile head"}
          .only_if(prioritised, kUniform),
      Key{"replay.epsilon",
          &r.epsilon,
          {0, 1e6, true},
          "added to the error before `alpha` is applied"}
          .only_if(prioritised, kUniform),
      Key{"replay.beta", &r.beta, kShare,
          "importance weight = (size * probability) ^ -beta, divided by the largest in the batch"}
          .only_if(prioritised, kUniform),
      {"replay.demonstrations",
       &spec.learn.demonstrations,
       {},
       "file of transitions that are in the replay before training (`hotloop eval --record`): see "
       "[algorithms](algorithms.md#demonstrations)"},
      Key{"replay.demonstrations_hash",
          &spec.learn.demonstrations_hash,
          {},
          "hash of their content; the resolved spec has it, and a file with another is refused"}
          .only_if([&spec] { return !spec.learn.demonstrations.empty(); },
                   "there are no replay.demonstrations"),
  };
}

Keys replay_learning_keys(AgentSpec& spec) {
  LearningOptions& l = spec.learn;
  return {
      {"algo.learning_starts",
       &l.learning_starts,
       {0, kMaxSteps},
       "env steps without updates at the beginning, as in Stable-Baselines3: the first round that "
       "ends "
       "after more steps than this is the first to be followed by updates"},
      {"algo.updates_per_step",
       &l.updates_per_step,
       {0, 1'000, true},
       "gradient updates per env step after that; a fraction is carried over to the next round"},
      Key{"algo.train_every",
          &l.train_every,
          {1, 1e9},
          "env steps in a round, followed by its updates; a multiple of `env.count`"}
          .by_default("`env.count`", [&spec] { spec.learn.train_every = spec.envs; }),
      {"algo.train_offset",
       &l.train_offset,
       {0, 1e9},
       "shifts the end of each round: this many env steps after a multiple of `train_every`"},
      {"algo.pipelined",
       &l.pipelined,
       {},
       "learn from a round while the next one is collected with the parameters from before these "
       "updates; in parallel if `run.threads` is 2 or more, with the same result otherwise"},
  };
}

Key accumulate_key(LearningOptions& l) {
  return {"algo.accumulate",
          &l.accumulate,
          {1, 1'024},
          "batches per update: their gradients are averaged, as for one larger batch"};
}

void check_replay(const ReplayOptions& r, int n_step, const AgentSpec& spec,
                  Violations& violations) {
  const LearningOptions& l = spec.learn;
  const int envs = spec.envs;
  if (l.train_every % envs != 0) {
    violations.blame(
        "algo.train_every",
        fmt::format("{} is not a multiple of env.count ({}); nearest: {}", l.train_every, envs,
                    std::max<std::int64_t>(1, (l.train_every + envs / 2) / envs) * envs));
  }
  if (l.train_offset >= l.train_every || l.train_offset % envs != 0) {
    violations.blame("algo.train_offset",
                     fmt::format("{} is not allowed; it must be a multiple of env.count ({}) below "
                                 "algo.train_every ({})",
                                 l.train_offset, envs, l.train_every));
  }
  const std::int64_t draw = std::int64_t{l.batch} * l.accumulate;
  if (draw > kMaxDraws) {
    violations.blame("algo.accumulate",
                     fmt::format("{} times algo.batch ({}) is more than {} transitions",
                                 l.accumulate, l.batch, kMaxDraws));
  }
  if (l.pipelined && l.train_every > kMaxDraws) {
    violations.blame("algo.train_every",
                     fmt::format("{} is too long; a pipelined round has at most {} env steps",
                                 l.train_every, kMaxDraws));
  }
  if (r.newest && envs >= draw) {
    violations.blame(
        "replay.newest",
        fmt::format("env.count ({}) leaves no room for older transitions in a batch of {}; "
                    "allowed: fewer environments than the batch",
                    envs, draw));
  }
  if (n_step > 1 && l.gamma == 0) {
    violations.blame("algo.n_step",
                     fmt::format("{} steps, but with algo.gamma 0 only the reward of the first "
                                 "would count",
                                 n_step));
  }
  if (const std::int64_t kept = r.capacity / envs; n_step > kept && kept > 0) {
    violations.blame("algo.n_step",
                     fmt::format("{} is more than the steps per environment in replay.capacity ({} "
                                 "/ {} = {} steps)",
                                 n_step, r.capacity, envs, kept));
  }
  if (r.capacity < envs) {
    violations.blame("replay.capacity",
                     fmt::format("{} is less than env.count ({})", r.capacity, envs));
  } else if (const std::int64_t usable = r.capacity / envs * envs; usable < draw) {
    violations.blame(
        "replay.capacity",
        fmt::format(
            "{}{} is less than algo.batch ({}){}", usable,
            usable < r.capacity ? " (rounded down)" : "", l.batch,
            l.accumulate > 1 ? fmt::format(" times algo.accumulate ({})", l.accumulate) : ""));
  }
  violations.check_schedule("replay.beta", r.beta);
}

ReplayShape replay_shape(const ReplayOptions& r, int n_step, bool truncation_ends,
                         const AgentSpec& spec, const WorldFacts& world) {
  return {.lanes = spec.envs,
          .obs = world.spec.obs,
          .actions = world.spec.actions,
          .action_size = world.spec.action_size,
          .masks = world.masks,
          .max_steps = truncation_ends ? 0 : world.steps_between_truncations,
          .demonstrations = !spec.learn.demonstrations.empty(),
          .capacity = r.capacity,
          .steps = n_step,
          .gamma = spec.learn.gamma,
          .newest = r.newest,
          .prioritised = r.prioritised,
          .alpha = r.alpha,
          .priority_epsilon = r.epsilon};
}

double replay_bytes(const ReplayShape& shape, const AgentSpec& spec) {
  const double staged = spec.learn.pipelined
                            ? StagedSteps::bytes_per_transition(
                                  shape.obs, shape.masks ? shape.actions : 0, shape.action_size)
                            : 0;
  return Replay::bytes_per_transition(shape) * static_cast<double>(shape.capacity) +
         staged * static_cast<double>(spec.learn.train_every);
}

std::vector<Proposal> replay_remedies(const ReplayOptions& r, const AgentSpec& spec,
                                      const PhaseShare& share) {
  const LearningOptions& l = spec.learn;
  const std::vector<std::string> learning = {"learn", "memory/draw", "memory/gather"};
  std::vector<Proposal> all;
  all.push_back({"a quarter of the updates",
                 {fmt::format("algo.updates_per_step={}", l.updates_per_step / 4)},
                 learning});
  if (l.batch >= 2) {
    all.push_back({"half the batch", {fmt::format("algo.batch={}", l.batch / 2)}, learning});
  }
  all.push_back({"twice the batch, half the updates",
                 {fmt::format("algo.batch={}", 2 * l.batch),
                  fmt::format("algo.updates_per_step={}", l.updates_per_step / 2)},
                 learning});
  all.push_back({"rounds four times as long, updates drawn together",
                 {fmt::format("algo.train_every={}", 4 * l.train_every)},
                 {"memory/draw", "memory/gather"}});
  if (r.prioritised) {
    all.push_back({"uniform replay", {"replay.prioritised=false"}, {"memory/draw"}});
  }
  if (!l.pipelined && usable_cores() > 1) {
    // With a free core, the shorter of the two takes no time.
    const double learn = share("learn", "") + share("memory", "draw") + share("memory", "gather");
    const bool collects_less = share("act", "") + share("env", "") + share("python", "") < learn;
    all.push_back({"collect on another core while learning",
                   {"algo.pipelined=true", "run.threads=2"},
                   collects_less ? std::vector<std::string>{"act", "env", "python"} : learning});
  }
  return all;
}

std::vector<std::string> rounds_with_envs(const AgentSpec& spec, int envs) {
  const std::int64_t rounds = (spec.learn.train_every + envs - 1) / envs;
  return {fmt::format("algo.train_every={}", rounds * envs)};
}

std::string describe_replay(const ReplayShape& shape) {
  const double bytes = Replay::bytes_per_transition(shape);
  return fmt::format("replay {} transitions x {:.1f} bytes = {:.1f} MiB", shape.capacity, bytes,
                     bytes * static_cast<double>(shape.capacity) / 0x1p20);
}

std::string replay_too_large(const ReplayShape& shape, double bytes, double other,
                             double available) {
  const double each = Replay::bytes_per_transition(shape);
  return fmt::format(
      "replay.capacity: {} transitions of {:.1f} bytes need {}, but this "
      "process has only {} of memory; "
      "at most {} fit",
      shape.capacity, each, size_text(bytes), size_text(available),
      static_cast<std::int64_t>(std::max(0.0, kMaxShareOfMemory * available - other) / each));
}

}  // namespace hotloop
