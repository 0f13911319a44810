// hotloop suite: many runs, one table, and their learning curves.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.hpp"
#include "core/file.hpp"
#include "core/stop_signal.hpp"
#include "core/text.hpp"
#include "draw/chart.hpp"
#include "study/suite.hpp"

namespace hotloop {

int suite_command(const SuiteArguments& arguments) {
  if (!arguments.figure.empty()) check_chart_path(arguments.figure);
  for (const std::string& path : {arguments.figure, arguments.csv}) check_folder_of(path);
  Suite suite = load_suite(arguments.suite);
  if (arguments.seeds) suite.seeds = *arguments.seeds;
  int failures = 0;
  const SuiteResults results = run_suite(
      suite, {.jobs = arguments.jobs,
              .out = arguments.out,
              .stop = &stop_requested(),
              .on_earlier =
                  [&](int finished, int unfinished) {
                    fmt::print(stderr,
                               "runs in {}/{} already: {} finished, taken as they are; {} "
                               "unfinished, resumed\n",
                               arguments.out, suite.name, finished, unfinished);
                  },
              .on_result =
                  [&](const SuiteRow& row, const TrainResult& result) {
                    if (arguments.json) fmt::print("{}\n", to_json(result));
                    if (arguments.quiet) return;
                    fmt::print(stderr, "{:28} seed {:2}  greedy return {:>7}  {:6.2f} s\n",
                               row.title, result.seed, return_text(result.eval_return_mean),
                               result.wall_seconds);
                  },
              .on_failure =
                  [&](const SuiteRow& row, std::uint64_t seed, const std::string& what) {
                    fmt::print(stderr, "{:28} seed {:2}  FAILED: {}\n", row.title, seed, what);
                    ++failures;
                  }});
  const SuiteCurves curves = suite_curves(suite, results);
  if (!arguments.json) fmt::print("{}", suite_markdown(suite, results, curves, arguments.jobs));
  if (!arguments.csv.empty()) write_file_atomically(arguments.csv, suite_csv(suite, curves));
  if (!arguments.figure.empty()) {
    write_file_atomically(arguments.figure, suite_figure(suite, curves));
  }
  if (stop_requested()) {
    fmt::print(
        stderr,
        "stopped: the table holds what was done by then; the same command goes on with the rest\n");
    return stop_exit_code();
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace hotloop
