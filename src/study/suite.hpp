// A suite: several specs, each over several seeds, compared with a bar and reported in one table.
//
// A suite is a YAML file in specs/suites:
//
//   about: one line
//   seeds: 10
//   figure: {y: score}     what its learning curves show: score or return
//   rows:
//     - {title: CartPole DQN, spec: cartpole_dqn, set: [run.steps=200000], bar: 475}
//     - {title: My world, spec: maze.cpp, algo: ppo}
//
// Keys that all rows share (spec, algo, set, bar) may be given next to `rows`; a row's own keys
// take precedence. Every run is an ordinary run in its own folder; seeds count from 1.
#pragma once

#include <hotloop/train.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "record/learning_curve.hpp"
#include "spec/spec.hpp"

namespace hotloop {

struct SuiteRow {
  std::string title;
  TrainSpec spec;
  double bar = 0;  // NaN = none

  // Names its runs and their folders: the title without characters that are awkward in file names.
  std::string run_name() const;
};

struct Suite {
  std::string name;
  std::string about;
  int seeds = 10;
  // "score" or "return"; by default the score if all rows have one.
  std::string figure_y = "return";
  std::vector<SuiteRow> rows;
};

// A suite by name, or by the path of a file. `isolate`: the environments from files, of which there
// must be at least one, run in their own processes.
Suite load_suite(const std::string& name_or_path, bool isolate = false);
std::vector<SpecInfo> ready_made_suites();

struct SuiteOptions {
  int jobs = 1;              // runs at a time, each on its own thread
  std::string out = "runs";  // the run folders go to <out>/<suite>
  const std::atomic<bool>* stop = nullptr;
  // Called before the first run if some runs exist already: the number that are reused, and the
  // number that are resumed.
  std::function<void(int finished, int unfinished)> on_earlier{};
  // One call at a time.
  std::function<void(const SuiteRow&, const TrainResult&)> on_result;
  std::function<void(const SuiteRow&, std::uint64_t seed, const std::string& what)> on_failure;
};

// Existing runs that would be repeated to the bit are reused (earlier_run.hpp). The results are
// results[row][seed - 1]; a run that failed or was not started has an empty run_dir. A failing run
// does not stop the others.
using SuiteResults = std::vector<std::vector<TrainResult>>;
SuiteResults run_suite(const Suite& suite, const SuiteOptions& options);

// curves[row]: the curves of the finished runs, by seed; y is the suite's figure_y.
using SuiteCurves = std::vector<std::vector<LearningCurve>>;
SuiteCurves suite_curves(const Suite& suite, const SuiteResults& results);

// The report: a Markdown table with medians, spread and wall time, followed by its conditions.
std::string suite_markdown(const Suite& suite, const SuiteResults& results,
                           const SuiteCurves& curves, int jobs);

// Every evaluation of every run: row, seed, env_steps, updates, seconds, y.
std::string suite_csv(const Suite& suite, const SuiteCurves& curves);

// An SVG of medians over the seeds, with bands from lowest to highest, against seconds and updates.
std::string suite_figure(const Suite& suite, const SuiteCurves& curves);

}  // namespace hotloop
