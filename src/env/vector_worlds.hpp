// Environments that step all rows in one call and begin the next episodes themselves: those of
// another language, where a call per row would cost more than the step.
//
// BatchEnv drives them like any other array, but leaves to them what it does for worlds: time limits,
// auto-reset, random streams, saving. Where an episode ended, `obs` must already show the first
// observation of the next one and `final_obs` the last of the old one.
#pragma once

#include <hotloop/env.hpp>

#include <cassert>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace hotloop {

// Where results go; the same memory at every call. Final rows are written where an episode ended.
struct VectorResults {
  std::span<float> obs;                // [N, D]
  std::span<float> final_obs;          // [N, D]
  std::span<float> rewards;            // [N]
  std::span<std::uint8_t> terminated;  // [N]
  std::span<std::uint8_t> truncated;   // [N]; both flags may be set
  std::span<std::uint8_t> mask;        // [N, A] or empty
  std::span<std::uint8_t> final_mask;  // [N, A] or empty
};

class VectorWorlds : public WorldArray {
 public:
  // All rows begin a first episode; fills obs and mask. The same seed and purpose must begin, and go
  // on, in the same way.
  virtual void begin(std::uint64_t seed, Purpose purpose, const VectorResults& to) = 0;
  // One vector step, of the kind of action that the spec declares; the other span is empty.
  virtual void step_all(std::span<const std::int32_t> numbers, std::span<const float> boxes,
                        const VectorResults& to) = 0;
  // What should be kept with models, as JSON: how observations were made into rows, for instance.
  virtual std::string notes() const { return {}; }
  // All that `restore_all` needs to go on as if nothing had happened; it fills obs and mask.
  virtual std::vector<std::byte> save_all() const = 0;
  virtual void restore_all(std::uint64_t seed, Purpose purpose, std::span<const std::byte> from,
                           const VectorResults& to) = 0;

  // What is asked of worlds that are stepped row by row is never asked of these.
  void clear() final { assert(false); }
  void reset(int, Rng&) final { assert(false); }
  void step(int, int, std::span<const std::int32_t>, std::uint64_t, Purpose, std::uint64_t,
            std::span<float>, std::span<std::uint8_t>) final {
    assert(false);
  }
  void step(int, int, std::span<const float>, std::uint64_t, Purpose, std::uint64_t,
            std::span<float>, std::span<std::uint8_t>) final {
    assert(false);
  }
  void observe(int, int, std::span<float>) const final { assert(false); }
  void mask(int, int, std::span<std::uint8_t>) const final { assert(false); }
  void measure(int, std::span<float>) const override {}
  std::size_t row_bytes() const final { return 0; }
  void save_row(int, std::byte*) const final { assert(false); }
  void restore_row(int, const std::byte*) final { assert(false); }
};

// How many steps two truncations of a row are apart, at the least; 0 = it never truncates. Those that
// step together truncate when they like.
inline int steps_between_truncations(const WorldArray& worlds) {
  return dynamic_cast<const VectorWorlds*>(&worlds) != nullptr ? 1 : worlds.spec().max_steps;
}

}  // namespace hotloop
