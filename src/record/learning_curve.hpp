// Learning curves: the evaluations of a run, and the median over several runs.
//
// They are read from metrics.jsonl. Its rows repeat an evaluation until the next one; a curve has
// each evaluation once, at the first row that shows it. (An evaluation equal to the previous one
// cannot be detected, and changes no curve.) Between evaluations a run has the value of its last
// evaluation, and after its end that of its final one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hotloop {

struct CurvePoint {
  std::int64_t env_steps = 0;
  std::int64_t updates = 0;
  double seconds = 0;  // of training, without evaluations
  double y = 0;
};

struct LearningCurve {
  std::uint64_t seed = 0;
  std::vector<CurvePoint> points;
  double end_updates = 0, end_seconds = 0;  // of the last row
};

// `y` is "return" or the name of a measure; evaluations where it is undefined are skipped. A run
// without metrics has no points. Throws RunError if a line is not a row of metrics.
LearningCurve read_learning_curve(const std::string& metrics_path, const std::string& y);

enum class CurveAxis { seconds, updates };

struct MedianPoint {
  double x = 0;
  double median = 0, low = 0, high = 0;  // over the runs; low is the lowest, high the highest
};

// Where the median can change: the x of every evaluation, starting where all runs have one.
std::vector<double> every_x(const std::vector<LearningCurve>& curves, CurveAxis axis);
// A logarithmic grid with this many steps, from the first positive x of every_x() to the end of the
// longest run.
std::vector<double> even_x(const std::vector<LearningCurve>& curves, CurveAxis axis, int steps);

// The median at every x of the grid where all runs have a value. Empty if a run has no points,
// because a median over fewer runs would not be comparable.
std::vector<MedianPoint> median_curve(const std::vector<LearningCurve>& curves, CurveAxis axis,
                                      const std::vector<double>& grid);

// The smallest x at which the median is at least `level`; NaN if it never is.
double first_reached(const std::vector<MedianPoint>& curve, double level);

}  // namespace hotloop
