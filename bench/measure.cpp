#include "bench/measure.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace hotloop::bench {
namespace {

// Untimed warm-up calls: the number of timed calls divided by this.
constexpr benchmark::IterationCount kWarmUp = 4;

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      last[run.run_name.function_name] = {run.iterations, run.GetAdjustedRealTime()};
    }
  }

  struct Turn {
    benchmark::IterationCount calls;
    double nanoseconds;  // per call
  };
  std::map<std::string, Turn> last;
};

double quantile(std::vector<double>& values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

template <class F>
double median_over_turns(const Timing& timing, F&& value) {
  std::vector<double> values;
  for (std::size_t turn = 0; turn < timing.turns_us.size(); ++turn) values.push_back(value(turn));
  return quantile(values, 0.5);
}

}  // namespace

double ratio(const Timing& of, const Timing& to) {
  return median_over_turns(of, [&](std::size_t i) { return of.turns_us[i] / to.turns_us[i]; });
}

double difference(const Timing& of, const Timing& from, const Timing& unit) {
  return median_over_turns(
      of, [&](std::size_t i) { return (of.turns_us[i] - from.turns_us[i]) / unit.turns_us[i]; });
}

void Measurement::add(const std::string& name, std::function<void()> body) {
  cases_[name] = std::move(body);
}

std::map<std::string, Timing> Measurement::run(int turns, double seconds) {
  char program_name[] = "bench";
  char* argv[] = {program_name, nullptr};
  int argc = 1;
  benchmark::Initialize(&argc, argv);
  Collector collector;
  std::vector<std::string> order;
  for (const auto& [name, body] : cases_) order.push_back(name);
  // Runs each case once: for `seconds` the first time, later with the same number of calls.
  const auto one_turn = [&] {
    benchmark::ClearRegisteredBenchmarks();
    for (const std::string& name : order) {
      auto* benchmark = benchmark::RegisterBenchmark(
          name.c_str(), [&body = cases_.at(name)](benchmark::State& state) {
            // The caches still hold the data of the previous case.
            for (auto i = state.max_iterations / kWarmUp; i > 0; --i) body();
            for (auto _ : state) body();
          });
      benchmark->UseRealTime();
      const auto known = collector.last.find(name);
      known == collector.last.end() ? benchmark->MinTime(seconds)
                                    : benchmark->Iterations(known->second.calls);
    }
    benchmark::RunSpecifiedBenchmarks(&collector);
  };
  one_turn();  // determines the number of calls, and warms up
  std::map<std::string, Timing> result;
  std::minstd_rand random(1);
  for (int turn = 0; turn < turns; ++turn) {
    std::shuffle(order.begin(), order.end(), random);
    one_turn();
    for (const std::string& name : order)
      result[name].turns_us.push_back(collector.last.at(name).nanoseconds / 1e3);
  }
  for (auto& [name, timing] : result) {
    std::vector<double> times = timing.turns_us;
    timing.median_us = quantile(times, 0.5);
    timing.spread = (quantile(times, 0.75) - quantile(times, 0.25)) / timing.median_us;
  }
  cases_.clear();
  return result;
}

}  // namespace hotloop::bench
