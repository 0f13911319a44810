#include "doctor/contest.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include <hotloop/error.hpp>
#include <hotloop/rng.hpp>

#include "doctor/scratch_folder.hpp"
#include "run/model_file.hpp"
#include "run/session.hpp"
#include "run/summary.hpp"

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSessions = 4;  // fresh pairs
constexpr int kDraws = 2000;  // of the bootstrap

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs of one spec, one after the other, each with the next seed.
class Runner {
 public:
  Runner(TrainSpec spec, std::uint64_t seed, bool evaluations) : spec_(std::move(spec)) {
    spec_.run.seed = seed;
    spec_.evaluation.stop_when_solved = false;
    if (!evaluations) {  // one step at the end of a run
      spec_.evaluation.every = 0;
      spec_.evaluation.episodes = 1;
      spec_.evaluation.max_steps = 1;
    }
    begin();
  }

  // Until `steps` env steps of all runs together, warm-ups left out; returns the seconds.
  double advance_to(std::int64_t steps) {
    double seconds = 0;
    while (this->steps() < steps) {
      const auto start = Clock::now();
      session_->advance();
      seconds += seconds_since(start);
      if (session_->finished()) next();
    }
    return seconds;
  }
  // For so long.
  double advance_for(double seconds) {
    double spent = 0;
    while (spent < seconds) spent += advance_to(steps() + 1);
    return spent;
  }

  std::int64_t steps() const { return steps_before_ + counters().env_steps - warm_up_.env_steps; }
  std::int64_t updates() const { return updates_before_ + counters().updates - warm_up_.updates; }
  // Without what is unaccounted: most of that is the other's turn.
  PhaseSeconds phases() const {
    PhaseSeconds sum = session_->trainer().clock().seconds();
    for (std::size_t i = 0; i < kPhaseCount; ++i) sum[i] += phases_before_[i];
    sum.back() = 0;
    return sum;
  }
  std::string parameters() {
    const LearntNetwork& network = session_->trainer().network();
    return parameters_hash(network.structure(), network.online());
  }

 private:
  const Counters& counters() const { return session_->trainer().counters(); }

  void begin() {
    folder_ = std::make_unique<ScratchFolder>();
    session_ = std::make_unique<Session>(spec_, folder_->path(), SessionHooks{});
    session_->start();
    while (counters().env_steps <= spec_.q.learning_starts && !session_->finished()) {
      session_->advance();
    }
    warm_up_ = counters();
    session_->trainer().clock() = PhaseClock();
    if (session_->finished()) {
      throw UsageError("the run ends before it learns: algo.learning_starts is beyond its end");
    }
  }
  void next() {
    steps_before_ = steps();
    updates_before_ = updates();
    phases_before_ = phases();
    session_.reset();
    ++spec_.run.seed;
    begin();
  }

  TrainSpec spec_;
  std::unique_ptr<ScratchFolder> folder_;
  std::unique_ptr<Session> session_;
  Counters warm_up_;
  std::int64_t steps_before_ = 0, updates_before_ = 0;
  PhaseSeconds phases_before_{};
};

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
  speed.low = quantile(ratios, 0.025);
  speed.high = quantile(ratios, 0.975);
}

Speed compare_speed(const TrainSpec& a, const TrainSpec& b, bool evaluations, double seconds,
                    const std::atomic<bool>* stop) {
  constexpr int kTurns = 12;  // of a session; each as long for A
  const auto stopped = [&] { return stop != nullptr && stop->load(); };
  const auto start = Clock::now();
  std::vector<std::vector<Turn>> sessions;
  Speed speed;
  double updates_a = 0, updates_b = 0, seconds_a = 0, seconds_b = 0;
  for (int session = 0; session < kSessions && !stopped(); ++session) {
    const double until = seconds * (session + 1) / kSessions;
    const std::uint64_t seed = a.run.seed + 100 * static_cast<std::uint64_t>(session);
    Runner first(a, seed, evaluations), second(b, seed, evaluations);
    const double slice = std::max(0.002, (until - seconds_since(start)) / (2 * kTurns));
    std::vector<Turn> turns;
    for (int i = 0; i < kTurns && !stopped(); ++i) {
      if (i >= 2 && seconds_since(start) > until) break;
      const std::int64_t begin_a = first.steps(), begin_b = second.steps();
      Turn turn;
      if (i % 2 == 0) {
        turn.seconds_a = first.advance_for(slice);
        turn.seconds_b = second.advance_to(first.steps());
      } else {
        turn.seconds_b =
            second.advance_to(begin_b + static_cast<std::int64_t>(turns.back().steps_a));
        turn.seconds_a = first.advance_to(second.steps());
      }
      turn.steps_a = static_cast<double>(first.steps() - begin_a);
      turn.steps_b = static_cast<double>(second.steps() - begin_b);
      seconds_a += turn.seconds_a;
      seconds_b += turn.seconds_b;
      turns.push_back(turn);
    }
    if (first.steps() == second.steps()) {
      speed.same_parameters &= first.parameters() == second.parameters();
    }
    updates_a += static_cast<double>(first.updates());
    const PhaseSeconds phases = first.phases();
    for (std::size_t i = 0; i < kPhaseCount; ++i) speed.phases_a[i] += phases[i];
    updates_b += static_cast<double>(second.updates());
    speed.turns += static_cast<int>(turns.size());
    if (!turns.empty()) sessions.push_back(std::move(turns));
  }
  if (sessions.empty()) return speed;
  estimate_ratio(sessions, speed);
  speed.updates_per_second_a = updates_a / seconds_a;
  speed.updates_per_second_b = updates_b / seconds_b;
  return speed;
}

}  // namespace hotloop
