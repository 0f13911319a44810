// A learner on a full replay of random transitions, for benchmarks of complete updates.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "algo/dqn/dqn.hpp"

namespace hotloop::bench {

struct Shape {
  std::vector<int> layers;  // inputs, hidden layers, actions
  int batch;

  std::string name() const {
    std::string text = fmt::format("{}", layers[0]);
    for (std::size_t i = 1; i < layers.size(); ++i) text += fmt::format("-{}", layers[i]);
    return text + fmt::format(" b{}", batch);
  }
};

struct BenchLearner {
  static constexpr int kEnvs = 8;
  AgentSpec spec;
  Structure structure;
  ThreadTeam team{1};
  Dqn dqn;
  Replay replay;
  std::uint64_t updates = 0;

  // `batch` transitions per update.
  BenchLearner(const Structure& structure, const DqnOptions& options, int batch,
               std::int64_t capacity);
  BenchLearner(const Shape& shape, const DqnOptions& options, NetOptions net,
               std::int64_t capacity);

  Batch draw() {
    replay.sample(1, spec.learn.batch, 1, updates++, 0.5);
    return replay.batch(0);
  }
  // Draws, gathers, learns and writes back priorities if there are any, in the order of a learner.
  void update() {
    const Batch batch = draw();
    dqn.update({&batch, 1}, 1e-4, updates, team);
    if (replay.shape().prioritised) replay.set_priorities(0, dqn.errors());
  }
};

}  // namespace hotloop::bench
