// Environments that step all rows in one call and begin the next episodes themselves: environments
// in another language, where a call per row would cost more than the step.
//
// They do what BatchEnv does for other environments: time limits, auto-reset, random streams,
// saving. When an episode ends, `obs` must already have the first observation of the next episode,
// and `final_obs` the last one of the old episode.
#pragma once

#include <hotloop/worlds.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hotloop {

// Where results are written; the same memory at every call. Final rows are written only for
// episodes that ended.
struct VectorResults {
  std::span<float> obs;                // [N, D]
  std::span<float> final_obs;          // [N, D]
  std::span<float> rewards;            // [N]
  std::span<std::uint8_t> terminated;  // [N]
  std::span<std::uint8_t> truncated;   // [N]; both flags may be set
  std::span<std::uint8_t> mask;        // [N, A] or empty
  std::span<std::uint8_t> final_mask;  // [N, A] or empty
};

class VectorWorlds : public Worlds {
 public:
  Stepping stepping() final { return this; }
  int steps_between_truncations() const final { return 1; }  // the limit is unknown

  // All rows begin a first episode; fills obs and mask. The same seed and purpose must give the
  // same episodes.
  virtual void begin(std::uint64_t seed, Purpose purpose, const VectorResults& to) = 0;
  virtual void step_all(const ActionRows& actions, const VectorResults& to) = 0;
  // Everything that `restore_all` needs to continue exactly; `restore_all` fills obs and mask.
  virtual std::vector<std::byte> save_all() const = 0;
  virtual void restore_all(std::uint64_t seed, Purpose purpose, std::span<const std::byte> from,
                           const VectorResults& to) = 0;
};

}  // namespace hotloop
