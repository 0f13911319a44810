// The short form of overrides.
#include <gtest/gtest.h>

#include "tests/run/spec_text.hpp"

namespace hotloop {
namespace {

constexpr const char* kSnake = "env: {name: snake, options: {obs: flood}}";

TEST(SpecOverride, AnOptionOfTheEnvironmentNeedsNoOptions) {
  EXPECT_EQ(full_override("env.grid=8", "snake"), "env.options.grid=8");
  for (const char* as_it_is : {"env.options.grid=8", "env.count=8", "env.name=snake", "env.gird=8",
                               "algo.grid=8", "env.grid", "grid=8", "env.=8", "env.grid.x=8"}) {
    EXPECT_EQ(full_override(as_it_is, "snake"), as_it_is);
  }
  EXPECT_EQ(full_override("env.grid=8", "cartpole"), "env.grid=8");
  EXPECT_EQ(full_override("env.grid=8", "nobody"), "env.grid=8");
}

TEST(SpecOverride, ShortAndLongFormAreTheSame) {
  const EnvOptions expected = {{"grid", "8"}, {"obs", "flood"}};
  EXPECT_EQ(read(kSnake, {"env.grid=8"}).env_options, expected);
  EXPECT_EQ(read(kSnake, {"env.options.grid=8"}).env_options, expected);
  EXPECT_EQ(read(kSnake, {"env.options.grid=9", "env.grid=8"}).env_options, expected);
  EXPECT_EQ(read(kSnake, {"env.obs=basic"}).env_options, (EnvOptions{{"obs", "basic"}}));
  EXPECT_EQ(read(kSnake, {"env.count=3"}).envs, 3);
  EXPECT_EQ(
      read("env: {name: cartpole}", {"env.name=durotaxis", "env.substrate=random"}).env_options,
      (EnvOptions{{"substrate", "random"}}));
}

TEST(SpecOverride, MistakesAreNamed) {
  EXPECT_EQ(
      complaint(kSnake, {"env.gird=8"}),
      "--set env.gird=8: env.gird: unknown key; did you mean env.options.grid? (allowed: name, "
      "count, options)");
  EXPECT_EQ(complaint("env: {name: cartpole}", {"env.grid=8"}),
            "--set env.grid=8: env.grid: unknown key; allowed: name, count, options");
  EXPECT_NE(complaint("env: {name: snake, grid: 8}").find("did you mean env.options.grid?"),
            std::string::npos)
      << "in a file the full form is needed";
}

}  // namespace
}  // namespace hotloop
