#include "profile/what_if.hpp"

#include <gtest/gtest.h>

#include "core/system.hpp"
#include "net/batch_gradient.hpp"

namespace hotloop {
namespace {

Profile profile_of(const std::string& name, std::vector<PhaseRow> phases) {
  Profile profile;
  profile.spec = load_spec(name);
  profile.env_steps = 100;
  profile.updates = 50;
  profile.phases = std::move(phases);
  return profile;
}

PhaseRow row(std::string group, std::string part, double us) {
  PhaseRow row;
  row.group = std::move(group);
  row.part = std::move(part);
  row.us_per_step = us;
  return row;
}

double critical(const WhatIf& w, const std::string& name) {
  for (const WhatIf::Phase& phase : w.phases)
    if (phase.name == name) return phase.critical;
  return std::nan("");
}

// A batch of 64 has four pieces of 16 rows, so from four threads on the forward pass takes a quarter.
// The gradient of 4-256-256-2 has 8 + 8 + 1 pieces of up to 32 outputs.
TEST(WhatIf, PhasesAreDividedAsTheEngineDividesThem) {
  const Profile profile =
      profile_of("cartpole_dqn_zoo",
                 {row("learn", "", 10), row("learn", "forward", 4), row("learn", "backward", 5),
                  row("learn", "clip", 1), row("env", "step", 1)});
  for (const auto& [threads, share] :
       {std::pair{1, 1.0}, {2, 0.5}, {3, 0.5}, {4, 0.25}, {8, 0.25}}) {
    const WhatIf w = what_if(profile, threads);
    EXPECT_GE(critical(w, "learn/forward"), share - 1e-9) << threads;
    EXPECT_LT(critical(w, "learn/forward"), 2 * share) << threads;  // narrow blocks take longer
    if (threads <= 2) {                                             // whole blocks
      EXPECT_EQ(critical(w, "learn/forward"), share);
    }
    EXPECT_EQ(critical(w, "learn/clip"), 1);
    EXPECT_EQ(critical(w, "env/step"), 1);  // one environment
    EXPECT_GE(critical(w, "learn/backward"), 1.0 / threads - 1e-9);
    EXPECT_LE(critical(w, "learn/backward"), 1);
    EXPECT_EQ(w.phases.size(), 4u);  // not the group, which has parts
  }
  EXPECT_NEAR(what_if(profile, 1).speed_up, 1, 1e-9);
}

// 4 + 5 / 2 ... by hand: forward 4 -> 2, the rest stays; three meetings in each of 0.5 updates.
TEST(WhatIf, TheCriticalPathIsTheSumOfTheSlowest) {
  const Profile profile =
      profile_of("cartpole_dqn_zoo", {row("learn", "forward", 4), row("learn", "clip", 1)});
  const WhatIf w = what_if(profile, 2);
  EXPECT_DOUBLE_EQ(w.meetings_per_step, 1.5);
  EXPECT_NEAR(w.us_per_step, 2 + 1 + 1.5 * w.meeting_us, 1e-9);
  EXPECT_NEAR(w.speed_up, 5 / w.us_per_step, 1e-9);
}

TEST(WhatIf, SmallBatchesAreNotDivided) {
  const WhatIf w = what_if(profile_of("cartpole_dqn", {row("learn", "forward", 4)}), 8);
  EXPECT_EQ(critical(w, "learn/forward"), 1);
  EXPECT_EQ(w.meetings_per_step * profile_of("cartpole_dqn", {}).spec.envs, 1);  // its environments
}

}  // namespace
}  // namespace hotloop
