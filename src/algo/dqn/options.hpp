// All hyper-parameters of the DQN family. The switches are independent of each other; check() in
// algorithm.cpp refuses combinations that make no sense.
#pragma once

#include <cstdint>

#include "algo/common/q/exploration.hpp"
#include "algo/common/q/loss.hpp"
#include "algo/common/replay_options.hpp"

namespace hotloop {

// How the target network syncs with the online network.
struct TargetOptions {
  std::int64_t every = 500;  // 0 = no target network
  Count count = Count::steps;
  double tau = 1;  // 1 = hard copy; below 1 = Polyak averaging
};

struct MunchausenOptions {
  double alpha = 0;  // weight of the log-policy in rewards; 0 = off
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
  int repeats = 1;               // consecutive updates on each drawn batch
  bool truncation_ends = false;  // truncation is treated as termination: no bootstrapping
  ReplayOptions replay = {};
};

}  // namespace hotloop
