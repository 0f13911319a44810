// Hyper-parameters of Q-learning from rollouts, shared by PQN and SARSA.
#pragma once

#include "algo/common/q/exploration.hpp"
#include "algo/common/q/loss.hpp"
#include "algo/common/rollout_options.hpp"

namespace hotloop {

// V(s) is the largest Q(s, a), or Q of the action taken next.
enum class Backup { largest, taken };

struct PqnOptions {
  Loss loss = Loss::huber;
  ExplorationOptions explore = {};
  RolloutOptions rollout = {};
  Backup backup = Backup::largest;  // not a key: it distinguishes PQN from SARSA
};

}  // namespace hotloop
