// hotloop train, hotloop resume: run, show progress, summarise.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "cli/command.hpp"
#include "cli/crash_message.hpp"
#include "cli/output.hpp"
#include "cli/progress_bar.hpp"
#include "core/stop_signal.hpp"
#include "core/system.hpp"
#include "core/text.hpp"
#include "env/isolate/isolated_worlds.hpp"
#include "session/demonstrations.hpp"
#include "session/session.hpp"
#include "study/jobs.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

struct ResumeArguments {
  std::string run;
  std::optional<std::string> checkpoint;
  std::optional<std::int64_t> steps;
  std::vector<std::string> overrides;
  bool json = false;
  bool quiet = false;
};

struct TrainArguments {
  std::string spec;                    // or an environment
  std::string algorithm;               // for an environment
  std::vector<std::string> overrides;  // --set key=value
  std::optional<std::uint64_t> seed;
  int seeds = 1;  // number of seeds, counting up from the first
  int jobs = 1;   // seeds at a time
  std::optional<std::int64_t> steps;
  std::string out = "runs";
  bool json = false;
  bool quiet = false;
};

void print_plan(const TrainSpec& spec, const std::string& run_dir) {
  const Algorithm& algorithm = *spec.algorithm;
  const WorldFacts world = world_facts(spec.world());
  print_note(
      "{} seed {}  {}\n  {} x {}, {}\n  net {}\n  {}, {:.4g} updates per env step, batch {}\n",
      spec.name, spec.run.seed, run_dir, spec.envs, spec.env, algorithm.describe(spec),
      algorithm.network(spec, world).describe(), algorithm.describe_memory(spec, world),
      spec.learn.updates_per_step, spec.learn.batch);
}

std::string summary_text(const TrainResult& r) {
  if (r.interrupted) {
    return fmt::format(
        "stopped after {} env steps; everything is saved. Continue with:\n  hotloop resume {}\n",
        r.env_steps, r.run_dir);
  }
  std::string text;
  if (r.solved) {
    text +=
        fmt::format("solved after {} env steps in {:.2f} s{}", r.solved_env_steps, r.solved_seconds,
                    r.solved_env_steps == r.env_steps ? ": " : "; at the end ");
  }
  text += fmt::format("greedy return {}\n", return_text(r.eval_return_mean, r.eval_return_std));
  text += fmt::format("  {} env steps ({}/s), {} updates ({}/s), {} per env step, {} episodes\n",
                      r.env_steps, short_number(static_cast<double>(r.env_steps) / r.wall_seconds),
                      r.updates, short_number(static_cast<double>(r.updates) / r.wall_seconds),
                      r.updates_per_step, r.episodes);
  if (std::isfinite(r.score_last100)) {
    text += fmt::format("  score {} greedy, {} in the last 100 episodes, at most {:.{}g}\n",
                        return_text(r.score_greedy), return_text(r.score_last100), r.score_max,
                        r.score_max < 10 ? 4 : 15);
  }
  for (const std::string& warning : r.warnings) text += fmt::format("  warning: {}\n", warning);
  std::string time;
  for (const auto& [phase, share] : r.time) {
    const bool always = phase == "act" || phase == "learn";
    if (!always && share < 0.005) continue;
    time += fmt::format("{} {} {:.1f} %", time.empty() ? "" : ",", phase, 100 * share);
  }
  text += fmt::format("  time:{}\n", time);
  text += fmt::format("  {:.2f} s on {} thread{} of {}\n  {}\n", r.wall_seconds, r.threads,
                      r.threads == 1 ? "" : "s", r.cpu, r.run_dir);
  return text;
}

std::string saved_but_not_shown(const OutputError& error, const std::string& run_dir) {
  return fmt::format("{}; the run is saved in {}", error.what(), run_dir);
}

// What isolation costs, so that nobody has to guess.
void print_price(const TrainSpec& spec) {
  const IsolationCost cost = isolation_cost();
  if (!spec.isolation.on || cost.vector_steps == 0) return;
  print_note("isolated: {:.1f} us per vector step\n",
             1e6 * cost.seconds / static_cast<double>(cost.vector_steps));
}

