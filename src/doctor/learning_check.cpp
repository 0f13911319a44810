#include "doctor/learning_check.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "run/evaluation.hpp"
#include "run/trainer.hpp"

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostPoints = 10;
constexpr int kMostEpisodes = 30;     // of an evaluation
constexpr double kEvaluations = 0.5;  // of the time of training, at most
constexpr double kLittle = 0.1;       // of what the baseline learnt: no difference worth the name

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class X>
double mean_over(const ShortRun& run, double end, X&& x) {
  double area = 0;
  for (std::size_t i = 0; i < run.size() && x(run[i]) < end; ++i) {
    const double next = i + 1 < run.size() ? std::min(end, x(run[i + 1])) : end;
    area += (next - x(run[i])) * run[i].greedy_return;
  }
  return area / end;
}

// Student's t for a 95 % interval.
double t_quantile(int degrees) {
  constexpr std::array<double, 10> kTable = {12.71, 4.303, 3.182, 2.776, 2.571,
                                             2.447, 2.365, 2.306, 2.262, 2.228};
  return degrees <= static_cast<int>(kTable.size()) ? kTable[degrees - 1] : 1.96 + 2.6 / degrees;
}

struct Interval {
  double mean = 0, low = 0, high = 0;
};
Interval interval_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  if (values.size() < 2) return {mean, -HUGE_VAL, HUGE_VAL};
  const double half =
      t_quantile(static_cast<int>(values.size()) - 1) * std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

// `scale` is what the baseline learnt; without anything learnt nothing can be shown.
Effect judge(const Interval& difference, double scale) {
  if (!(scale > 0)) return Effect::not_shown;
  const double little = kLittle * scale;
  if (difference.low > 0) return Effect::better;
  if (difference.high < 0) return Effect::worse;
  return difference.low > -little && difference.high < little ? Effect::same : Effect::not_shown;
}

}  // namespace

ShortRun train_shortly(const TrainSpec& spec, std::uint64_t seed, double seconds,
                       const std::atomic<bool>* stop) {
  TrainSpec seeded = spec;
  seeded.run.seed = seed;
  Trainer trainer(seeded);
  EvaluationOptions options = spec.evaluation;
  options.episodes = std::min(options.episodes, kMostEpisodes);
  // All seeds and specs are measured on the same starts.
  Evaluator evaluator(seeded.world(), options, spec.run.seed, trainer.network().structure(),
                      network_head(seeded));
  ShortRun run;
  double trained = 0, evaluated = 0;
  const auto evaluate = [&] {
    const auto start = Clock::now();
    const LearntNetwork& network = trainer.network();
    const double mean = evaluator.run(network.online(), network.scale(), trainer.team()).mean;
    run.push_back({trained, static_cast<double>(trainer.counters().updates), mean});
    evaluated += seconds_since(start);
  };
  evaluate();
  const double points =
      std::clamp(kEvaluations * seconds / std::max(evaluated, 1e-9), 2.0, double{kMostPoints});
  double next = seconds / points;
  while (trained < seconds && !trainer.done() && !(stop != nullptr && stop->load())) {
    const auto start = Clock::now();
    trainer.round();
    trained += seconds_since(start);
    if (trained < next) continue;
    // A network that became slower to evaluate is evaluated less often.
    next = trained +
           std::max(seconds / points, evaluated / static_cast<double>(run.size()) / kEvaluations);
    evaluate();
  }
  if (run.back().seconds < trained) evaluate();
  return run;
}

double mean_over_seconds(const ShortRun& run, double end) {
  return mean_over(run, end, [](const LearningPoint& p) { return p.seconds; });
}
double mean_over_updates(const ShortRun& run, double end) {
  return mean_over(run, end, [](const LearningPoint& p) { return p.updates; });
}

LearningEffect compare_learning(const std::vector<ShortRun>& baseline,
                                const std::vector<ShortRun>& changed, double seconds) {
  LearningEffect effect;
  effect.seeds = static_cast<int>(std::min(baseline.size(), changed.size()));
  effect.seconds = seconds;
  if (effect.seeds == 0) return effect;
  std::vector<double> in_time, in_updates;
  const double n = effect.seeds;
  for (int i = 0; i < effect.seeds; ++i) {
    const ShortRun &a = baseline[i], &b = changed[i];
    in_time.push_back(mean_over_seconds(b, seconds) - mean_over_seconds(a, seconds));
    const double updates = std::min(a.back().updates, b.back().updates);
    if (updates > 0) {
      in_updates.push_back(mean_over_updates(b, updates) - mean_over_updates(a, updates));
    }
    effect.return_start += a.front().greedy_return / n;
    effect.return_before += a.back().greedy_return / n;
    effect.return_after += b.back().greedy_return / n;
    effect.updates_before += a.back().updates / n;
    effect.updates_after += b.back().updates / n;
  }
  const double scale = std::max(effect.return_before, effect.return_after) - effect.return_start;
  const Interval time = interval_of(in_time);
  effect.difference = time.mean;
  effect.low = time.low;
  effect.high = time.high;
  effect.per_second = judge(time, scale);
  if (in_updates.size() == in_time.size()) {
    const Interval updates = interval_of(in_updates);
    effect.difference_per_update = updates.mean;
    effect.per_update = judge(updates, scale);
  }
  return effect;
}

}  // namespace hotloop
