// hotloop plot: draws charts of a run's metrics.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "core/file.hpp"
#include "draw/run_plot.hpp"

namespace hotloop {
namespace {

struct PlotArguments {
  std::string run;                // a run folder
  std::string out;                // the .svg
  std::vector<std::string> show;  // columns and measures; empty = the most important ones
  bool episodes = false;          // from episodes.jsonl
};

int plot_command(const PlotArguments& arguments) {
  check_chart_path(arguments.out);
  check_folder_of(arguments.out);
  const Chart chart = arguments.episodes ? plot_episodes(arguments.run, arguments.show)
                                         : plot_metrics(arguments.run, arguments.show);
  write_file_atomically(arguments.out, draw_chart(chart));
  print_text("{}: {} charts of {}\n", arguments.out, chart.panels.size(), arguments.run);
  return 0;
}

const Command kAddPlot(
    {"plot", "draw how a run went, over its env steps", [](CLI::App& app, int& code) {
       static PlotArguments plot;
       app.add_option("RUN", plot.run, "the run folder")->required();
       app.add_option("--out", plot.out, "the .svg to write")->required();
       app.add_option("--show", plot.show,
                      "columns of metrics.jsonl and measures of the environment, e.g. return,loss")
           ->delimiter(',')
           ->allow_extra_args(false);
       app.add_flag("--episodes", plot.episodes,
                    "running means over single episodes (the run needs run.episode_log)");
       app.callback([&code] { code = plot_command(plot); });
     }});

}  // namespace
}  // namespace hotloop