template <class Run>
TrainResult run_and_report(const TrainSpec& spec, bool json, bool quiet, Run&& run) {
  ProgressBar bar(!quiet && isatty(STDERR_FILENO) != 0);
  const SessionHooks hooks{.progress = [&](const Trainer& trainer,
                                           const RunRecord& record) { bar.show(trainer, record); },
                           .warning =
                               [&](const std::string& text) {
                                 bar.clear();
                                 if (!quiet) print_note("warning: {}\n", text);
                               },
                           .note =
                               [&](const std::string& text) {
                                 bar.clear();
                                 if (!quiet) print_note("{}\n", text);
                               },
                           .stop = &stop_requested()};
  const TrainResult result = [&] {
    const StdoutGuard guard;
    const CrashMessage crash_message(spec);
    return run(hooks);
  }();
  bar.clear();
  if (!quiet) print_price(spec);
  if (json && result.interrupted) {
    print_note("stopped; continue with: hotloop resume {}\n", result.run_dir);
  }
  try {
    if (json) {
      print_result("{}\n", to_json(result));
    } else {
      print_text("{}", summary_text(result));
    }
    flush_results();
  } catch (const OutputError& error) {
    // A closed terminal explains itself.
    if (!result.interrupted) throw RunError(saved_but_not_shown(error, result.run_dir));
  }
  return result;
}

void print_not_started(std::uint64_t first, std::uint64_t last) {
  if (first < last) print_note("not started: seeds {} to {}\n", first, last);
  if (first == last) print_note("not started: seed {}\n", first);
}

// How the seeds of a command ended.
struct Tally {
  int solved = 0;       // reached the threshold
  int interrupted = 0;  // or not started
  int failed = 0;
};

Tally train_in_turn(TrainSpec spec, const TrainArguments& arguments, double threshold) {
  Tally tally;
  const std::uint64_t last = spec.run.seed + static_cast<std::uint64_t>(arguments.seeds) - 1;
  for (int i = 0; i < arguments.seeds; ++i, ++spec.run.seed) {
    const auto run = [&](const SessionHooks& hooks) {
      const std::string run_dir = make_run_folder(arguments.out, spec.name);
      if (!arguments.quiet) print_plan(spec, run_dir);
      CrashMessage::set_run(run_dir);
      return start_run(spec, run_dir, hooks);
    };
    const TrainResult result = run_and_report(spec, arguments.json, arguments.quiet, run);
    if (result.interrupted) {
      if (spec.run.seed != last) print_not_started(spec.run.seed + 1, last);
      tally.interrupted = arguments.seeds - i;
      return tally;
    }
    tally.solved += result.eval_return_mean >= threshold ? 1 : 0;
  }
  return tally;
}

// Shows no progress bars, because they would overwrite each other. As in a suite, a run that fails
// does not stop the others.
Tally train_at_once(const TrainSpec& first, const TrainArguments& arguments, double threshold) {
  Tally tally;
  const std::atomic<bool>& stop = stop_requested();
  const StdoutGuard output;
  const CrashMessage crash_message(first);
  const auto work = [&](std::size_t i, JobTurn& turn) {
    TrainSpec spec = first;
    spec.run.seed += i;
    const auto warn = [&](const std::string& text) {
      if (!arguments.quiet) print_note("seed {}: warning: {}\n", spec.run.seed, text);
    };
    try {
      const std::string run_dir = make_run_folder(arguments.out, spec.name);
      if (!arguments.quiet) print_plan(spec, run_dir);
      turn.unlock();
      const TrainResult result = start_run(spec, run_dir, {.warning = warn, .stop = &stop});
      turn.lock();
      if (arguments.json && result.interrupted) {
        print_note("stopped; continue with: hotloop resume {}\n", run_dir);
      }
      try {
        output.write(arguments.json ? to_json(result) + "\n"
                                    : printable_message(fmt::format("seed {}: {}", spec.run.seed,
                                                                    summary_text(result))));
      } catch (const OutputError& error) {
        if (!result.interrupted) throw RunError(saved_but_not_shown(error, run_dir));
      }
      tally.interrupted += result.interrupted ? 1 : 0;
      tally.solved += !result.interrupted && result.eval_return_mean >= threshold ? 1 : 0;
    } catch (const std::exception& error) {
      if (!turn.owns_lock()) turn.lock();
      print_note("hotloop: seed {} failed: {}\n", spec.run.seed, message_of(error));
      ++tally.failed;
    }
  };
  const auto seeds = static_cast<std::size_t>(arguments.seeds);
  const std::size_t started = run_jobs(seeds, arguments.jobs, &stop, work);
  if (started < seeds) print_not_started(first.run.seed + started, first.run.seed + seeds - 1);
  tally.interrupted += static_cast<int>(seeds - started);
  return tally;
}

