// Does it still learn? Short training runs of a spec and of changed specs, over several seeds, with
// greedy evaluations in between: return against seconds of training and against updates.
//
// The mean greedy return over the time is compared, each seed with the same seed of the baseline.
// It is higher if a run learns sooner or better. Evaluations do not count as time. A run that ends
// early keeps its last return.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "spec/spec.hpp"

namespace hotloop {

struct LearningPoint {
  double seconds = 0;  // of training
  double updates = 0;
  double greedy_return = 0;
};
using ShortRun = std::vector<LearningPoint>;  // the first point is before training

// Trains for this many seconds, or to the end of the spec.
ShortRun train_shortly(const TrainSpec& spec, std::uint64_t seed, double seconds,
                       const std::atomic<bool>* stop);

// The mean of the return from 0 to `end`; each value holds until the next.
double mean_over_seconds(const ShortRun& run, double end);
double mean_over_updates(const ShortRun& run, double end);

enum class Effect { better, same, worse, not_shown };
inline constexpr std::string_view kEffectNames[] = {"better", "same", "worse", "not shown"};

// Changed runs compared with the baseline, one run per seed.
struct LearningEffect {
  int seeds = 0;
  double seconds = 0;  // per run
  Effect per_second = Effect::not_shown, per_update = Effect::not_shown;
  double difference = 0, low = 0, high = 0;      // of the mean return over time, with its interval
  double return_start = 0;                       // before training, mean over seeds
  double return_before = 0, return_after = 0;    // at the end: baseline, changed
  double updates_before = 0, updates_after = 0;  // at the end: baseline, changed; mean over seeds
  double difference_per_update = 0;              // over the updates that both made
};
// Intervals are Student's t, each at confidence 1 - 5 % / comparisons (Bonferroni): at most one
// diagnosis in twenty reports a difference that does not exist.
LearningEffect compare_learning(const std::vector<ShortRun>& baseline,
                                const std::vector<ShortRun>& changed, double seconds,
                                int comparisons = 1);

// Student's t lies within +- this value with probability `confidence`.
double t_quantile(double confidence, int degrees);

}  // namespace hotloop
