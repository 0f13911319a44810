#include "doctor/contest.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <hotloop/error.hpp>
#include <hotloop/rng.hpp>

#include "core/scratch_folder.hpp"
#include "core/statistics.hpp"
#include "core/stopwatch.hpp"
#include "record/model_file.hpp"
#include "session/session.hpp"

namespace hotloop {
namespace {

constexpr int kSessions = 4;  // fresh pairs, if there is no time for whole runs
constexpr int kTurns = 12;    // per session
constexpr int kDraws = 2000;  // of the bootstrap
// How much the speed of one program may differ between two starts on an idle machine, because its
// memory is placed differently. Sessions within one process show only part of this.
constexpr double kBetweenProcesses = 0.015;

// A run of one spec, timed from the start of learning.
class Runner {
 public:
  // Not ready if it runs out of time before it learns.
  Runner(TrainSpec spec, std::uint64_t seed, bool evaluations,
         const std::function<bool()>& out_of_time) {
    spec.run.seed = seed;
    spec.evaluation.stop_when_solved = false;
    if (!evaluations) {  // a single step at the end of the run remains
      spec.evaluation.every = 0;
      spec.evaluation.episodes = 1;
      spec.evaluation.max_steps = 1;
    }
    session_.emplace(spec, folder_.path(), SessionHooks{});
    session_->start();
    while (counters().env_steps <= spec.learn.learning_starts && !finished()) {
      if (out_of_time()) return;
      session_->advance();
    }
    if (finished()) {
      throw UsageError("the run ends before learning starts: algo.learning_starts is too large");
    }
    ready_ = true;
    warm_up_ = counters();
    session_->trainer().clock() = PhaseClock(Phase::other);
  }

  // Advances to `steps` env steps or the end of the run; returns the seconds it took.
  double advance_to(std::int64_t steps) {
    const Stopwatch watch;
    while (this->steps() < steps && !finished()) session_->advance();
    return end_turn(watch);
  }
  double advance_for(double seconds) {
    const Stopwatch watch;
    while (watch.seconds() < seconds && !finished()) session_->advance();
    return end_turn(watch);
  }

  bool ready() const { return ready_; }
  bool finished() const { return session_->finished(); }
  // The finished share of the run.
  double progress() const {
    const RunOptions& run = session_->trainer().spec().run;
    const auto share = [](std::int64_t done, std::int64_t all) {
      return static_cast<double>(done) / static_cast<double>(all);
    };
    const double steps = share(counters().env_steps, run.steps);
    return run.episodes > 0 ? std::max(steps, share(counters().episodes, run.episodes)) : steps;
  }
  std::int64_t steps() const { return counters().env_steps - warm_up_.env_steps; }
  std::int64_t updates() const { return counters().updates - warm_up_.updates; }
  // Without unaccounted time, which is mostly the turns of the other runner.
  PhaseSeconds phases() const {
    PhaseSeconds seconds = session_->trainer().clock().seconds();
    seconds.back() = 0;
    return seconds;
  }
  std::string parameters() {
    const LearntNetwork& network = session_->trainer().network();
    return parameters_hash(network.structure(), network.online());
  }

 private:
  const Counters& counters() const { return session_->trainer().counters(); }
  // The time that follows belongs to the other runner.
  double end_turn(const Stopwatch& watch) {
    const double seconds = watch.seconds();
    session_->trainer().clock().enter(Phase::other);
    return seconds;
  }

