// Turns a one-file environment into a program that plays it at random. `hotloop check` compiles the
// file with this header in front of it and with the compiler's sanitizers, to find out-of-bounds
// accesses and the like. Authors do not include it.
//
// The exit code is 0 even if the world threw an exception: other checks report that.
#pragma once

#include <hotloop/plugin.hpp>

#include <algorithm>
#include <chrono>
#include <exception>

namespace hotloop::play_alone {

inline constexpr double kSeconds = 0.7;  // of each play
inline constexpr int kSteps = 20'000;

// One allowed action per row; a continuous action is at a bound half of the time.
inline void choose(const WorldArray& worlds, std::span<const std::uint8_t> mask, std::uint64_t t,
                   std::span<std::int32_t> discrete, std::span<float> continuous) {
  const EnvSpec& spec = worlds.spec();
  const auto stream = [t](std::size_t row) {
    return Rng(~std::uint64_t{1}, Purpose::test, static_cast<std::uint32_t>(row), t);
  };
  for (std::size_t row = 0; row < discrete.size() && spec.actions > 0; ++row) {
    Rng rng = stream(row);
    const int first = static_cast<int>(rng.below(static_cast<std::uint32_t>(spec.actions)));
    discrete[row] = first;
    for (int i = 0; i < spec.actions && !mask.empty(); ++i) {  // the next allowed action
      discrete[row] = (first + i) % spec.actions;
      if (mask[row * spec.actions + discrete[row]] != 0) break;
    }
  }
  for (std::size_t i = 0; i < continuous.size(); ++i) {
    const std::size_t k = i % spec.action_size;
    Rng rng = stream(i);
    const float low = spec.action_low[k], high = spec.action_high[k];
    const std::uint32_t which = rng.below(4);
    continuous[i] = which == 0 ? low
                    : which == 1
                        ? high
                        : std::clamp(static_cast<float>(rng.uniform(low, high)), low, high);
  }
}

// Calls every function of a world, with memory of exactly the right size. With `forged`, episodes
// start from states in which some bytes are wrong, unless the world refuses them, and are short.
inline void play(WorldArray& worlds, int rows, bool forged = false) {
  constexpr int kForgedSteps = 10;
  const EnvSpec& spec = worlds.spec();
  const auto n = static_cast<std::size_t>(rows);
  std::vector<float> obs(n * spec.obs), rewards(n), continuous(n * spec.action_size);
  std::vector<float> measures(spec.measure_count()), parts(n * spec.reward_part_count());
  std::vector<std::int32_t> discrete(spec.actions > 0 ? n : 0);
  std::vector<std::uint8_t> mask(worlds.has_mask() ? n * spec.actions : 0), terminated(n);
  std::vector<int> length(n);
  const auto begin = [&](int row, std::uint64_t stream_step) {
    Rng rng(1, Purpose::test, static_cast<std::uint32_t>(row), stream_step);
    worlds.reset(row, rng);
    length[row] = 0;
    if (!forged) return;
    std::vector<std::byte> state(worlds.row_bytes());
    worlds.save_row(row, state.data());
    const bool all = rng.below(4) == 0;
    for (std::byte& byte : state) {
      if (all || rng.below(16) == 0) byte = static_cast<std::byte>(rng.bits());
    }
    (void)worlds.restore_row(row, state.data());
  };
  const auto start = std::chrono::steady_clock::now();
  for (int row = 0; row < rows; ++row) begin(row, 0);
  for (std::uint64_t t = 1; t <= kSteps; ++t) {
    worlds.observe(0, rows, obs);
    if (worlds.has_mask()) worlds.mask(0, rows, mask);
    choose(worlds, mask, t, discrete, continuous);
    ActionRows actions;
    actions.discrete = discrete;
    actions.continuous = continuous;
    worlds.step(0, rows, actions, 1, Purpose::test, t, rewards, terminated);
    if (!parts.empty()) worlds.reward_parts(0, rows, parts);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const bool is_last = t == kSteps || elapsed.count() > kSeconds;
    for (int row = 0; row < rows; ++row) {
      const bool is_over = terminated[row] != 0 || ++length[row] == spec.max_steps ||
                           (forged && length[row] == kForgedSteps);
      if (!is_over && !is_last) continue;
      worlds.observe(row, row + 1, obs);
      if (!measures.empty()) worlds.measure(row, measures);
      if (t < 200 || is_last) (void)worlds.picture(row);  // pictures are slow
      begin(row, 0 - t);
    }
    if (is_last) return;
  }
}

}  // namespace hotloop::play_alone

int main() {
  try {
    for (const hotloop::EnvEntry& entry : hotloop::plugin::registered()) {
      // One row first: with no neighbouring row, any access beyond the row is detected.
      hotloop::play_alone::play(*entry.make_one_by_one(1), 1);
      const auto five = entry.make(5);
      hotloop::play_alone::play(*five, 5);
      if (five->checks_state()) hotloop::play_alone::play(*five, 5, true);
    }
  } catch (...) {
    return 0;
  }
}
