// Learning curves: the evaluations of a run, and the median over several runs.
//
// They are read from metrics.jsonl. Its rows repeat an evaluation until the next one; a curve has each
// evaluation once, at the first row that shows it. (One that equals the one before in everything cannot be
// told apart, and changes no curve.) Between evaluations a run is what its last evaluation said, and after
// its end what its final one said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hotloop {

struct CurvePoint {
  std::int64_t env_steps = 0;
  std::int64_t updates = 0;
  double seconds = 0;  // of training: evaluations are left out
  double y = 0;
};

struct LearningCurve {
  std::uint64_t seed = 0;
  std::vector<CurvePoint> points;
  double end_updates = 0, end_seconds = 0;  // of the last row
};

// `y` is "return", or the name of a measure; evaluations in which it means nothing are left out. A run
// without metrics has no points. Throws RunError if a line is not a row of metrics.
LearningCurve read_learning_curve(const std::string& metrics_path, const std::string& y);

enum class CurveAxis { seconds, updates };

struct MedianPoint {
  double x = 0;
  double median = 0, low = 0, high = 0;  // over the runs: low and high are the lowest and highest
};

// Where the median can change: the x of every evaluation, from where all runs have one.
std::vector<double> every_x(const std::vector<LearningCurve>& curves, CurveAxis axis);
// As many steps of equal ratio over the same stretch, up to the last end of a run; x that are not
// positive are left out.
std::vector<double> even_x(const std::vector<LearningCurve>& curves, CurveAxis axis, int steps);

// At every x of the grid from where all runs have a value. Empty if a run has no points: a median over
// fewer would be another one.
std::vector<MedianPoint> median_curve(const std::vector<LearningCurve>& curves, CurveAxis axis,
                                      const std::vector<double>& grid);

// The smallest x at which the median is at least `level`; NaN if it never is.
double first_reached(const std::vector<MedianPoint>& curve, double level);

}  // namespace hotloop
