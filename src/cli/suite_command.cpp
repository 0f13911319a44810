// hotloop suite: many runs, one table, and their learning curves.
#include <fmt/format.h>

#include <optional>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "core/file.hpp"
#include "core/stop_signal.hpp"
#include "core/text.hpp"
#include "draw/chart.hpp"
#include "study/suite.hpp"

namespace hotloop {
namespace {

struct SuiteArguments {
  std::string suite;
  std::optional<int> seeds;
  int jobs = 1;
  std::string out = "runs";
  std::string csv, figure;  // files to write
  bool isolate = false;
  bool json = false;
  bool quiet = false;
};

int suite_command(const SuiteArguments& arguments) {
  if (!arguments.figure.empty()) check_chart_path(arguments.figure);
  for (const std::string& path : {arguments.figure, arguments.csv}) check_folder_of(path);
  Suite suite = load_suite(arguments.suite, arguments.isolate);
  if (arguments.seeds) suite.seeds = *arguments.seeds;
  int failures = 0;
  std::optional<OutputError> not_shown;
  const auto show = [&](const std::string& text) {  // the runs continue: they save their results
    try {
      print_result("{}", text);
      flush_results();
    } catch (const OutputError& error) {
      not_shown = error;
    }
  };
  const SuiteResults results =
      run_suite(suite, {.jobs = arguments.jobs,
                        .out = arguments.out,
                        .stop = &stop_requested(),
                        .on_earlier =
                            [&](int finished, int unfinished) {
                              print_note(
                                  "runs already in {}/{}: {} finished, results reused; {} "
                                  "unfinished, resumed\n",
                                  arguments.out, suite.name, finished, unfinished);
                            },
                        .on_result =
                            [&](const SuiteRow& row, const TrainResult& result) {
                              if (arguments.json) show(to_json(result) + "\n");
                              if (arguments.quiet) return;
                              print_note("{:28} seed {:2}  greedy return {:>7}  {:6.2f} s\n",
                                         row.title, result.seed,
                                         return_text(result.eval_return_mean), result.wall_seconds);
                            },
                        .on_failure =
                            [&](const SuiteRow& row, std::uint64_t seed, const std::string& what) {
                              print_note("{:28} seed {:2}  FAILED: {}\n", row.title, seed, what);
                              ++failures;
                            }});
  const SuiteCurves curves = suite_curves(suite, results);
  if (!arguments.json)
    show(printable_message(suite_markdown(suite, results, curves, arguments.jobs)));
  if (!arguments.csv.empty()) write_file_atomically(arguments.csv, suite_csv(suite, curves));
  if (!arguments.figure.empty()) {
    write_file_atomically(arguments.figure, suite_figure(suite, curves));
  }
  if (stop_requested()) {
    print_note(
        "stopped: the table has the results so far; the same command continues with the "
        "rest\n");
    return stop_exit_code();
  }
  if (not_shown) {
    throw RunError(fmt::format("{}; the runs are saved in {}/{}, and the same command shows them",
                               not_shown->what(), arguments.out, suite.name));
  }
  return failures > 0 ? 1 : 0;
}

const Command kAddSuite(
    {"suite", "run many specs over many seeds; prints one table", [](CLI::App& app, int& code) {
       static SuiteArguments suite;
       app.add_option("SUITE", suite.suite,
                      "a ready-made suite (see: hotloop list suites) or a YAML file")
           ->required();
       app.add_option("--seeds", suite.seeds, "seeds per row, instead of the suite's number")
           ->check(CLI::Range(1, 1'000'000));
       app.add_option("--jobs", suite.jobs,
                      "runs at a time; above 1, wall times are those of a busy machine")
           ->check(CLI::Range(1, 256))
           ->capture_default_str();
       app.add_option("--out", suite.out, "folder that holds the run folders")
           ->capture_default_str();
       app.add_option("--figure", suite.figure, "draw the learning curves into this .svg");
       app.add_option("--csv", suite.csv, "write the learning curves to this file");
       add_trust(app);
       app.add_flag("--isolate", suite.isolate, kIsolateHelp);
       app.add_flag("--json", suite.json, "print one JSON object per run instead of the table");
       app.add_flag("--quiet", suite.quiet, "no line per run");
       app.callback([&code] { code = suite_command(suite); });
     }});

}  // namespace
}  // namespace hotloop
