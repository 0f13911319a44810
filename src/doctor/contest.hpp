// Which of two specs trains faster? Two real sessions, with logs and checkpoints as their specs
// say, advance in turns over the same env steps: A B, B A, A B, ... This is repeated with fresh
// sessions and the next seed, because the placement of memory affects speed too. If there is time,
// runs go to the end of the spec, solved or not. Otherwise only their beginning is compared,
// without the evaluation at the end.
//
// Evaluations count only if both train identically. Otherwise a policy that plays worse would seem
// faster because its episodes end sooner.
#pragma once

#include <atomic>
#include <vector>

#include "core/phase_clock.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// The speed-up of B over A: time per env step of A, divided by that of B.
struct Speed {
  double ratio = 0;
  double low = 0, high = 0;  // 95 % interval: bootstrap over sessions and their turns, plus 1.5 %
                             // for differences between processes
  double steps_per_second_a = 0, steps_per_second_b = 0;
  double updates_per_second_a = 0, updates_per_second_b = 0;
  PhaseSeconds phases_a{};  // time of A by phase
  int turns = 0;
  static constexpr int kMinTurns = 6;  // with fewer, the interval is unreliable
  bool same_parameters = true;         // after every pair of sessions that ended at the same step

  bool can_tell() const { return turns >= kMinTurns; }
  bool is_faster() const { return can_tell() && low > 1; }
};

// Times of A and B over the same env steps.
struct Turn {
  double seconds_a = 0, seconds_b = 0;
  double steps_a = 0, steps_b = 0;
};
// Fills ratio, low, high and steps_per_second from sessions [sessions][turns].
void estimate_ratio(const std::vector<std::vector<Turn>>& sessions, Speed& speed);

// Takes about `seconds`. If it was stopped or had no time to warm up, turns is 0.
Speed compare_speed(const TrainSpec& a, const TrainSpec& b, bool evaluations, double seconds,
                    const std::atomic<bool>* stop);

}  // namespace hotloop
