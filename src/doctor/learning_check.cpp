#include "doctor/learning_check.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "algo/common/algorithm.hpp"
#include "core/stopwatch.hpp"
#include "evaluate/evaluation.hpp"
#include "session/demonstrations.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

constexpr int kMaxPoints = 10;
constexpr int kMaxEpisodes = 30;      // per evaluation
constexpr double kEvaluations = 0.5;  // maximum evaluation time / training time
constexpr double kNegligible = 0.1;   // of what was learnt: smaller differences count as none

template <class X>
double mean_over(const ShortRun& run, double end, X&& x) {
  double area = 0;
  for (std::size_t i = 0; i < run.size() && x(run[i]) < end; ++i) {
    const double next = i + 1 < run.size() ? std::min(end, x(run[i + 1])) : end;
    area += (next - x(run[i])) * run[i].greedy_return;
  }
  return area / end;
}

// The probability that Student's t lies within +-x: Simpson's rule over its density.
double probability_within(double x, int degrees) {
  constexpr int kSteps = 2000;
  const double n = degrees;
  const double scale =
      std::exp(std::lgamma((n + 1) / 2) - std::lgamma(n / 2)) / std::sqrt(n * std::numbers::pi);
  const auto density = [&](double t) { return std::pow(1 + t * t / n, -(n + 1) / 2); };
  double sum = density(0) + density(x);
  for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(x * i / kSteps);
  return 2 * scale * sum * x / kSteps / 3;
}

struct Interval {
  double mean = 0, low = 0, high = 0;
};
Interval interval_of(const std::vector<double>& values, double confidence) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  if (values.size() < 2) return {mean, -HUGE_VAL, HUGE_VAL};
  const double half = t_quantile(confidence, static_cast<int>(values.size()) - 1) *
                      std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

// `scale` is the return gained by learning; if nothing was learnt, nothing can be shown.
Effect judge(const Interval& difference, double scale) {
  if (!(scale > 0)) return Effect::not_shown;
  const double negligible = kNegligible * scale;
  if (difference.low > -negligible && difference.high < negligible) return Effect::same;
  if (difference.low > 0) return Effect::better;
  if (difference.high < 0) return Effect::worse;
  return Effect::not_shown;
}

// The state of a run after this many seconds.
const LearningPoint& reached(const ShortRun& run, double seconds) {
  const auto later = std::find_if(run.begin() + 1, run.end(), [&](const LearningPoint& p) {
    return p.seconds > 1.05 * seconds;  // with a margin, because rounds are not interrupted
  });
  return *(later - 1);
}

}  // namespace

ShortRun train_shortly(const TrainSpec& spec, std::uint64_t seed, double seconds,
                       const std::atomic<bool>* stop) {
  TrainSpec seeded = spec;
  seeded.run.seed = seed;
  const std::optional<TransitionFile> file = read_demonstrations(seeded);
  Trainer trainer(seeded, file ? &file->transitions : nullptr);
  EvaluationOptions options = spec.evaluation;
  options.episodes = std::min(options.episodes, kMaxEpisodes);
  // All seeds and specs are evaluated on the same starts.
  Evaluator evaluator(seeded.world(), options, spec.run.seed, trainer.network().structure(),
                      seeded.algorithm->head(seeded, trainer.world()));
  ShortRun run;
  double trained = 0, evaluated = 0;
  const auto evaluate = [&] {
    const Stopwatch watch;
    const LearntNetwork& network = trainer.network();
    const double mean = evaluator.run(network.online(), network.scale(), trainer.team()).mean;
    run.push_back({trained, static_cast<double>(trainer.counters().updates), mean});
    evaluated += watch.seconds();
  };
  evaluate();
  const double points =
      std::clamp(kEvaluations * seconds / std::max(evaluated, 1e-9), 2.0, double{kMaxPoints});
  double next = seconds / points;
  while (trained < seconds && !trainer.done() && !(stop != nullptr && stop->load())) {
    const Stopwatch watch;
    trainer.round();
    trained += watch.seconds();
    if (trained < next) continue;
    // A network that became slower to evaluate is evaluated less often.
    next = trained +
           std::max(seconds / points, evaluated / static_cast<double>(run.size()) / kEvaluations);
    evaluate();
  }
  if (run.back().seconds < trained) evaluate();
  return run;
}

double t_quantile(double confidence, int degrees) {
  double low = 0, high = 1e3;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (probability_within(middle, degrees) < confidence ? low : high) = middle;
  }
  return high;
}

double mean_over_seconds(const ShortRun& run, double end) {
  return mean_over(run, end, [](const LearningPoint& p) { return p.seconds; });
}
double mean_over_updates(const ShortRun& run, double end) {
  return mean_over(run, end, [](const LearningPoint& p) { return p.updates; });
}

LearningEffect compare_learning(const std::vector<ShortRun>& baseline,
                                const std::vector<ShortRun>& changed, double seconds,
                                int comparisons) {
  LearningEffect effect;
  effect.seeds = static_cast<int>(std::min(baseline.size(), changed.size()));
  effect.seconds = seconds;
  if (effect.seeds == 0) return effect;
  std::vector<double> in_time, in_updates;
  const double n = effect.seeds;
  for (int i = 0; i < effect.seeds; ++i) {
    const ShortRun &a = baseline[i], &b = changed[i];
    const LearningPoint &before = reached(a, seconds), &after = reached(b, seconds);
    in_time.push_back(mean_over_seconds(b, seconds) - mean_over_seconds(a, seconds));
    const double updates = std::min(before.updates, after.updates);
    if (updates > 0) {
      in_updates.push_back(mean_over_updates(b, updates) - mean_over_updates(a, updates));
    }
    effect.return_start += a.front().greedy_return / n;
    effect.return_before += before.greedy_return / n;
    effect.return_after += after.greedy_return / n;
    effect.updates_before += before.updates / n;
    effect.updates_after += after.updates / n;
  }
  const double scale = std::max(effect.return_before, effect.return_after) - effect.return_start;
  const double confidence = 1 - 0.05 / comparisons;
  const Interval time = interval_of(in_time, confidence);
  effect.difference = time.mean;
  effect.low = time.low;
  effect.high = time.high;
  effect.per_second = judge(time, scale);
  if (in_updates.size() == in_time.size()) {
    const Interval updates = interval_of(in_updates, confidence);
    effect.difference_per_update = updates.mean;
    effect.per_update = judge(updates, scale);
  }
  return effect;
}

}  // namespace hotloop
