// Which of two specs trains faster? Two real sessions, with logs and checkpoints as their specs say,
// advance in turns over the same env steps, A B, B A, A B, ...; again and again from fresh sessions with
// the next seed, because where memory happens to lie matters too. Runs go to the end of the spec, solved
// or not, if there is time for it; otherwise only the beginning of them is compared, and evaluations at
// the end are not.
//
// Evaluations count only if both train the same: otherwise a policy that plays worse would seem faster
// because its games are over sooner.
#pragma once

#include <atomic>
#include <vector>

#include "core/phase_clock.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// B against A: the time of A per env step, divided by that of B.
struct Speed {
  double ratio = 0;
  double low = 0, high = 0;  // 95 % interval: bootstrap over sessions and their turns, and 1.5 %
                             // for what differs between processes
  double steps_per_second_a = 0, steps_per_second_b = 0;
  double updates_per_second_a = 0, updates_per_second_b = 0;
  PhaseSeconds phases_a{};  // where the time of A went
  int turns = 0;
  static constexpr int kMinTurns = 6;  // with fewer, the interval means little
  bool same_parameters =
      true;  // after every pair of sessions, as far as both were at the same step

  bool can_tell() const { return turns >= kMinTurns; }
  bool is_faster() const { return can_tell() && low > 1; }
};

// Times of the same stretch of env steps.
struct Turn {
  double seconds_a = 0, seconds_b = 0;
  double steps_a = 0, steps_b = 0;
};
// Fills ratio, low and high: [sessions][turns].
void estimate_ratio(const std::vector<std::vector<Turn>>& sessions, Speed& speed);

// Takes about this many seconds. Without a single turn (stopped, or no time to warm up), turns is 0.
Speed compare_speed(const TrainSpec& a, const TrainSpec& b, bool evaluations, double seconds,
                    const std::atomic<bool>* stop);

}  // namespace hotloop
