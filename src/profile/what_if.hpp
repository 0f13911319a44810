// What training would take with more threads, from a profile with one thread: a simulation of the
// critical path, for numbers of cores that this machine does not have.
//
// Each phase is divided as the engine divides it: rows of a batch, parts of the gradient, parameters,
// blocks of environments. It then takes as long as its largest piece, and the threads have to meet
// after it. What that and narrow blocks cost is measured here. What the simulation leaves out: memory
// bandwidth that cores share, lower clocks with more cores, and the overlap of pipelined rounds. It
// takes critics to be as large as the actor.
#pragma once

#include <string>
#include <vector>

#include "core/json.hpp"
#include "profile/profile.hpp"

namespace hotloop {

struct WhatIf {
  struct Phase {
    std::string name;
    double us_per_step = 0;  // with one thread
    double critical = 1;     // share of it that the slowest thread does
  };

  int threads = 1;
  std::vector<Phase> phases;
  double meetings_per_step = 0;  // how often the threads meet
  double meeting_us = 0;         // what that costs with two threads, measured
  double us_per_step = 0;        // predicted
  double speed_up = 1;
};

// `profile` is of one thread, not pipelined.
WhatIf what_if(const Profile& profile, int threads);

std::string what_if_text(const WhatIf& what_if);
Json what_if_json(const WhatIf& what_if);

}  // namespace hotloop
