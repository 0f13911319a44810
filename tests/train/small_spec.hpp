// A training run that takes a fraction of a second.
#pragma once

#include "spec/spec.hpp"

namespace hotloop {

inline TrainSpec small_spec() {
  TrainSpec spec;
  spec.name = "small";
  spec.env = "cartpole";
  spec.envs = 4;
  spec.net.hidden = {32};
  spec.q.batch = 32;
  spec.q.replay_capacity = 1000;
  spec.q.learning_starts = 200;
  spec.q.updates_per_step = 0.5;
  spec.q.train_every = 8;
  spec.q.target_every = 64;
  spec.evaluation.every = 700;
  spec.evaluation.episodes = 5;
  spec.run.steps = 2800;
  spec.run.log_every = 300;
  return spec;
}

}  // namespace hotloop
