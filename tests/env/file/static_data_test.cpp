#include "env/file/static_data.hpp"

#include <gtest/gtest.h>

namespace hotloop {
namespace {

TEST(StaticData, NamesAreTheAuthors) {
  EXPECT_EQ(variable_name("_ZZN5World4stepEiRN7hotloop3RngEE4best"), "World::step::best");
  EXPECT_EQ(variable_name("_ZZNK5World7observeESt4spanIfLm18446744073709551615EEE6looked"),
            "World::observe::looked");
  EXPECT_EQ(variable_name("_ZN12_GLOBAL__N_17made_upE"), "made_up");
  EXPECT_EQ(variable_name("counter"), "counter");
  EXPECT_EQ(variable_name("best.0"), "best");  // static in a C function
}

TEST(StaticData, NamesOfOthersAreLeftOut) {
  for (const char* symbol :
       {"_ZZN7hotloop6plugin10registeredEvE3all", "_ZStL8__ioinit", "__dso_handle", "completed.0",
        "_ZGVZN5World4stepEiRN7hotloop3RngEE5table", "_ZTV5World"}) {
    EXPECT_EQ(variable_name(symbol), "") << symbol;
  }
}

TEST(StaticData, WhatIsNotLoadedIsNotWatched) {
  EXPECT_TRUE(StaticData("/no/such/library.so").changed().empty());
}

}  // namespace
}  // namespace hotloop
