// The command line: a thin layer over src/run. Exit codes: 0 done, 1 failed while running, 2 bad
// usage or bad spec, 128 and the number of the signal that stopped it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <new>

#include <hotloop/error.hpp>

#include "cli/commands.hpp"
#include "core/system.hpp"
#include "core/text.hpp"

namespace {

using namespace hotloop;

constexpr std::array<std::string_view, 14> kCommands = {
    "train",   "resume", "eval",    "compare", "watch", "plot", "list",
    "inspect", "suite",  "profile", "doctor",  "check", "new",  "bench"};

// Which model, and under which options, in `compare`, `eval` and `watch`.
template <class Arguments>
void add_model(CLI::App& app, Arguments& to) {
  app.add_option("--model", to.model, "best or latest")
      ->check(CLI::IsMember({"best", "latest"}))
      ->capture_default_str();
  app.add_option("--set", to.overrides,
                 "another option of the environment, e.g. env.grid=15, short for "
                 "env.options.grid=15")
      ->allow_extra_args(false);
}

// Who plays, in `eval` and `watch`.
template <class Arguments>
void add_player(CLI::App& app, Arguments& to) {
  app.add_option("RUN", to.run, "a run folder or a model file; with --policy also a spec")
      ->required();
  app.add_option("--policy", to.policy,
                 "instead of the model: random, or a script of the environment");
  add_model(app, to);
}

// How a world that has no spec learns, in `train`, `profile` and `doctor`.
void add_algorithm(CLI::App& app, std::string& to) {
  app.add_option("--algo", to,
                 "for a world: dqn, pqn, sarsa or ppo with general settings; without it dqn for "
                 "numbered actions, ppo for a box");
}

// CLI11 would take -1 for the largest number, and cut what is larger.
const CLI::Validator kSeed(
    [](const std::string& text) -> std::string {
      std::uint64_t seed = 0;
      const char* end = text.data() + text.size();
      const auto [parsed, error] = std::from_chars(text.data(), end, seed);
      if (error == std::errc() && parsed == end) return "";
      return fmt::format("{}: expected a whole number, 0 to {}", text,
                         std::numeric_limits<std::uint64_t>::max());
    },
    "");

int run(int argc, char** argv) {
  CLI::App app{
      "hotloop: a reinforcement-learning trainer whose hot loop contains nothing but the maths",
      "hotloop"};
  app.require_subcommand(1);
  app.set_version_flag("--version", version());
  int code = 0;

  TrainArguments train;
  auto* train_app = app.add_subcommand("train", "train an agent");
  train_app
      ->add_option(
          "SPEC", train.spec,
          "a ready-made spec (see: hotloop list specs), a YAML file, or the .cpp file of a world")
      ->required();
  add_algorithm(*train_app, train.algorithm);
  train_app
      ->add_option("--set", train.overrides,
                   "override a key of the spec, e.g. algo.batch=64; env.NAME is short for "
                   "env.options.NAME")
      ->allow_extra_args(false);
  train_app->add_option("--seed", train.seed, "random seed (run.seed)")->check(kSeed);
  train_app->add_option("--seeds", train.seeds, "train this many seeds one after the other")
      ->check(CLI::Range(1, 1'000'000));
  train_app
      ->add_option("--jobs", train.jobs,
                   "seeds at a time, each on a thread of its own, to the same bits; without a "
                   "progress bar")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  train_app->add_option("--steps", train.steps, "env steps (run.steps)");
  train_app->add_option("--out", train.out, "folder that holds the run folders")
      ->capture_default_str();
  train_app->add_flag("--json", train.json, "print one JSON object per run on standard output");
  train_app->add_flag("--quiet", train.quiet, "no progress bar");
  train_app->callback([&] { code = train_command(train); });

  ResumeArguments resume;
  auto* resume_app = app.add_subcommand("resume", "continue a stopped or killed run");
  resume_app->add_option("RUN", resume.run, "the run folder")->required();
  resume_app->add_option("--checkpoint", resume.checkpoint,
                         "this checkpoint instead of the newest");
  resume_app->add_option("--steps", resume.steps, "train up to this many env steps in all");
  resume_app->add_option("--set", resume.overrides, "override a run.* or evaluation.* key")
      ->allow_extra_args(false);
  resume_app->add_flag("--json", resume.json, "print one JSON object on standard output");
  resume_app->add_flag("--quiet", resume.quiet, "no progress bar");
  resume_app->callback([&] { code = resume_command(resume); });

  EvalArguments eval;
  auto* eval_app = app.add_subcommand("eval", "measure the greedy return of a trained model");
  add_player(*eval_app, eval);
  eval_app->add_option("--episodes", eval.episodes, "episodes to play")
      ->check(CLI::Range(1, 1'000'000));
  eval_app
      ->add_option("--seed", eval.seed, "seed of the starts; the run's own repeats its evaluation")
      ->check(kSeed);
  eval_app->add_flag(
      "--sample", eval.sample,
      "draw actions from the policy, as in training, instead of taking the best (ppo)");
  eval_app->add_flag("--json", eval.json, "print one JSON object");
  eval_app->callback([&] { code = eval_command(eval); });

  CompareArguments compare;
  auto* compare_app = app.add_subcommand(
      "compare", "models and other policies on the same episode starts; prints one table");
  compare_app
      ->add_option("RUN", compare.runs, "run folders or model files; or one spec, with --against")
      ->required();
  compare_app
      ->add_option("--against", compare.against,
                   "policies without a network: random, or scripts of the environment")
      ->delimiter(',')
      ->allow_extra_args(false);
  compare_app->add_option("--vary", compare.vary,
                          "repeat for several values of an option, e.g. env.grid=8,10,15");
  add_model(*compare_app, compare);
  compare_app->add_option("--episodes", compare.episodes, "episodes of each policy and value")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  compare_app->add_option("--seed", compare.seed, "seed of the starts")
      ->check(kSeed)
      ->capture_default_str();
  compare_app->add_option("--measure", compare.measure,
                          "what table and figure show; otherwise all, and the score or the return");
  compare_app->add_option("--csv", compare.csv, "write every measure to this file, a line each");
  compare_app->add_option("--markdown", compare.markdown, "write the table to this file");
  compare_app->add_option("--figure", compare.figure, "draw a chart into this .svg");
  compare_app->add_flag("--json", compare.json, "print one JSON object instead of the table");
  compare_app->callback([&] { code = compare_command(compare); });

  WatchArguments watch;
  auto* watch_app = app.add_subcommand("watch", "see an agent play");
  add_player(*watch_app, watch);
  watch_app
      ->add_option("--seed", watch.seed,
                   "seed of the first game; the next have the numbers that follow")
      ->check(kSeed);
  watch_app->add_option("--episodes", watch.episodes, "games to play")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  watch_app->add_option("--speed", watch.speed, "steps per second")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  watch_app->add_option("--scale", watch.scale, "pixels of a file per pixel of the picture")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  watch_app->add_option("--gif", watch.gif, "write an animation to this file");
  watch_app->add_option("--png", watch.png, "write the last moment to this file");
  watch_app->callback([&] { code = watch_command(watch); });

  PlotArguments plot;
  auto* plot_app = app.add_subcommand("plot", "draw how a run went, over its env steps");
  plot_app->add_option("RUN", plot.run, "the run folder")->required();
  plot_app->add_option("--out", plot.out, "the .svg to write")->required();
  plot_app
      ->add_option("--show", plot.show,
                   "columns of metrics.jsonl and measures of the environment, e.g. return,loss")
      ->delimiter(',')
      ->allow_extra_args(false);
  plot_app->add_flag("--episodes", plot.episodes,
                     "running means over single episodes (of a run with run.episode_log)");
  plot_app->callback([&] { code = plot_command(plot); });

  std::string list_what;
  bool list_json = false;
  auto* list_app = app.add_subcommand(
      "list",
      "list envs, options, specs, suites, algorithms, activations, initialisers, optimisers or "
      "schedules");
  list_app->add_option("WHAT", list_what, "what to list")->required();
  list_app->add_flag("--json", list_json, "print a JSON array");
  list_app->callback([&] { code = list_command(list_what, list_json); });

  InspectArguments inspect;
  auto* inspect_app =
      app.add_subcommand("inspect", "show what a run folder, checkpoint or model holds");
  inspect_app->add_option("PATH", inspect.path, "a run folder or a file of one")->required();
  inspect_app->add_option(
      "--activations", inspect.activations,
      "graphs: print every neuron's activation for the observation in this file");
  inspect_app->add_option(
      "--picture", inspect.picture,
      "graphs: draw weights and biases into this .svg or .png, or the run's snapshots into a .gif");
  inspect_app->add_flag("--json", inspect.json, "print one JSON object");
  inspect_app->callback([&] { code = inspect_command(inspect); });

  SuiteArguments suite;
  auto* suite_app = app.add_subcommand("suite", "run many specs over many seeds; prints one table");
  suite_app
      ->add_option("SUITE", suite.suite,
                   "a ready-made suite (see: hotloop list suites) or a YAML file")
      ->required();
  suite_app->add_option("--seeds", suite.seeds, "seeds per row, instead of the suite's own number")
      ->check(CLI::Range(1, 1'000'000));
  suite_app
      ->add_option("--jobs", suite.jobs,
                   "runs at a time; above 1, wall times are those of a busy machine")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  suite_app->add_option("--out", suite.out, "folder that holds the run folders")
      ->capture_default_str();
  suite_app->add_option("--figure", suite.figure, "draw the learning curves into this .svg");
  suite_app->add_option("--csv", suite.csv, "write the learning curves to this file");
  suite_app->add_flag("--json", suite.json, "print one JSON object per run instead of the table");
  suite_app->add_flag("--quiet", suite.quiet, "no line per run");
  suite_app->callback([&] { code = suite_command(suite); });

  ProfileArguments profile;
  auto* profile_app =
      app.add_subcommand("profile", "run a spec for some seconds and show where the time goes");
  profile_app->add_option("SPEC", profile.spec, "a spec, or the .cpp file of a world")->required();
  add_algorithm(*profile_app, profile.algorithm);
  profile_app
      ->add_option("--set", profile.overrides, "override a key of the spec, e.g. algo.batch=64")
      ->allow_extra_args(false);
  profile_app->add_option("--seed", profile.seed, "random seed (run.seed)")->check(kSeed);
  profile_app->add_option("--seconds", profile.seconds, "how long to measure")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  profile_app->add_option("--trace", profile.trace,
                          "write single phases to this file, for chrome://tracing or Perfetto");
  profile_app->add_option("--html", profile.html, "write a page with charts to this .html");
  profile_app->add_flag("--json", profile.json, "print one JSON object instead of the table");
  profile_app->add_flag("--quiet", profile.quiet, "no progress bar");
  profile_app->callback([&] { code = profile_command(profile); });

  DoctorArguments doctor;
  auto* doctor_app = app.add_subcommand(
      "doctor", "measure what slows a training down, and which remedy helps without hurting it");
  doctor_app->add_option("SPEC", doctor.spec, "a spec, or the .cpp file of a world")->required();
  add_algorithm(*doctor_app, doctor.algorithm);
  doctor_app->add_option("--set", doctor.overrides, "override a key of the spec")
      ->allow_extra_args(false);
  doctor_app->add_option("--seed", doctor.seed, "random seed (run.seed); others follow it")
      ->check(kSeed);
  doctor_app->add_option("--minutes", doctor.minutes, "how long it may take")
      ->check(CLI::Range(0.05, 10'000.0))
      ->capture_default_str();
  doctor_app->add_option("--apply", doctor.apply,
                         "write the spec with all that is recommended to this new .yaml");
  doctor_app->add_flag("--json", doctor.json, "print one JSON object on standard output");
  doctor_app->add_flag("--quiet", doctor.quiet, "no progress");
  doctor_app->callback([&] { code = doctor_command(doctor); });

  CheckArguments check;
  auto* check_app = app.add_subcommand(
      "check", "put a world through the test battery, and explain what is wrong with it");
  check_app->add_option("WORLD", check.world, "a .cpp file, or a name (see: hotloop list envs)")
      ->required();
  check_app->add_option("--timeout", check.timeout, "seconds that one call of the world may take")
      ->check(CLI::Range(0.01, 100'000.0))
      ->capture_default_str();
  check_app->add_option("--seed", check.seed, "random seed")->check(kSeed)->capture_default_str();
  check_app->add_option("--steps", check.steps, "steps of each play")
      ->check(CLI::Range(10, 1'000'000))
      ->capture_default_str();
  check_app->add_flag("--json", check.json, "print one JSON object");
  check_app->callback([&] { code = check_command(check); });

  std::string new_what, new_name;
  auto* new_app = app.add_subcommand("new", "write a first version of something: env");
  new_app->add_option("WHAT", new_what, "env, a world in one file")->required();
  new_app->add_option("NAME", new_name, "its name; the file is NAME.cpp")->required();
  new_app->callback([&] { code = new_command(new_what, new_name); });

  auto* bench_app =
      app.add_subcommand("bench",
                         "run benchmarks: update, qloss, dag, ppo, durotaxis, env, snake, seeds, "
                         "kernels, products, clock (all without a name)");
  bench_app->allow_extras();
  bench_app->callback([&] { code = bench_command(bench_app->remaining()); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    const std::string_view first = argc > 1 ? argv[1] : "";
    const bool known = std::find(kCommands.begin(), kCommands.end(), first) != kCommands.end();
    if (!first.empty() && !first.starts_with("-") && !known) {
      throw UsageError(
          fmt::format("'{}' is not a command; {}", first, suggestion(first, kCommands)));
    }
    throw UsageError(fmt::format("{} (see: hotloop {}{}--help)", e.what(), known ? first : "",
                                 known ? " " : ""));
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const hotloop::UsageError& e) {
    fmt::print(stderr, "hotloop: {}\n", e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "hotloop: out of memory\n");
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "hotloop: {}\n", e.what());
    return 1;
  }
}
