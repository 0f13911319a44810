#include "bench/measure.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace hotloop::bench {
namespace {

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration)
        times[run.run_name.function_name].push_back(run.GetAdjustedRealTime());
    }
  }
  std::map<std::string, std::vector<double>> times;  // nanoseconds
};

}  // namespace

void Measurement::add(const std::string& name, std::function<void()> body) {
  cases_[name] = std::move(body);
}

std::map<std::string, Timing> Measurement::run(int repetitions, double seconds) {
  std::array<std::string, 2> flags = {"bench", "--benchmark_enable_random_interleaving=true"};
  std::array<char*, 3> argv = {flags[0].data(), flags[1].data(), nullptr};
  int argc = 2;
  benchmark::Initialize(&argc, argv.data());
  benchmark::ClearRegisteredBenchmarks();
  for (const auto& [name, body] : cases_) {
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&body = body](benchmark::State& state) {
                                   for (auto _ : state) body();
                                 })
        ->MinTime(seconds)
        ->Repetitions(repetitions)
        ->UseRealTime();
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  std::map<std::string, Timing> result;
  for (auto& [name, times] : collector.times) {
    std::sort(times.begin(), times.end());
    const auto quantile = [&times = times](double q) {
      return times[static_cast<std::size_t>(
          std::lround(q * static_cast<double>(times.size() - 1)))];
    };
    result[name] = {quantile(0.5) / 1e3, (quantile(0.75) - quantile(0.25)) / quantile(0.5)};
  }
  cases_.clear();
  return result;
}

}  // namespace hotloop::bench
