// The benchmarks by name. Each returns its rows; `main` prints them as a table or as JSON.
#pragma once

#include "core/json.hpp"

namespace hotloop::bench {

Json update_benchmark();     // complete DQN updates against their bare matrix products
Json qloss_benchmark();      // every member of the Q-learning family against its slow twin
Json dag_benchmark();        // graphs of neurons against their slow twin
Json ppo_benchmark();        // PPO, collecting and learning
Json sac_benchmark();        // complete updates of SAC and its kin against their bare products
Json durotaxis_benchmark();  // growing colonies, and learning from their graphs
Json env_benchmark();        // environment steps with random actions
Json snake_benchmark();      // Snake-RL's loop with one thing changed at a time
Json seeds_benchmark();      // claims of the authors of the five systems
Json products_benchmark();   // matrix products by library
Json kernels_benchmark();    // each fast kernel against its slow twin
Json threads_benchmark();    // training with several threads against one
Json clock_benchmark();      // cost of the phase clock

}  // namespace hotloop::bench
