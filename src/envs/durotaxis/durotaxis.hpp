// Durotaxis: N worlds behind the batch interface. The rules are in rules.hpp, one world is in
// world.hpp. This file has what all rows share.
#pragma once

#include <hotloop/env.hpp>

#include <span>

#include "core/arena.hpp"
#include "envs/durotaxis/world.hpp"

namespace hotloop {

class DurotaxisArray final : public WorldArray {
 public:
  DurotaxisArray(int count, const DurotaxisRules& rules);
  DurotaxisArray(const DurotaxisArray&) = delete;  // the worlds point to the rules
  DurotaxisArray& operator=(const DurotaxisArray&) = delete;

  const EnvSpec& spec() const override { return spec_; }
  bool has_mask() const override { return false; }
  void clear() override;
  void reset(int row, Rng& rng) override { worlds_[row].reset(rng); }
  void step(int begin, int end, const ActionRows& actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override;
  void observe(int begin, int end, std::span<float> obs) const override;
  void measure(int row, std::span<float> values) const override { worlds_[row].measure(values); }
  void reward_parts(int begin, int end, std::span<float> parts) const override;
  Picture picture(int row) const override;
  std::span<const std::string_view> scripts() const override;
  void play(int script, int begin, int end, std::uint64_t seed, Purpose purpose, std::uint64_t step,
            std::span<float> actions) const override;
  using Worlds::play;
  std::size_t row_bytes() const override { return DurotaxisWorld::saved_bytes(rules_); }
  void save_row(int row, std::byte* to) const override { worlds_[row].save(to); }
  bool restore_row(int row, const std::byte* from) override { return worlds_[row].restore(from); }
  bool checks_state() const override { return true; }

  // Sets up a row by hand: see DurotaxisWorld::place.
  void place(int row, std::span<const float> x, std::span<const float> y,
             std::span<const std::int32_t> parents = {}) {
    worlds_[row].place(x, y, parents);
  }

  // For tests.
  const DurotaxisRules& rules() const { return rules_; }
  const DurotaxisWorld& world(int row) const { return worlds_[row]; }

 private:
  DurotaxisRules rules_;
  EnvSpec spec_;
  Arena arena_;
  std::span<DurotaxisWorld> worlds_;  // [N]; their cells are in the arena
};

}  // namespace hotloop
