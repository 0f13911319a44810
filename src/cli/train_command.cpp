// hotloop train, hotloop resume: run, show progress, summarise.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <hotloop/error.hpp>

#include "cli/commands.hpp"
#include "cli/kept_output.hpp"
#include "cli/last_words.hpp"
#include "cli/progress_bar.hpp"
#include "core/stop_signal.hpp"
#include "core/system.hpp"
#include "core/text.hpp"
#include "run/session.hpp"

namespace hotloop {
namespace {

void print_plan(const TrainSpec& spec, const std::string& run_dir) {
  std::string memory =
      fmt::format("rollouts of {} x {}, {} epochs", spec.q.rollout, spec.envs, spec.q.epochs);
  if (spec.algorithm == Algorithm::dqn) {
    const double bytes = Replay::bytes_per_transition(replay_shape(spec));
    memory =
        fmt::format("replay {} transitions x {:.1f} bytes = {:.1f} MiB", spec.q.replay_capacity,
                    bytes, bytes * static_cast<double>(spec.q.replay_capacity) / 0x1p20);
  }
  fmt::print(
      stderr,
      "{} seed {}  {}\n  {} x {}, {}\n  net {}\n  {}, {:.4g} updates per env step, batch {}\n",
      spec.name, spec.run.seed, run_dir, spec.envs, spec.env, describe_algorithm(spec),
      network_structure(spec).describe(), memory, spec.q.updates_per_step, spec.q.batch);
}

void print_summary(const TrainResult& r) {
  if (r.interrupted) {
    fmt::print(
        "stopped after {} env steps; everything is saved. Continue with:\n  hotloop resume {}\n",
        r.env_steps, r.run_dir);
    return;
  }
  if (r.solved) {
    fmt::print("solved after {} env steps in {:.2f} s{}", r.solved_env_steps, r.solved_seconds,
               r.solved_env_steps == r.env_steps ? ": " : "; at the end ");
  }
  fmt::print("greedy return {}\n", return_text(r.eval_return_mean, r.eval_return_std));
  fmt::print("  {} env steps ({}/s), {} updates ({}/s), {} per env step, {} episodes\n",
             r.env_steps, short_number(static_cast<double>(r.env_steps) / r.wall_seconds),
             r.updates, short_number(static_cast<double>(r.updates) / r.wall_seconds),
             r.updates_per_step, r.episodes);
  if (std::isfinite(r.score_last100)) {
    fmt::print("  score {} greedy, {} in the last 100 episodes, at most {:.{}g}\n",
               return_text(r.score_greedy), return_text(r.score_last100), r.score_max,
               r.score_max < 10 ? 4 : 15);
  }
  for (const std::string& warning : r.warnings) fmt::print("  warning: {}\n", warning);
  std::string time;
  for (const auto& [phase, share] : r.time) {
    const bool always = phase == "act" || phase == "learn";
    if (!always && share < 0.005) continue;
    time += fmt::format("{} {} {:.1f} %", time.empty() ? "" : ",", phase, 100 * share);
  }
  fmt::print("  time:{}\n", time);
  fmt::print("  {:.2f} s on {} thread{} of {}\n  {}\n", r.wall_seconds, r.threads,
             r.threads == 1 ? "" : "s", r.cpu, r.run_dir);
}

template <class Run>
TrainResult run_and_report(const std::string& env, bool json, bool quiet, Run&& run) {
  ProgressBar bar(!quiet && isatty(STDERR_FILENO) != 0);
  const SessionHooks hooks{.progress = [&](const Trainer& trainer,
                                           const RunRecord& record) { bar.show(trainer, record); },
                           .warning =
                               [&](const std::string& text) {
                                 bar.clear();
                                 if (!quiet) fmt::print(stderr, "warning: {}\n", text);
                               },
                           .stop = &stop_requested()};
  const TrainResult result = [&] {
    const KeptOutput kept;
    const LastWords words(env);
    return run(hooks);
  }();
  bar.clear();
  if (json) {
    fmt::print("{}\n", to_json(result));
    if (result.interrupted) {
      fmt::print(stderr, "stopped; continue with: hotloop resume {}\n", result.run_dir);
    }
  } else {
    print_summary(result);
  }
  if (std::fflush(stdout) != 0) throw RunError("cannot write to standard output");
  return result;
}

}  // namespace

int train_command(const TrainArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.seed) overrides.push_back(fmt::format("run.seed={}", *arguments.seed));
  if (arguments.steps) overrides.push_back(fmt::format("run.steps={}", *arguments.steps));
  TrainSpec spec = load_spec_or_world(arguments.spec, arguments.algorithm, overrides);
  check_feasible(spec);  // a run that cannot be must not leave a folder behind
  const double threshold = solved_threshold(spec);
  const std::uint64_t first = spec.run.seed;
  int reached = 0;
  for (int i = 0; i < arguments.seeds; ++i) {
    spec.run.seed = first + static_cast<std::uint64_t>(i);
    const auto run = [&](const SessionHooks& hooks) {
      const std::string run_dir = make_run_folder(arguments.out, spec.name);
      if (!arguments.quiet) print_plan(spec, run_dir);
      return start_run(spec, run_dir, hooks);
    };
    const TrainResult result = run_and_report(spec.env, arguments.json, arguments.quiet, run);
    if (result.interrupted) {
      if (const int left = arguments.seeds - i - 1; left > 0)
        fmt::print(stderr, "not begun: seed{} {} to {}\n", left == 1 ? "" : "s", spec.run.seed + 1,
                   first + static_cast<std::uint64_t>(arguments.seeds) - 1);
      return stop_exit_code();
    }
    reached += result.eval_return_mean >= threshold ? 1 : 0;
  }
  if (arguments.seeds > 1 && !std::isnan(threshold)) {
    fmt::print(stderr, "{} of {} seeds ended with a greedy mean of at least {}\n", reached,
               arguments.seeds, threshold);
  }
  return 0;
}

int resume_command(const ResumeArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.steps) overrides.push_back(fmt::format("run.steps={}", *arguments.steps));
  const TrainSpec spec = load_run_spec(arguments.run, overrides);
  if (const std::string began_on = run_cpu(arguments.run); began_on != cpu_name()) {
    fmt::print(stderr,
               "this run began on {}, this is {}: it goes on, perhaps not to the same bit\n",
               began_on, cpu_name());
  }
  const auto run = [&](const SessionHooks& hooks) {
    return resume_run(spec, arguments.run, arguments.checkpoint, hooks);
  };
  const TrainResult result = run_and_report(spec.env, arguments.json, arguments.quiet, run);
  return result.interrupted ? stop_exit_code() : 0;
}

}  // namespace hotloop
