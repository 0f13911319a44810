// The threads of a trainer: as many as the spec says or, with run.threads: auto, as many as turn out
// to be the fastest.
//
// Results do not depend on the number of threads, so training itself is the measurement: after half
// a second of learning, rounds take turns with 1, 2, 4, ... threads, and the fastest number stays.
// Shorter runs use one thread, and so do runs without work for several.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/thread_team.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// The threads that one number of them makes. In pipelined rounds a pair of threads collects and
// learns, and the learner has helpers.
struct Crew {
  Crew(int threads, bool pipelined);

  ThreadTeam team, pair, learners;
};

class ThreadChoice {
 public:
  // `shares_work`: whether learning or collecting has work for several threads.
  ThreadChoice(const TrainSpec& spec, bool shares_work);

  Crew& crew() { return *crews_[now_]; }
  const Crew& crew() const { return *crews_[now_]; }
  // Between the rounds of training. `learns`: whether the round made updates.
  void begin_round();
  void end_round(bool learns);
  // "2 of 2 threads: a round takes 2.05 ms with 1, 1.21 ms with 2"; empty until there is a choice.
  const std::string& reason() const { return reason_; }

 private:
  using Clock = std::chrono::steady_clock;

  void end_turn();
  void decide();

  std::vector<std::unique_ptr<Crew>> crews_;  // with 1, 2, 4, ... threads
  std::size_t now_ = 0;
  bool is_decided_;
  double waited_ = 0;                       // seconds of learning before the first turn
  Clock::time_point began_;                 // the round
  double seconds_ = 0;                      // of this turn
  std::int64_t rounds_ = 0;                 // in this turn, 0 while the threads wake up
  std::vector<std::vector<double>> turns_;  // [crews] seconds per round
  std::string reason_;
};

}  // namespace hotloop
