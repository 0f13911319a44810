// hotloop bench threads: how much faster training is with several threads than with one, spec by
// spec. Trainers with 1, 2, 4, ... threads take turns, each warm, on whole rounds of collecting and
// learning; `auto` is a run with run.threads: auto against one thread, from its first step and with
// everything that it tries.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "bench/benchmarks.hpp"
#include "core/statistics.hpp"
#include "core/system.hpp"
#include "train/trainer.hpp"

namespace hotloop::bench {
namespace {

constexpr double kTurn = 0.05;  // seconds
constexpr int kTurns = 15;
constexpr double kRun = 1.2;  // seconds of a run with one thread, for `auto`
constexpr int kRuns = 3;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void play(Trainer& trainer, std::int64_t rounds) {
  for (std::int64_t i = 0; i < rounds; ++i) trainer.round();
  trainer.clock().enter(Phase::other);  // others run next
}

TrainSpec endless(TrainSpec spec, int threads) {
  spec.threads = threads;
  spec.run.steps = kNoLimit;
  spec.run.episodes = 0;
  return spec;
}

// Rounds that take about that long, once the trainer learns.
std::int64_t rounds_in(Trainer& trainer, double seconds) {
  while (trainer.counters().updates == 0) trainer.round();
  std::int64_t rounds = 0;
  const double taken = seconds_of([&] {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds)) {
      trainer.round();
      ++rounds;
    }
  });
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(rounds * seconds / taken));
}

// Median of the ratios of turns with one thread to those with more.
double speed_up(const TrainSpec& spec, int threads, double* spread) {
  Trainer one(endless(spec, 1)), several(endless(spec, threads));
  const std::int64_t rounds = rounds_in(one, kTurn);
  rounds_in(several, kTurn);
  std::vector<double> ratios;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double slow = seconds_of([&] { play(one, rounds); });
    const double fast = seconds_of([&] { play(several, rounds); });
    ratios.push_back(slow / fast);
  }
  *spread = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / quantile(ratios, 0.5);
  return quantile(ratios, 0.5);
}

// The same for whole runs with run.threads: auto.
double speed_up_of_auto(const TrainSpec& spec, int* threads) {
  Trainer probe(endless(spec, 1));
  const std::int64_t rounds = rounds_in(probe, kRun);
  std::vector<double> ratios;
  for (int run = 0; run < kRuns; ++run) {
    Trainer one(endless(spec, 1)), automatic(endless(spec, 0));
    while (one.counters().updates == 0) one.round();
    while (automatic.counters().updates == 0) automatic.round();
    const double slow = seconds_of([&] { play(one, rounds); });
    ratios.push_back(slow / seconds_of([&] { play(automatic, rounds); }));
    *threads = automatic.team().size();
  }
  return quantile(ratios, 0.5);
}

}  // namespace

Json threads_benchmark() {
  Json rows = Json::array();
  for (const SpecInfo& info : ready_made_specs()) {
    const TrainSpec spec = load_spec(info.name);
    if (spec.env.starts_with("gymnasium:")) continue;  // needs Python
    Json row = {{"name", info.name},
                {"env_count", spec.envs},
                {"batch", spec.learn.batch},
                {"pipelined", spec.learn.pipelined ? "yes" : "no"}};
    double spread = 0;
    for (int threads = 2; threads <= usable_cores(); threads *= 2)
      row[fmt::format("threads_{}", threads)] = speed_up(spec, threads, &spread);
    int chosen = 1;
    row["spread"] = spread;
    row["auto"] = speed_up_of_auto(spec, &chosen);
    row["auto_threads"] = chosen;
    fmt::print(stderr, "{}\n", row.dump());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hotloop::bench
