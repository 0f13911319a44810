// Keeps the transitions of an evaluation: one episode per row, which is done when the row's first
// episode ends.
#pragma once

#include <vector>

#include "env/batch_env.hpp"
#include "memory/demonstrations.hpp"

namespace hotloop {

class EpisodeRecorder {
 public:
  explicit EpisodeRecorder(const BatchEnv& env);

  void before_step(const Actions& actions);
  void after_step();
  // All episodes, in row order. One that has not ended is truncated here.
  Demonstrations finish();

 private:
  void end(std::size_t row, std::span<const float> obs, std::span<const std::uint8_t> mask);

  const BatchEnv& env_;
  std::vector<Demonstrations> episodes_;  // by row; each has at most one
};

}  // namespace hotloop
