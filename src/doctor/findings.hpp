// Findings from a profile, with their evidence; the most important first.
//
// Faults come before statements about where the time goes: something is always the slowest part,
// which is not a fault. Within a class, the finding with the larger share of the time comes first.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.hpp"

namespace hotloop {

enum class Cause {
  failure,          // training failed: non-finite values
  sleeping,         // the environment waits
  slowing,          // steps become slower
  allocating,       // heap allocations in the hot loop
  growing_memory,   // resident memory grows
  threads,          // more threads than the work can use
  logging,          // too often
  evaluating,       // takes much of the time
  checkpointing,    // takes much of the time
  many_updates,     // so many updates per env step that little else happens
  slow_option,      // the environment could compute the same numbers faster
  health,           // a warning about learning: values beyond their bound, no terminals, ...
  early_greed,      // exploration ends before much is learnt
  longer_episodes,  // episodes per second fall, steps per second do not
  env_bound,        // where the time goes, if nothing is wrong
  learner_bound
};
inline constexpr std::array<std::string_view, 16> kCauseNames = {"failure",
                                                                 "sleeping environment",
                                                                 "slowing down",
                                                                 "allocations",
                                                                 "growing memory",
                                                                 "too many threads",
                                                                 "logging too often",
                                                                 "evaluation",
                                                                 "checkpoints",
                                                                 "many updates per step",
                                                                 "slower option of the environment",
                                                                 "health",
                                                                 "exploration over early",
                                                                 "longer episodes",
                                                                 "environment-bound",
                                                                 "learner-bound"};

struct Finding {
  Cause cause = Cause::failure;
  double share = 0;      // of wall time that it affects: the most that could be gained
  std::string text;      // what is wrong, and what to do about it
  std::string evidence;  // the figures

  std::string_view name() const { return kCauseNames[static_cast<std::size_t>(cause)]; }
  // The largest possible speed-up, if that share cost nothing.
  double bound() const { return amdahl(share); }
};

std::vector<Finding> find_causes(const Profile& profile);

}  // namespace hotloop
