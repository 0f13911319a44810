#include "env/registry.hpp"

#include <gtest/gtest.h>
#include <hotloop/env.hpp>
#include <hotloop/error.hpp>

#include <concepts>
#include <limits>
#include <string>
#include <vector>

// The example of <hotloop/env.hpp>, outside the library's namespace as an author would write it.
namespace author {

struct Corridor {
  static constexpr auto spec =
      hotloop::EnvSpec{.name = "test_corridor", .obs = 2, .actions = 2, .max_steps = 100};
  int x = 0, goal = 9;
  void reset(hotloop::Rng& rng) {
    x = 0;
    goal = 5 + rng.below(10);
  }
  void observe(std::span<float> obs) const {
    obs[0] = x / 20.f;
    obs[1] = goal / 20.f;
  }
  hotloop::Step step(int a, hotloop::Rng&) {
    x += a ? 1 : -1;
    const bool there = x == goal;
    return {there ? 1.f : -.01f, there || x < 0};
  }
};

}  // namespace author

HOTLOOP_ENV(author::Corridor)

namespace hotloop {
namespace {

template <int kNumber>
struct Named {
  static constexpr std::string_view kNames[] = {"maze", "acrobot", "snake"};
  static constexpr EnvSpec spec{.name = kNames[kNumber], .obs = 1, .actions = 1};
  void reset(Rng&) {}
  void observe(std::span<float> obs) const { obs[0] = 0; }
  Step step(int, Rng&) { return {}; }
};

// The sub-concepts distinguish the missing members.
struct NoStep {
  static constexpr EnvSpec spec{.name = "no step", .obs = 1, .actions = 1};
  void reset(Rng&) {}
  void observe(std::span<float>) const {}
};
struct OwnsMemory : Named<0> {
  std::vector<int> cells;
};
static_assert(World<author::Corridor> && !HasMask<author::Corridor>);
static_assert(HasReset<NoStep> && HasObserve<NoStep> && !HasStep<NoStep> && !World<NoStep>);
static_assert(HasStep<OwnsMemory> && !TriviallyCopyable<OwnsMemory> && !World<OwnsMemory>);
static_assert(!HasSpec<int> && !World<int>);

// The two kinds of action, and worlds that mix them.
struct Boxed {
  static constexpr EnvSpec spec{
      .name = "boxed", .obs = 1, .action_size = 2, .action_low = {-1, -2}, .action_high = {1, 3}};
  void reset(Rng&) {}
  void observe(std::span<float> obs) const { obs[0] = 0; }
  Step step(std::span<const float>, Rng&) { return {}; }
};
struct TakesBoth : Boxed {
  using Boxed::step;
  Step step(int, Rng&) { return {}; }
};
static_assert(World<Boxed> && HasContinuousStep<Boxed> && !HasDiscreteStep<Boxed>);
static_assert(HasDiscreteStep<author::Corridor> && !HasContinuousStep<author::Corridor>);
static_assert(!HasStep<TakesBoth> && !World<TakesBoth>);
static_assert(std::same_as<ActionOf<Boxed>, float>);
static_assert(std::same_as<ActionOf<author::Corridor>, std::int32_t>);

constexpr EnvSpec bounded(float low, float high) {
  return {.name = "bounded", .action_size = 2, .action_low = {-1, low}, .action_high = {1, high}};
}
constexpr float kInfinity = std::numeric_limits<float>::infinity();
static_assert(detail::bounds_are_sound(Boxed::spec));
static_assert(detail::bounds_are_sound(bounded(-0.5f, 0)));
static_assert(!detail::bounds_are_sound(bounded(0, 0)));
static_assert(!detail::bounds_are_sound(bounded(1, -1)));
static_assert(!detail::bounds_are_sound(bounded(0, kInfinity)));
static_assert(!detail::bounds_are_sound(bounded(-kInfinity, 0)));
static_assert(!detail::bounds_are_sound(bounded(std::numeric_limits<float>::quiet_NaN(), 1)));

std::string error_of(EnvRegistry& registry, std::string_view name) {
  try {
    registry.find(name);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(EnvRegistry, SortsByNameAndFinds) {
  EnvRegistry registry;
  EXPECT_TRUE(registry.add(env_entry<Named<0>>()));
  EXPECT_TRUE(registry.add(env_entry<Named<1>>()));
  EXPECT_TRUE(registry.add(env_entry<Named<2>>()));
  ASSERT_EQ(registry.entries().size(), 3u);
  EXPECT_EQ(registry.entries()[0].spec->name, "acrobot");
  EXPECT_EQ(registry.entries()[1].spec->name, "maze");
  EXPECT_EQ(registry.entries()[2].spec->name, "snake");
  EXPECT_EQ(registry.find("maze").spec, &Named<0>::spec);
}

TEST(EnvRegistry, UnknownNameListsTheKnownAndTheNearest) {
  EnvRegistry registry;
  registry.add(env_entry<Named<0>>());
  registry.add(env_entry<Named<2>>());
  EXPECT_EQ(error_of(registry, "snak"),
            "env.name: unknown environment snak; did you mean snake? (allowed: maze, snake)");
  EXPECT_EQ(error_of(registry, "pendulum"),
            "env.name: unknown environment pendulum; allowed: maze, snake");
}

TEST(EnvRegistry, PythonEnvironmentsAreSentToPython) {
  EnvRegistry registry;
  EXPECT_EQ(error_of(registry, "gymnasium:CartPole-v1"),
            "env.name: gymnasium:CartPole-v1 is a Python environment; use Python: "
            "hotloop.train(SPEC), hotloop.train(ALGORITHM, env=...), hotloop.resume(RUN)");
  EXPECT_NE(error_of(registry, "envpool:CartPole-v1").find("hotloop.resume"), std::string::npos);
}

TEST(EnvRegistry, AnEntryIsReplacedButTheOldOneStaysValid) {
  EnvRegistry registry;
  const EnvEntry& first = registry.put("x.cpp", env_entry<author::Corridor>());
  const EnvEntry& second = registry.put("x.cpp", env_entry<author::Corridor>());
  EXPECT_NE(&first, &second);
  EXPECT_EQ(registry.look_up("x.cpp"), &second);
  EXPECT_EQ(first.spec, second.spec);
  EXPECT_TRUE(registry.entries().empty());  // it registers another name
  EXPECT_EQ(registry.look_up("y.cpp"), nullptr);
}

TEST(EnvRegistry, ALoaderMakesTheNamesThatItRecognises) {
  static int loaded;
  loaded = 0;
  EnvRegistry registry;
  EXPECT_EQ(error_of(registry, "hall.maze"), "env.name: unknown environment hall.maze; allowed: ");
  registry.add_loader({[](std::string_view name) { return name.ends_with(".maze"); },
                       [](const std::string& name) -> EnvEntry {
                         if (name == "torn.maze") throw UsageError("torn.maze: is torn");
                         ++loaded;
                         return env_entry<Named<0>>();
                       }});
  EXPECT_EQ(registry.name_error("hall.maze"), "");  // nothing is loaded to answer that
  EXPECT_EQ(loaded, 0);
  const EnvEntry& first = registry.find("hall.maze");
  EXPECT_EQ(first.spec, &Named<0>::spec);
  EXPECT_EQ(&registry.find("hall.maze"), &first);
  EXPECT_EQ(loaded, 1);
  registry.forget("hall.maze");
  registry.find("hall.maze");
  EXPECT_EQ(loaded, 2);
  EXPECT_EQ(error_of(registry, "torn.maze"), "torn.maze: is torn");
  EXPECT_NE(error_of(registry, "hall.map").find("unknown environment"), std::string::npos);
}

TEST(EnvRegistry, NameTakenTwiceIsAnError) {
  EnvRegistry registry;
  EXPECT_TRUE(registry.add(env_entry<Named<0>>()));
  EXPECT_FALSE(registry.add(env_entry<Named<0>>()));
  EXPECT_THROW(registry.entries(), UsageError);
  EXPECT_EQ(error_of(registry, "maze"),
            "two environments are both named \"maze\"; rename one of them in its EnvSpec");
}

TEST(EnvRegistry, MacroRegistersAtLoadTime) {
  EXPECT_EQ(find_env("test_corridor").spec, &author::Corridor::spec);
  EXPECT_THROW(find_env("test_coridor"), UsageError);
}

}  // namespace
}  // namespace hotloop
