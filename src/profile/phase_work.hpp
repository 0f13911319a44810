// The minimum work of a phase: the arithmetic of its matrix products, and the bytes that it must
// read and write.
#pragma once

#include "algo/common/algorithm.hpp"
#include "core/phase_clock.hpp"
#include "net/structure.hpp"
#include "spec/spec.hpp"

namespace hotloop {

struct PhaseCounts {
  double calls = 0;  // visits to the phase by the first thread
  double env_steps = 0, updates = 0, target_updates = 0;
};

struct PhaseWork {
  double flop = 0;   // NaN = none or unknown
  double bytes = 0;  // NaN = none or unknown
};

PhaseWork work_in_phase(Phase phase, const TrainSpec& spec, const LearningWork& work,
                        const Structure& network, const PhaseCounts& counts);

}  // namespace hotloop
