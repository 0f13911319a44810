#include "bench/bench_learner.hpp"

namespace hotloop::bench {
namespace {

NetOptions with_hidden(NetOptions net, const Shape& shape) {
  net.hidden = {shape.layers.begin() + 1, shape.layers.end() - 1};
  return net;
}

QOptions with_batch(QOptions q, const Shape& shape) {
  q.batch = shape.batch;
  return q;
}

}  // namespace

// One transition in thirty is terminal.
BenchLearner::BenchLearner(const Shape& shape, const QOptions& q, NetOptions net,
                           std::int64_t capacity)
    : options(with_batch(q, shape)),
      structure(make_mlp(shape.layers.front(), shape.layers.back(), with_hidden(net, shape),
                         make_head(q, shape.layers.back()).atoms)),
      dqn(structure, Initialiser::pytorch, options, adam, 1, kEnvs),
      replay({.lanes = kEnvs,
              .obs = shape.layers.front(),
              .actions = shape.layers.back(),
              .max_steps = 500,
              .capacity = capacity,
              .steps = q.n_step,
              .gamma = q.gamma,
              .prioritised = q.prioritised},
             shape.batch) {
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
      action = static_cast<std::int32_t>(step.below(shape.layers.back()));
    }
    for (auto& end : terminated) end = step.below(30) == 0;
    replay.push({actions, rewards, terminated, truncated, obs, {}, obs, {}});
  }
  if (!q.prioritised) return;
  // Priorities as training leaves them: all different.
  std::vector<float> errors(shape.batch);
  for (std::int64_t i = 0; i < std::min<std::int64_t>(capacity, 200'000) / shape.batch; ++i) {
    replay.sample(1, shape.batch, 2, static_cast<std::uint64_t>(i), 0.5);
    for (float& error : errors) error = static_cast<float>(rng.uniform());
    replay.set_priorities(0, errors);
  }
}

}  // namespace hotloop::bench
