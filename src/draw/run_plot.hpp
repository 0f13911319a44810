// A run in small charts over its env steps, drawn from the files of its folder.
//
// From metrics.jsonl a panel shows what the agent did while it explored and when it was evaluated; from
// episodes.jsonl the mean over the last 50 episodes, in a band of one std to either side.
// Where more than 500 points would be drawn, every second, third, ... is.
#pragma once

#include <string>
#include <vector>

#include "draw/chart.hpp"

namespace hotloop {

inline constexpr int kPlotWindow = 50;  // episodes

// Columns of metrics.jsonl, "return" and measures of the environment by name; without any, the return,
// loss and entropy, if there are such, and every measure. UsageError if a name is unknown or the folder
// has no such file, RunError if a line is not a row of it. A last line that is only half there is left
// out: the run may be in progress.
Chart plot_metrics(const std::string& run_dir, const std::vector<std::string>& show);

// The same from episodes.jsonl: return, length and measures; without any, all of them.
Chart plot_episodes(const std::string& run_dir, const std::vector<std::string>& show);

}  // namespace hotloop
