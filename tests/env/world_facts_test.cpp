#include "env/world_facts.hpp"

#include <gtest/gtest.h>
#include <hotloop/error.hpp>

#include "env/registry.hpp"
#include "env/vector_worlds.hpp"

namespace hotloop {
namespace {

TEST(WorldFacts, FollowTheOptions) {
  const WorldFacts snake = world_facts({"snake", {{"actions", "absolute"}, {"max_steps", "70"}}});
  EXPECT_EQ(snake.spec.actions, 4);
  EXPECT_FALSE(snake.masks);
  const WorldFacts masked = world_facts({"sfc", {{"mask", "on"}}});
  EXPECT_TRUE(masked.masks);
  EXPECT_FALSE(world_facts({"sfc", {{"mask", "off"}}}).masks);
  EXPECT_THROW(world_facts({"snake", {{"gird", "8"}}}), UsageError);
  EXPECT_THROW(world_facts({"snak", {}}), UsageError);
}

TEST(WorldFacts, TheTimeLimitSeparatesTruncations) {
  const WorldFacts cartpole = world_facts({"cartpole", {}});
  EXPECT_EQ(cartpole.steps_between_truncations, cartpole.spec.max_steps);
  EXPECT_EQ(cartpole.steps_between_truncations, 500);
}

// An environment that cannot be stepped still has facts. It is made once per query.
class Silent final : public Worlds {
 public:
  static inline int made = 0;
  static constexpr EnvSpec kSpec{.name = "(silent)", .obs = 3, .action_size = 1};
  Silent() { ++made; }
  const EnvSpec& spec() const override { return kSpec; }
  bool has_mask() const override { return true; }
  [[noreturn]] Stepping stepping() override { throw UsageError("it cannot be stepped"); }
};

class Truncating final : public VectorWorlds {
 public:
  const EnvSpec& spec() const override { return Silent::kSpec; }
  bool has_mask() const override { return false; }
  void begin(std::uint64_t, Purpose, const VectorResults&) override {}
  void step_all(const ActionRows&, const VectorResults&) override {}
  std::vector<std::byte> save_all() const override { return {}; }
  void restore_all(std::uint64_t, Purpose, std::span<const std::byte>,
                   const VectorResults&) override {}
};

TEST(WorldFacts, NeedNoStepping) {
  env_registry().put("facts_test_silent", {.spec = &Silent::kSpec, .other_maker = [](int) {
                                             return std::make_unique<Silent>();
                                           }});
  Silent::made = 0;
  const WorldFacts facts = world_facts({"facts_test_silent", {}});
  EXPECT_EQ(Silent::made, 1);
  EXPECT_EQ(facts.spec.obs, 3);
  EXPECT_TRUE(facts.masks);
  EXPECT_EQ(facts.steps_between_truncations, 0);
}

TEST(WorldFacts, VectorWorldsTruncateWhenTheyLike) {
  env_registry().put("facts_test_truncating", {.spec = &Silent::kSpec, .other_maker = [](int) {
                                                 return std::make_unique<Truncating>();
                                               }});
  EXPECT_EQ(world_facts({"facts_test_truncating", {}}).steps_between_truncations, 1);
}

}  // namespace
}  // namespace hotloop
