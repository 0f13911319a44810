// Every registered world must pass the battery.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <ostream>
#include <string>

#include "env/check/battery.hpp"
#include "env/registry.hpp"

namespace hotloop {

void PrintTo(const EnvEntry& entry, std::ostream* out) { *out << entry.spec->name; }

namespace {

class AllEnvs : public testing::TestWithParam<EnvEntry> {};

TEST_P(AllEnvs, PassesTheBattery) {
  for (const std::string& failure : check_env(GetParam())) ADD_FAILURE() << failure;
}

std::string test_name(const testing::TestParamInfo<EnvEntry>& param) {
  std::string name(param.param.spec->name);
  const auto is_not_plain = [](unsigned char c) { return !std::isalnum(c); };
  std::replace_if(name.begin(), name.end(), is_not_plain, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registered, AllEnvs, testing::ValuesIn(registered_envs()), test_name);

TEST(AllEnvsList, HoldsTheClassicControlWorlds) {
  EXPECT_EQ(find_env("cartpole").spec->obs, 4);
  EXPECT_EQ(find_env("acrobot").spec->obs, 6);
  EXPECT_EQ(find_env("mountaincar").spec->actions, 3);
  EXPECT_EQ(find_env("mountaincar_continuous").spec->action_size, 1);
  EXPECT_EQ(find_env("pendulum").spec->action_high[0], 2);
}

}  // namespace
}  // namespace hotloop
