// hotloop bench clock: the cost of the always-on phase clock, and of a profile.
//
// One trainer runs slices of rounds in four interleaved modes: no round is split; the clock as in
// every run; as in a profile, which reads the time after every round; and with a trace, which
// records every visit. Neighbouring slices are compared by CPU time, so that neither other load on
// the machine nor the memory layout of a trainer matters.
#include <fmt/format.h>
#include <time.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/measure.hpp"
#include "core/statistics.hpp"
#include "train/trainer.hpp"

namespace hotloop::bench {
namespace {

using Clock = std::chrono::steady_clock;
enum Mode { plain, clocked, profiled, traced, kModes };

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double switch_nanoseconds() {
  Measurement measurement;
  const auto clock = std::make_shared<PhaseClock>();
  measurement.add("two switches", [clock] {
    clock->enter(Phase::act_forward);
    clock->enter(Phase::env_step);
  });
  return measurement.run().at("two switches").median_us / 2 * 1e3;
}

class Comparison {
 public:
  explicit Comparison(const std::string& spec) : trainer_(load_spec(spec, kOverrides)) {
    while (trainer_.counters().updates < 1000) trainer_.round();
    const double start = cpu_seconds();
    int rounds = 0;
    while (cpu_seconds() - start < 10 * kSliceSeconds) trainer_.round(), ++rounds;
    rounds_ = std::max(1, rounds / 10);
    const double slice_seconds = (cpu_seconds() - start) / rounds * rounds_;
    turns_ = static_cast<int>(kSeconds / (int{kModes} * slice_seconds));
  }

  // Percent by which each mode is slower than the plain one: [mode][turn].
  std::array<std::vector<double>, kModes> run() {
    std::array<std::vector<double>, kModes> percent;
    for (int turn = 0; turn < turns_; ++turn) {
      std::array<double, kModes> times{};
      for (int i = 0; i < kModes; ++i) {
        const int place = turn % 2 == 0 ? i : kModes - 1 - i;  // forwards, then backwards
        const int mode = (place + turn) % kModes;
        times[mode] = slice(static_cast<Mode>(mode));
      }
      for (int mode = 0; mode < kModes; ++mode) {
        percent[mode].push_back(100 * (times[mode] / times[plain] - 1));
      }
    }
    return percent;
  }

 private:
  double slice(Mode mode) {
    trainer_.clock().set_splitting(mode != plain);
    trainer_.clock().trace(mode == traced ? std::span(visits_) : std::span<PhaseVisit>());
    const double start = cpu_seconds();
    Clock::time_point now;
    for (int i = 0; i < rounds_; ++i) {
      trainer_.round();
      if (mode >= profiled) now = std::max(now, Clock::now());
    }
    asm volatile("" : : "r"(now.time_since_epoch().count()));  // keeps `now` alive
    return cpu_seconds() - start;
  }

  static constexpr double kSeconds = 12;
  static constexpr double kSliceSeconds = 0.002;
  inline static const std::vector<std::string> kOverrides = {fmt::format("run.steps={}", kNoLimit),
                                                             "evaluation.every=0",
                                                             "evaluation.stop_when_solved=false"};
  Trainer trainer_;
  int rounds_ = 1;  // of a slice
  int turns_ = 1;
  std::vector<PhaseVisit> visits_ = std::vector<PhaseVisit>(1'000'000);
};

}  // namespace

Json clock_benchmark() {
  const double switch_ns = switch_nanoseconds();
  Json rows = Json::array();
  for (const char* name : {"cartpole_dqn", "cartpole_dqn_zoo", "cartpole_dqn_cleanrl"}) {
    const auto percent = Comparison(name).run();
    Json row = {{"name", name}, {"switch_ns", switch_ns}};
    const auto add = [&](const std::string& mode, const std::vector<double>& values) {
      row[mode + "_percent"] = quantile(values, 0.5);
      row[mode + "_quartiles"] =
          fmt::format("{:.2f} to {:.2f}", quantile(values, 0.25), quantile(values, 0.75));
    };
    add("clock", percent[clocked]);
    add("profile", percent[profiled]);
    add("trace", percent[traced]);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace hotloop::bench
