// The options of durotaxis, and the rules that follow from them.
//
// Durotaxis is the way of cells towards stiffer ground. A colony lies on a field whose stiffness, the
// intensity I, depends on the column x = 0 .. W - 1 alone:
//   linear       I(x) = m x + b
//   exponential  I(x) = b exp(m x)
// In a step the k = trunc(ratio N) leftmost of its N cells are deleted, and each other one spawns a
// child at a distance r from it in the direction theta (a Hill law), kept off the edges by a margin:
//   r = gamma / (1 + (alpha / I)^2) + noise
// So N becomes 2 (N - k), and a colony lives only while it deletes about as much as it grows. The
// environment follows a public trainer, rl-durotaxis, as its design says; its defects are left out.
#pragma once

#include <hotloop/env.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace hotloop {

inline constexpr int kDurotaxisMaxCells = 500;  // the largest hard_limit
inline constexpr int kDurotaxisLanes = 8;       // arrays of cells are multiples of it
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

  // Columns are constant; what lies beyond the field has the intensity of its edge.
  double at(double x, int width) const {
    const double column = std::trunc(std::clamp(x, 0.0, width - 1.0));
    return exponential ? offset * std::exp(slope * column) : slope * column + offset;
  }
};

// One action, for all cells alike.
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
  int cells = 5;  // in the beginning
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

  // Spawning comes before deleting, and a colony above hard_limit is at its end.
  int capacity() const {
    return (2 * hard_limit + kDurotaxisLanes - 1) / kDurotaxisLanes * kDurotaxisLanes;
  }
  double goal() const { return width - 1.0; }
  double margin_x() const { return std::max(2.0, 0.01 * width); }
  double margin_y() const { return std::max(2.0, 0.01 * height); }
  // The line lies where spawning can still reach it; the smaller one is for the last bit of a float.
  float success_line() const {
    return std::min(static_cast<float>(success * width), static_cast<float>(width - margin_x()));
  }
  DurotaxisField field() const {
    return {substrate == DurotaxisSubstrate::exponential, slope, offset};
  }
  // The largest that a field can have.
  double max_intensity() const;
  // Within the bounds of the spec, and of stage 1.
  DurotaxisAction clip(std::span<const float> action) const;
};

std::span<const EnvOption> durotaxis_options();

// `values` has one number per option, or none for the initial ones. Throws UsageError if two options
// contradict each other.
DurotaxisRules durotaxis_rules(std::span<const double> values);

EnvSpec durotaxis_spec(const DurotaxisRules& rules);

}  // namespace hotloop
