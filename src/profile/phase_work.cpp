#include "profile/phase_work.hpp"

#include <algorithm>

#include "net/lanes.hpp"
#include "net/work.hpp"
#include "train/progress.hpp"

namespace hotloop {
namespace {

// Mean number of rows per part; the last part may be shorter.
double mean_rows(int rows, int part) { return 1.0 * rows / ((rows + part - 1) / part); }

// Samples that pass through the network in one visit to a phase.
double rows_per_visit(Phase phase, const TrainSpec& spec, const LearningWork& work) {
  if (phase == Phase::act_forward) return mean_rows(spec.envs, kLanes);
  const double rows = mean_rows(spec.learn.batch, work.rows_at_once);
  return phase == Phase::learn_target ? rows * work.target_passes : rows;
}

// Number of parameter-sized arrays that an optimiser step reads and writes.
double optimiser_arrays(const OptimiserOptions& o) {
  switch (o.kind) {
    case OptimiserKind::adam:
    case OptimiserKind::adamw:
      return 7;  // reads parameters, gradient and two moments; writes all but the gradient
    case OptimiserKind::rmsprop:
      return o.momentum > 0 ? 7 : 5;
    default:
      return o.momentum > 0 ? 5 : 3;
  }
}

}  // namespace

PhaseWork work_in_phase(Phase phase, const TrainSpec& spec, const LearningWork& learning,
                        const Structure& network, const PhaseCounts& counts) {
  PhaseWork work{.flop = kNone, .bytes = kNone};
  const double rows = counts.calls * rows_per_visit(phase, spec, learning);
  const double parameters =
      sizeof(float) *
      (learning.parameters > 0 ? learning.parameters : static_cast<double>(network.storage));
  const double drawn = counts.updates * learning.drawn_per_update;
  switch (phase) {
    case Phase::act_forward:
      work.flop = rows * work_of(learning.acting).forward;
      break;
    case Phase::learn_target:
    case Phase::learn_forward:
      work.flop = rows * work_of(network).forward;
      break;
    case Phase::learn_backward:
      work.flop = rows * work_of(network).backward;
      break;
    case Phase::memory_push:
      work.bytes = counts.env_steps * learning.bytes_per_transition;
      break;
    case Phase::memory_gather:
      work.bytes = 2 * drawn * learning.bytes_per_transition;
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
  for (const LearningWork::RowFlop& row : learning.row_flop) {
    if (row.phase == phase) work.flop = rows * row.flop;
  }
  return work;
}

}  // namespace hotloop
