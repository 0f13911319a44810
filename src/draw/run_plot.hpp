// Small charts of a run over its env steps, drawn from the files in its folder.
//
// From metrics.jsonl, a panel shows the agent while exploring and in evaluations. From
// episodes.jsonl, it shows the mean over the last 50 episodes in a band of +- one std. Beyond 500
// points, only every second, third, ... is drawn.
#pragma once

#include <string>
#include <vector>

#include "draw/chart.hpp"

namespace hotloop {

inline constexpr int kPlotWindow = 50;  // episodes

// `show` names columns of metrics.jsonl, "return", or measures of the environment. If it is empty,
// the chart shows the return, the loss and the entropy, if present, and every measure. Throws
// UsageError if a name is unknown or the file is missing, RunError if a line is not a valid row. An
// incomplete last line is skipped, because the run may be in progress.
Chart plot_metrics(const std::string& run_dir, const std::vector<std::string>& show);

// The same from episodes.jsonl: return, length and measures; all of them if `show` is empty.
Chart plot_episodes(const std::string& run_dir, const std::vector<std::string>& show);

}  // namespace hotloop
