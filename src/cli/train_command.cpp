// hotloop train, hotloop resume: run, show progress, summarise.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <hotloop/error.hpp>

#include "cli/commands.hpp"
#include "cli/progress_bar.hpp"
#include "cli/stop_signal.hpp"
#include "env/registry.hpp"
#include "run/session.hpp"

namespace hotloop {
namespace {

void print_plan(const TrainSpec& spec, const std::string& run_dir) {
  const EnvEntry& env = find_env(spec.env);
  const Structure net = make_mlp(env.spec->obs, env.spec->actions, spec.net);
  const ReplayShape replay{.lanes = spec.envs,
                           .obs = env.spec->obs,
                           .actions = env.spec->actions,
                           .masks = env.make(1)->has_mask(),
                           .max_steps = env.spec->max_steps,
                           .capacity = spec.dqn.replay_capacity};
  const double bytes = Replay::bytes_per_transition(replay);
  fmt::print(
      stderr,
      "{} seed {}  {}\n  {} x {}, net {}\n"
      "  replay {} transitions x {:.1f} bytes = {:.1f} MiB, {} updates per env step, batch {}\n",
      spec.name, spec.run.seed, run_dir, spec.envs, spec.env, net.describe(),
      spec.dqn.replay_capacity, bytes,
      bytes * static_cast<double>(spec.dqn.replay_capacity) / 0x1p20, spec.dqn.updates_per_step,
      spec.dqn.batch);
}

void print_summary(const TrainResult& r) {
  if (r.interrupted) {
    fmt::print("stopped after {} env steps; everything is saved. Continue with:\n  hotloop resume {}\n",
               r.env_steps, r.run_dir);
    return;
  }
  if (r.solved) {
    fmt::print("solved after {} env steps in {:.2f} s: ", r.solved_env_steps, r.solved_seconds);
  }
  fmt::print("greedy return {:.1f} +- {:.1f}\n", r.eval_return_mean, r.eval_return_std);
  fmt::print("  {} env steps ({}/s), {} updates ({}/s), {} episodes, {:.2f} s on {} thread{}\n  {}\n",
             r.env_steps, short_number(static_cast<double>(r.env_steps) / r.wall_seconds), r.updates,
             short_number(static_cast<double>(r.updates) / r.wall_seconds), r.episodes,
             r.wall_seconds, r.threads, r.threads == 1 ? "" : "s", r.run_dir);
}

template <class Run>
bool run_and_report(bool json, bool quiet, Run&& run) {
  ProgressBar bar(!quiet && isatty(STDERR_FILENO) != 0);
  const SessionHooks hooks{.progress = [&](const Trainer& trainer,
                                           const RunRecord& record) { bar.show(trainer, record); },
                           .stop = &stop_requested()};
  const TrainResult result = run(hooks);
  bar.clear();
  if (json) {
    fmt::print("{}\n", to_json(result));
    if (result.interrupted)
      fmt::print(stderr, "stopped; continue with: hotloop resume {}\n", result.run_dir);
  } else {
    print_summary(result);
  }
  std::fflush(stdout);
  return !result.interrupted;
}

}  // namespace

int train_command(const TrainArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.seed) overrides.push_back(fmt::format("run.seed={}", *arguments.seed));
  if (arguments.steps) overrides.push_back(fmt::format("run.steps={}", *arguments.steps));
  TrainSpec spec = load_spec(arguments.spec, overrides);
  check_feasible(spec);  // a run that cannot be must not leave a folder behind
  const std::uint64_t first = spec.run.seed;
  for (int i = 0; i < arguments.seeds; ++i) {
    spec.run.seed = first + static_cast<std::uint64_t>(i);
    const bool finished =
        run_and_report(arguments.json, arguments.quiet, [&](const SessionHooks& hooks) {
          const std::string run_dir = make_run_folder(arguments.out, spec.name);
          if (!arguments.quiet && !arguments.json) print_plan(spec, run_dir);
          return start_run(spec, run_dir, hooks);
        });
    if (!finished) return 0;
  }
  return 0;
}

int resume_command(const ResumeArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.steps) overrides.push_back(fmt::format("run.steps={}", *arguments.steps));
  const TrainSpec spec = load_run_spec(arguments.run, overrides);
  run_and_report(arguments.json, arguments.quiet, [&](const SessionHooks& hooks) {
    return resume_run(spec, arguments.run, arguments.checkpoint, hooks);
  });
  return 0;
}

}  // namespace hotloop
