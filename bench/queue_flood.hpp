// Snake with 13 observations whose flood values are counted by a queue, as the original does it: the
// basic world and the slow twin's fill, behind the engine's interface.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "envs/snake.hpp"
#include "reference/snake.hpp"

namespace hotloop::bench {

class QueueFlood final : public WorldArray {
 public:
  QueueFlood(int count, const SnakeRules& basic) : snakes_(count, basic), spec_(snakes_.spec()) {
    spec_.obs = kObs;
    spec_.parts = {};
  }

  const EnvSpec& spec() const override { return spec_; }
  bool has_mask() const override { return false; }
  void clear() override { snakes_.clear(); }
  void reset(int row, Rng& rng) override { snakes_.reset(row, rng); }
  void step(int begin, int end, std::span<const std::int32_t> actions, std::uint64_t seed,
            Purpose purpose, std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    snakes_.step(begin, end, actions, seed, purpose, step, rewards, terminated);
  }
  void step(int, int, std::span<const float>, std::uint64_t, Purpose, std::uint64_t,
            std::span<float>, std::span<std::uint8_t>) override {}
  void observe(int begin, int end, std::span<float> obs) const override {
    const int grid = snakes_.rules().grid;
    std::vector<float> basic(static_cast<std::size_t>(end) * kBasic);
    snakes_.observe(begin, end, basic);
    for (int row = begin; row < end; ++row) {
      float* to = &obs[static_cast<std::size_t>(row) * kObs];
      std::copy_n(&basic[static_cast<std::size_t>(row) * kBasic], kBasic, to);
      std::vector<std::uint8_t> blocked(static_cast<std::size_t>(grid) * grid);
      for (int i = 0; i < snakes_.length(row); ++i) {
        const Cell cell = snakes_.segment(row, i);
        blocked[cell.y * grid + cell.x] = 1;
      }
      const auto taken = std::count(blocked.begin(), blocked.end(), std::uint8_t{1});
      const auto free = static_cast<float>(grid * grid - taken);
      const Cell head = snakes_.segment(row, 0);
      for (int k = 0; k < 3; ++k) {  // straight, right, left
        constexpr int kTurn[] = {0, 1, 3};
        constexpr Cell kDelta[] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
        const Cell delta = kDelta[(snakes_.direction(row) + kTurn[k]) % 4];
        const Cell from{head.x + delta.x, head.y + delta.y};
        const bool inside = from.x >= 0 && from.y >= 0 && from.x < grid && from.y < grid;
        const bool open = inside && blocked[from.y * grid + from.x] == 0;
        const int count = open ? *reference::queue_fill(blocked, grid, from) : 0;
        to[kBasic + k] = free > 0 ? std::min(1.0f, static_cast<float>(count) / free) : 0.0f;
      }
    }
  }
  void mask(int, int, std::span<std::uint8_t>) const override {}
  void measure(int row, std::span<float> values) const override { snakes_.measure(row, values); }
  std::size_t row_bytes() const override { return snakes_.row_bytes(); }
  void save_row(int row, std::byte* to) const override { snakes_.save_row(row, to); }
  void restore_row(int row, const std::byte* from) override { snakes_.restore_row(row, from); }

 private:
  static constexpr int kBasic = 10, kObs = 13;
  SnakeArray snakes_;
  EnvSpec spec_;
};

}  // namespace hotloop::bench
