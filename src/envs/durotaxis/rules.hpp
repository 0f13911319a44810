// The options of durotaxis, and the rules that follow from them.
//
// Durotaxis is the movement of cells towards stiffer ground. A colony lies on a field whose
// stiffness, the intensity I, depends only on the column x = 0 .. W - 1:
//   linear       I(x) = m x + b
//   exponential  I(x) = b exp(m x)
// In a step the k = trunc(ratio N) leftmost of its N cells are deleted. Each of the others spawns a
// child at distance r in direction theta (a Hill law), kept off the edges by a margin:
//   r = gamma / (1 + (alpha / I)^2) + noise
// So N becomes 2 (N - k), and a colony survives only while it deletes about as much as it grows.
// The environment follows the design of a public trainer, rl-durotaxis, without its defects.
#pragma once

#include <hotloop/env.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace hotloop {

inline constexpr int kDurotaxisMaxCells = 500;  // the largest hard_limit
inline constexpr int kDurotaxisLanes = 8;       // the size of cell arrays is a multiple of this
inline constexpr int kDurotaxisGraphFeatures = 19;
inline constexpr int kDurotaxisCellFeatures = 11;
inline constexpr int kDurotaxisEdgeFeatures = 3;

static_assert(2 * kDurotaxisMaxCells % kDurotaxisLanes == 0);

enum class DurotaxisSubstrate { linear, exponential, random };
enum class DurotaxisMode { normal, deletion, distance, combined };

struct DurotaxisField {
  bool exponential = false;
  double slope = 0.05;  // m
  double offset = 1;    // b

  // Constant within a column. Positions beyond the field have the intensity of its edge.
  double at(double x, int width) const {
    const double column = std::trunc(std::clamp(x, 0.0, width - 1.0));
    return exponential ? offset * std::exp(slope * column) : slope * column + offset;
  }
};

// One action, the same for all cells.
struct DurotaxisAction {
  double ratio = 0;
  double gamma = 0.5;
  double alpha = 2;
  double noise = 0.1;
  double theta = 0;

  double distance(double intensity) const {
    if (!(intensity > 1e-6)) intensity = 1;
    const double stretch = alpha / intensity;
    return gamma / (1 + stretch * stretch) + noise;
  }
};

struct DurotaxisRules {
  int width = 600;
  int height = 400;
  DurotaxisSubstrate substrate = DurotaxisSubstrate::linear;
  double slope = 0.05;
  double offset = 1;
  int cells = 5;  // at the start
  double ratio = 0.5;
  int stage = 2;
  DurotaxisMode reward = DurotaxisMode::distance;
  bool include_termination = true;
  bool delta = true;
  double terminal_scale = 0.02;
  double terminal_clip = 10;
  double penalty_factor = 1;
  bool bonus = false;
  int soft_limit = 50;
  int hard_limit = 100;
  bool recovery = false;
  int recovery_cells = 5;
  int recovery_attempts = 2;
  int patience = 30;
  double success = 0.99;
  int max_steps = 1000;
  bool unit = false;

  // Spawning, before deleting, can double the cells. Above hard_limit the episode ends.
  int capacity() const {
    return (2 * hard_limit + kDurotaxisLanes - 1) / kDurotaxisLanes * kDurotaxisLanes;
  }
  double goal() const { return width - 1.0; }
  double margin_x() const { return std::max(2.0, 0.01 * width); }
  double margin_y() const { return std::max(2.0, 0.01 * height); }
  // Spawning can still reach the line: the minimum is for the last bit of a float.
  float success_line() const {
    return std::min(static_cast<float>(success * width), static_cast<float>(width - margin_x()));
  }
  DurotaxisField field() const {
    return {substrate == DurotaxisSubstrate::exponential, slope, offset};
  }
  // The largest intensity that a field can have.
  double max_intensity() const;
  // Clips to the bounds of the spec. Stage 1 uses only the ratio.
  DurotaxisAction clip(std::span<const float> action) const;
};

std::span<const EnvOption> durotaxis_options();

// `values` has one number per option, or is empty for the defaults. Throws UsageError if two
// options contradict each other.
DurotaxisRules durotaxis_rules(std::span<const double> values);

EnvSpec durotaxis_spec(const DurotaxisRules& rules);

}  // namespace hotloop
