#include "profile/phase_work.hpp"

#include <algorithm>

#include "net/lanes.hpp"
#include "net/work.hpp"
#include "algo/common/learner.hpp"
#include "train/progress.hpp"

namespace hotloop {
namespace {

// Rows of one of the parts, on average: the last one may be shorter.
double mean_rows(int rows, int part) { return 1.0 * rows / ((rows + part - 1) / part); }

// Samples that one visit to a phase passes through the network.
double rows_per_visit(Phase phase, const TrainSpec& spec) {
  const bool is_dqn = spec.algorithm == Algorithm::dqn;
  // PPO goes through its shards block by block.
  const int shard = spec.algorithm == Algorithm::ppo ? kLanes : BatchShard::kRows;
  const int batch = spec.q.batch;
  switch (phase) {
    case Phase::act_forward:
      return mean_rows(spec.envs, kLanes);
    case Phase::learn_target:
      return mean_rows(batch, shard) * (spec.q.double_q ? 2 : 1);
    case Phase::learn_backward:
      // A DQN learns all shards of its thread in one visit.
      if (is_dqn) return 1.0 * batch / std::min(spec.run.threads, (batch + shard - 1) / shard);
      return mean_rows(batch, shard);
    default:
      return mean_rows(batch, shard);
  }
}

// Arrays of the size of the parameters that a step of the optimiser reads and writes.
double optimiser_arrays(const OptimiserOptions& o) {
  switch (o.kind) {
    case OptimiserKind::adam:
    case OptimiserKind::adamw:
      return 7;  // parameters, gradient and two moments in; all but the gradient out
    case OptimiserKind::rmsprop:
      return o.momentum > 0 ? 7 : 5;
    default:
      return o.momentum > 0 ? 5 : 3;
  }
}

Structure acting_network(const TrainSpec& spec, const Structure& network) {
  if (spec.algorithm != Algorithm::ppo) return network;
  return Ppo::acting_part(network, std::get<ActorCriticHead>(network_head(spec)));
}

}  // namespace

int shard_rows(const TrainSpec& spec, const Structure& network) {
  return spec.algorithm == Algorithm::ppo ? Ppo::shard_rows(network) : BatchShard::kRows;
}

double bytes_per_transition(const TrainSpec& spec) {
  if (spec.algorithm == Algorithm::dqn) return Replay::bytes_per_transition(replay_shape(spec));
  const RolloutShape shape = rollout_shape(spec);
  return static_cast<double>(Rollout::bytes_needed(shape)) / (1.0 * shape.steps * shape.lanes);
}

PhaseWork work_in_phase(Phase phase, const TrainSpec& spec, const Structure& network,
                        const PhaseCounts& counts) {
  PhaseWork work{.flop = kNone, .bytes = kNone};
  const double rows = counts.calls * rows_per_visit(phase, spec);
  const double parameters = sizeof(float) * static_cast<double>(network.storage);
  const double drawn = counts.updates * spec.q.batch * spec.q.accumulate / spec.q.repeats;
  switch (phase) {
    case Phase::act_forward:
      work.flop = rows * work_of(acting_network(spec, network)).forward;
      break;
    case Phase::learn_target:
    case Phase::learn_forward:
      work.flop = rows * work_of(network).forward;
      break;
    case Phase::learn_backward:
      work.flop = rows * work_of(network).backward;
      break;
    case Phase::memory_push:
      work.bytes = counts.env_steps * bytes_per_transition(spec);
      break;
    case Phase::memory_gather:
      work.bytes = 2 * drawn * bytes_per_transition(spec);
      break;
    case Phase::learn_clip:
      work.bytes = counts.updates * parameters;
      break;
    case Phase::learn_optimiser:
      work.bytes = counts.updates * parameters * optimiser_arrays(spec.optimiser);
      break;
    case Phase::learn_sync:
      work.bytes = counts.target_updates * parameters * 2;
      break;
    default:
      break;
  }
  return work;
}

}  // namespace hotloop
