// The rules behind findings.hpp: each looks at a profile and adds what it finds. Thresholds are
// defined where they are used, with their reasons.
#pragma once

#include <vector>

#include "doctor/findings.hpp"

namespace hotloop {

using Findings = std::vector<Finding>;

// Faults: something goes wrong in the loop.
void find_sleeping(const Profile& profile, Findings& findings);
void find_slowing(const Profile& profile, Findings& findings);
void find_allocating(const Profile& profile, Findings& findings);
void find_growing_memory(const Profile& profile, Findings& findings);
void find_threads(const Profile& profile, Findings& findings);

// Settings: the spec asks for too much of something.
void find_logging(const Profile& profile, Findings& findings);
void find_evaluating(const Profile& profile, Findings& findings);
void find_checkpointing(const Profile& profile, Findings& findings);
void find_many_updates(const Profile& profile, Findings& findings);
void find_slow_option(const Profile& profile, Findings& findings);
void find_early_greed(const Profile& profile, Findings& findings);

inline double percent(double share) { return 100 * share; }

// Null if the profile has no such row.
const PhaseRow* find_row(const Profile& profile, std::string_view group,
                         std::string_view part = "");

}  // namespace hotloop
