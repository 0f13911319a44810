#include "bench/bench_learner.hpp"

namespace hotloop::bench {
namespace {

Structure structure_of(const Shape& shape, const DqnOptions& options, NetOptions net) {
  net.hidden = {shape.layers.begin() + 1, shape.layers.end() - 1};
  const int actions = shape.layers.back();
  return make_mlp(shape.layers.front(), actions, net, make_head(options.head, actions).atoms);
}

AgentSpec make_spec(const DqnOptions& options, int batch) {
  AgentSpec spec;
  spec.envs = BenchLearner::kEnvs;
  spec.options = options;
  spec.learn.batch = batch;
  spec.optimiser.max_grad_norm = 10;
  return spec;
}

}  // namespace

BenchLearner::BenchLearner(const Shape& shape, const DqnOptions& options, NetOptions net,
                           std::int64_t capacity)
    : BenchLearner(structure_of(shape, options, std::move(net)), options, shape.batch, capacity) {}

// One transition in thirty is terminal.
BenchLearner::BenchLearner(const Structure& net, const DqnOptions& o, int batch,
                           std::int64_t capacity)
    : spec(make_spec(o, batch)),
      structure(net),
      dqn(structure, spec, 1),
      replay({.lanes = kEnvs,
              .obs = structure.inputs,
              .actions = structure.outputs / make_head(o.head, 1).atoms,
              .max_steps = 500,
              .capacity = capacity,
              .steps = o.n_step,
              .gamma = spec.learn.gamma,
              .prioritised = o.replay.prioritised},
             batch) {
  const int number_of_actions = replay.shape().actions;
  Rng rng(1, Purpose::test, 0, 0);
  std::vector<float> obs(kEnvs * static_cast<std::size_t>(structure.inputs)), rewards(kEnvs, 1.0f);
  std::vector<std::int32_t> actions(kEnvs);
  std::vector<std::uint8_t> terminated(kEnvs), truncated(kEnvs);
  const auto draw_obs = [&](std::int64_t t) {
    Rng step(1, Purpose::test, 1, static_cast<std::uint64_t>(t));
    for (float& value : obs) value = static_cast<float>(step.bits()) * 0x1p-31f - 1;
  };
  draw_obs(0);
  replay.begin(obs, {});
  for (std::int64_t t = 1; t <= replay.capacity() / kEnvs; ++t) {
    Rng step(1, Purpose::test, 2, static_cast<std::uint64_t>(t));
    draw_obs(t);
    for (auto& action : actions) {
      action = static_cast<std::int32_t>(step.below(number_of_actions));
    }
    for (auto& end : terminated) end = step.below(30) == 0;
    replay.push({actions, rewards, terminated, truncated, obs, {}, obs, {}});
  }
  if (!o.replay.prioritised) return;
  // As after training, all priorities are different.
  std::vector<float> errors(batch);
  for (std::int64_t i = 0; i < std::min<std::int64_t>(capacity, 200'000) / batch; ++i) {
    replay.sample(1, batch, 2, static_cast<std::uint64_t>(i), 0.5);
    for (float& error : errors) error = static_cast<float>(rng.uniform());
    replay.set_priorities(0, errors);
  }
}

}  // namespace hotloop::bench
