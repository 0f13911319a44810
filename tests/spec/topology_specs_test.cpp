// The topology specs keep to the specification of the original.
#include <gtest/gtest.h>

#include "train/trainer.hpp"

namespace hotloop {
namespace {

// "Exactly one gradient step per env step from the 1000th stored transition on" (the specification
// of the topology DQN, check 9).
TEST(TopologySpecs, TheFirstUpdateFollowsTheThousandthTransition) {
  for (const char* name :
       {"topology_smallworld", "topology_64", "topology_264", "topology_dense"}) {
    Trainer trainer(load_spec(name));
    while (trainer.counters().updates == 0) {
      ASSERT_LT(trainer.counters().env_steps, 1'000) << name;
      trainer.round();
    }
    EXPECT_EQ(trainer.counters().env_steps, 1'000) << name;
    EXPECT_EQ(trainer.counters().updates, 1) << name;
    for (int i = 0; i < 10; ++i) trainer.round();
    EXPECT_EQ(trainer.counters().env_steps - trainer.counters().updates, 999) << name;
  }
}

}  // namespace
}  // namespace hotloop
