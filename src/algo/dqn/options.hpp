// Every hyper-parameter of the DQN family, documented where it is declared. The switches are independent
// of each other; check() in algorithm.cpp refuses what makes no sense.
#pragma once

#include <cstdint>

#include "algo/common/q/exploration.hpp"
#include "algo/common/q/loss.hpp"
#include "algo/common/replay_options.hpp"

namespace hotloop {

// How the target network follows the online one.
struct TargetOptions {
  std::int64_t every = 500;  // 0 = there is none
  Count count = Count::steps;
  double tau = 1;  // 1 = hard copy; below, the online share of a Polyak blend
};

struct MunchausenOptions {
  double alpha = 0;  // share of the log-policy that is added to rewards; 0 = off
  double temperature = 0.03, clip = -1;
};

struct DqnOptions {
  Loss loss = Loss::huber;
  ExplorationOptions explore = {};
  bool double_q = false;
  int n_step = 1;
  HeadOptions head = {};
  TargetOptions target = {};
  MunchausenOptions munchausen = {};
  int repeats = 1;               // updates in a row on each drawn batch
  bool truncation_ends = false;  // a cut episode counts as one that ended: nothing is bootstrapped
  ReplayOptions replay = {};
};

}  // namespace hotloop