  ScratchFolder folder_;
  std::optional<Session> session_;
  Counters warm_up_;
  bool ready_ = false;
};

// Both advance over the same env steps, one after the other. They alternate in going first.
Turn take_turn(Runner& a, Runner& b, double slice, const std::vector<Turn>& before) {
  const std::int64_t begin_a = a.steps(), begin_b = b.steps();
  Turn turn;
  if (before.size() % 2 == 0) {
    turn.seconds_a = a.advance_for(slice);
    turn.seconds_b = b.advance_to(a.steps());
  } else {
    turn.seconds_b = b.advance_to(begin_b + static_cast<std::int64_t>(before.back().steps_a));
    turn.seconds_a = a.advance_to(b.steps());
  }
  turn.steps_a = static_cast<double>(a.steps() - begin_a);
  turn.steps_b = static_cast<double>(b.steps() - begin_b);
  return turn;
}

}  // namespace

void estimate_ratio(const std::vector<std::vector<Turn>>& sessions, Speed& speed) {
  const auto ratio_of = [](const Turn& sum) {
    return (sum.seconds_a / sum.steps_a) / (sum.seconds_b / sum.steps_b);
  };
  const auto add = [](Turn& sum, const Turn& turn) {
    sum.seconds_a += turn.seconds_a;
    sum.seconds_b += turn.seconds_b;
    sum.steps_a += turn.steps_a;
    sum.steps_b += turn.steps_b;
  };
  Turn all;
  for (const auto& turns : sessions) {
    for (const Turn& turn : turns) add(all, turn);
  }
  speed.ratio = ratio_of(all);
  speed.steps_per_second_a = all.steps_a / all.seconds_a;
  speed.steps_per_second_b = all.steps_b / all.seconds_b;
  Rng rng(1, Purpose::test, 0, 0);
  std::vector<double> ratios;
  for (int draw = 0; draw < kDraws; ++draw) {
    Turn sum;
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      const auto& turns = sessions[rng.below(static_cast<std::uint32_t>(sessions.size()))];
      for (std::size_t j = 0; j < turns.size(); ++j) {
        add(sum, turns[rng.below(static_cast<std::uint32_t>(turns.size()))]);
      }
    }
    ratios.push_back(ratio_of(sum));
  }
  const auto widened = [&](double share, double sign) {
    const double off = quantile(ratios, share) / speed.ratio - 1;
    return speed.ratio * (1 + sign * std::hypot(off, kBetweenProcesses));
  };
  speed.low = widened(0.025, -1);
  speed.high = widened(0.975, 1);
}

Speed compare_speed(const TrainSpec& a, const TrainSpec& b, bool evaluations, double seconds,
                    const std::atomic<bool>* stop) {
  const Stopwatch watch;
  const auto out_of_time = [&](double needed) {
    return (stop != nullptr && stop->load()) || watch.seconds() + needed > seconds;
  };
  const double slice = std::max(0.002, seconds / (2 * kTurns * kSessions));
  Speed speed;
  std::vector<std::vector<Turn>> sessions;
  double updates_a = 0, updates_b = 0, seconds_a = 0, seconds_b = 0;
  double took = 0;     // seconds for the last pair
  bool whole = false;  // there is time for runs to go to their end
  for (std::uint64_t seed = a.run.seed; !out_of_time(0.8 * took); ++seed) {
    const double began = watch.seconds();
    const auto late = [&] { return out_of_time(0); };
    Runner first(a, seed, evaluations, late), second(b, seed, evaluations, late);
    if (!first.ready() || !second.ready()) break;
    std::vector<Turn> turns;
    // A whole run that has started is completed.
    const double grace = whole ? 0.3 * took : 0;
    while (!first.finished() && !second.finished() && !out_of_time(-grace)) {
      const double spent = watch.seconds() - began;
      if (turns.size() == 2 && sessions.empty()) whole = spent / first.progress() < seconds;
      if (turns.size() > 1 && !whole && spent > seconds / kSessions) break;
      turns.push_back(take_turn(first, second, slice, turns));
      seconds_a += turns.back().seconds_a;
      seconds_b += turns.back().seconds_b;
    }
    if (turns.empty()) break;
    took = watch.seconds() - began;
    if (first.steps() == second.steps()) {
      speed.same_parameters &= first.parameters() == second.parameters();
    }
    const PhaseSeconds phases = first.phases();
    for (std::size_t i = 0; i < kPhaseCount; ++i) speed.phases_a[i] += phases[i];
    updates_a += static_cast<double>(first.updates());
    updates_b += static_cast<double>(second.updates());
    speed.turns += static_cast<int>(turns.size());
    sessions.push_back(std::move(turns));
  }
  if (sessions.empty()) return speed;
  estimate_ratio(sessions, speed);
  speed.updates_per_second_a = updates_a / seconds_a;
  speed.updates_per_second_b = updates_b / seconds_b;
  return speed;
}

}  // namespace hotloop
