// SFC provisioning: N worlds behind the batch interface. The rules are in rules.hpp, one world is
// in world.hpp. This file has what all rows share.
#pragma once

#include <hotloop/env.hpp>

#include <array>
#include <span>

#include "core/arena.hpp"
#include "envs/sfc/world.hpp"

namespace hotloop {

class SfcArray final : public WorldArray {
 public:
  SfcArray(int count, const SfcRules& rules);
  SfcArray(const SfcArray&) = delete;  // the worlds point to the rules
  SfcArray& operator=(const SfcArray&) = delete;

  const EnvSpec& spec() const override { return spec_; }
  bool has_mask() const override { return rules_.mask; }
  void clear() override;
  void reset(int row, Rng& rng) override { worlds_[row].reset(rng); }
  void step(int begin, int end, const ActionRows& actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override;
  void observe(int begin, int end, std::span<float> obs) const override;
  void mask(int begin, int end, std::span<std::uint8_t> allowed) const override;
  void measure(int row, std::span<float> values) const override { worlds_[row].measure(values); }
  std::span<const std::string_view> scripts() const override;
  void play(int script, int begin, int end, std::uint64_t seed, Purpose purpose, std::uint64_t step,
            std::span<std::int32_t> actions) const override;
  std::size_t row_bytes() const override { return SfcWorld::saved_bytes(rules_); }
  void save_row(int row, std::byte* to) const override { worlds_[row].save(to); }
  bool restore_row(int row, const std::byte* from) override { return worlds_[row].restore(from); }
  bool checks_state() const override { return true; }

  // Sets up a row by hand: see SfcWorld::place.
  void place(int row, std::span<const SfcCentre> centres, std::span<const SfcWaiting> waiting) {
    worlds_[row].place(centres, waiting);
  }

  // For tests.
  const SfcRules& rules() const { return rules_; }
  const SfcWorld& world(int row) const { return worlds_[row]; }

 private:
  SfcRules rules_;
  EnvSpec spec_;
  std::array<float, 152> scale_;
  Arena arena_;
  std::span<SfcRequest> requests_;  // [N, rules_.capacity()]
  std::span<SfcWorld> worlds_;      // [N]
};

}  // namespace hotloop
