// Every hyper-parameter of the DQN family, documented where it is declared.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "algo/schedule.hpp"

namespace hotloop {

enum class Loss { mse, huber };
inline constexpr std::array<std::string_view, 2> kLossNames = {"mse", "huber"};

// What `target_every` counts.
enum class TargetClock { steps, updates };
inline constexpr std::array<std::string_view, 2> kTargetClockNames = {"steps", "updates"};

struct DqnOptions {
  double gamma = 0.99;
  int batch = 64;
  Loss loss = Loss::huber;
  std::int64_t replay_capacity = 100'000;  // transitions, all environments together
  std::int64_t learning_starts = 1'000;    // env steps of pure collection first
  double updates_per_step = 1;             // gradient updates per env step from then on
  std::int64_t train_every = 1;            // env steps in a round; its updates follow at once
  std::int64_t target_every = 500;         // how often the target network follows
  TargetClock target_clock = TargetClock::steps;
  double target_blend = 1;  // 1 = hard copy; below, the online share of a Polyak blend
  Schedule epsilon{ScheduleKind::linear, 1.0, 0.05, 10'000};
  Schedule learning_rate{ScheduleKind::constant, 1e-3, 1e-3, 1};
};

}  // namespace hotloop
