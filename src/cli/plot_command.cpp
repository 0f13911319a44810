// hotloop plot: how a run went, in charts.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "core/file.hpp"
#include "draw/run_plot.hpp"

namespace hotloop {

int plot_command(const PlotArguments& arguments) {
  check_chart_path(arguments.out);
  check_folder_of(arguments.out);
  const Chart chart = arguments.episodes ? plot_episodes(arguments.run, arguments.show)
                                         : plot_metrics(arguments.run, arguments.show);
  write_file_atomically(arguments.out, draw_chart(chart));
  fmt::print("{}: {} charts of {}\n", arguments.out, chart.panels.size(), arguments.run);
  return 0;
}

}  // namespace hotloop