int train_command(const TrainArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.seed) overrides.push_back(fmt::format("run.seed={}", *arguments.seed));
  if (arguments.steps) overrides.push_back(fmt::format("run.steps={}", *arguments.steps));
  trust_named(arguments.spec);
  for (const std::string& text : overrides) trust_named(text);
  TrainSpec spec = load_spec_or_world(arguments.spec, arguments.algorithm, overrides);
  check_feasible(spec);  // before the run folder is made
  read_demonstrations(spec);
  const double threshold = solved_threshold(spec);
  const Tally tally = arguments.jobs > 1 ? train_at_once(spec, arguments, threshold)
                                         : train_in_turn(spec, arguments, threshold);
  if (tally.interrupted > 0) return stop_exit_code();
  if (arguments.seeds > 1 && !std::isnan(threshold)) {
    print_note("{} of {} seeds ended with a greedy mean of at least {}\n", tally.solved,
               arguments.seeds, threshold);
  }
  return tally.failed > 0 ? 1 : 0;
}

int resume_command(const ResumeArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.steps) overrides.push_back(fmt::format("run.steps={}", *arguments.steps));
  const TrainSpec spec = load_run_spec(arguments.run, overrides);
  const RunOrigin origin = run_origin(arguments.run);
  if (origin.version.empty()) {
    print_note(
        "{}/run.json is missing or damaged: which version and CPU started this run is unknown; it "
        "continues, perhaps not bit for bit\n",
        arguments.run);
  } else if (origin.cpu != cpu_name() || origin.version != version()) {
    print_note(
        "this run was started with hotloop {} on {}, this is {} on {}: it continues, perhaps not "
        "bit for bit\n",
        origin.version, origin.cpu, version(), cpu_name());
  }
  const auto run = [&](const SessionHooks& hooks) {
    CrashMessage::set_run(arguments.run);
    return resume_run(spec, arguments.run, arguments.checkpoint, hooks);
  };
  const TrainResult result = run_and_report(spec, arguments.json, arguments.quiet, run);
  return result.interrupted ? stop_exit_code() : 0;
}

const Command kAddTrain(
    {"train", "train an agent", [](CLI::App& app, int& code) {
       static TrainArguments train;
       app.add_option("SPEC", train.spec,
                      "a ready-made spec (see: hotloop list specs), a YAML file, or the .cpp file "
                      "of an environment")
           ->required();
       add_algorithm(app, train.algorithm);
       app.add_option("--set", train.overrides,
                      "override a key of the spec, e.g. algo.batch=64; env.NAME is short for "
                      "env.options.NAME")
           ->allow_extra_args(false);
       add_isolate(app, train.overrides);
       app.add_option("--seed", train.seed, "random seed (run.seed)")->check(kSeed);
       app.add_option("--seeds", train.seeds, "train this many seeds one after the other")
           ->check(CLI::Range(1, 1'000'000));
       app.add_option("--jobs", train.jobs,
                      "seeds at a time, each on its own thread, with bit-identical results; no "
                      "progress bar")
           ->check(CLI::Range(1, 256))
           ->capture_default_str();
       app.add_option("--steps", train.steps, "env steps (run.steps)");
       app.add_option("--out", train.out, "folder that holds the run folders")
           ->capture_default_str();
       add_trust(app);
       app.add_flag("--json", train.json, "print one JSON object per run on standard output");
       app.add_flag("--quiet", train.quiet, "no progress bar");
       app.callback([&code] { code = train_command(train); });
     }});

const Command kAddResume(
    {"resume", "continue a stopped or killed run", [](CLI::App& app, int& code) {
       static ResumeArguments resume;
       app.add_option("RUN", resume.run, "the run folder")->required();
       app.add_option("--checkpoint", resume.checkpoint,
                      "continue from this checkpoint instead of the newest");
       app.add_option("--steps", resume.steps, "train up to this many env steps in total");
       app.add_option("--set", resume.overrides, "override a run.* or evaluation.* key")
           ->allow_extra_args(false);
       add_trust(app);
       add_isolate(app, resume.overrides);
       app.add_flag("--json", resume.json, "print one JSON object on standard output");
       app.add_flag("--quiet", resume.quiet, "no progress bar");
       app.callback([&code] { code = resume_command(resume); });
     }});

}  // namespace
}  // namespace hotloop
