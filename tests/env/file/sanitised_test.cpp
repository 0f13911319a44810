#include "env/file/sanitised.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "env/file/program.hpp"
#include "tests/env/file/own_home.hpp"

namespace hotloop {
namespace {

// What GCC 12 printed for such worlds, shortened.
TEST(Sanitizers, AnIndexBeyondAnArrayOfFixedSize) {
  const SanitisedPlay play = read_sanitizers(
      "world.cpp:12:37: runtime error: index 12 out of bounds for type 'int [12]'\n"
      "    #0 0x55 in World::step(int, hotloop::Rng&) /tmp/world.cpp:12\n"
      "    #1 0x56 in void hotloop::detail::step_each<int>(int) /include/hotloop/env.hpp:7\n\n"
      "world.cpp:12:30: runtime error: index 13 out of bounds for type 'int [12]'\n"
      "world.cpp:14:9: runtime error: signed integer overflow: 2147483647 + 1 cannot be "
      "represented in type 'int'\n",
      "world.cpp", "/include");
  ASSERT_EQ(play.failures.size(), 1u);  // one mistake per line
  EXPECT_EQ(play.failures[0].what, "world.cpp:12: index 12 of an array of 12; allowed: 0 to 11");
  ASSERT_EQ(play.warnings.size(), 1u);
  EXPECT_TRUE(play.warnings[0].what.starts_with("world.cpp:14: signed integer overflow"));
}

TEST(Sanitizers, TheFirstOfTheAuthorsOwnLines) {
  const SanitisedPlay play = read_sanitizers(
      "/usr/include/c++/12/array:208: constexpr std::array<_Tp, _Nm>::value_type& "
      "std::array<_Tp, _Nm>::operator[](size_type): Assertion '__n < this->size()' failed.\n"
      "==1==ERROR: AddressSanitizer: ABRT on unknown address 0x3d (pc 0x7f)\n"
      "    #0 0x7f in __GI_abort stdlib/abort.c:79\n"
      "    #1 0x55 in std::array<int, 9ul>::operator[](unsigned long) "
      "/usr/include/c++/12/array:208\n"
      "    #2 0x55 in World::step(int, hotloop::Rng&) /home/a b/maze.cpp:11\n"
      "    #3 0x55 in main /opt/include/hotloop/play_alone.hpp:93\n\n",
      "world.cpp", "/opt/include");
  ASSERT_EQ(play.failures.size(), 1u);
  EXPECT_EQ(play.failures[0].what,
            "/home/a b/maze.cpp:11: an index beyond the end of a std::array");
}

TEST(Sanitizers, AGlobalVariableIsNamed) {
  const SanitisedPlay play = read_sanitizers(
      "==1==ERROR: AddressSanitizer: global-buffer-overflow on address 0x55 at pc 0x55\n"
      "READ of size 4 at 0x55 thread T0\n"
      "    #0 0x55 in World::move(int const*, int) /tmp/world.cpp:8\n\n"
      "0x55 is located 0 bytes to the right of global variable 'kMoves' defined in "
      "'world.cpp:2:11' (0x55) of size 16\n",
      "world.cpp", "/include");
  ASSERT_EQ(play.failures.size(), 1u);
  EXPECT_EQ(play.failures[0].what,
            "/tmp/world.cpp:8: an access beyond a static or global variable or array ('kMoves')");
}

TEST(Sanitizers, WhatAWorldPrintsIsNoReport) {
  const SanitisedPlay play = read_sanitizers(
      "step 3: x:4\n==1==ERROR: AddressSanitizer: ABRT on unknown address\n", "world.cpp", "");
  EXPECT_TRUE(play.failures.empty() && play.warnings.empty());
}

class SanitisedWorld : public OwnHome {};

TEST_F(SanitisedWorld, ACompilerWithoutThemIsNoFailure) {
  const TrustAll trust;
  WorldCompiler compiler = sanitising_compiler();
  compiler.flags.emplace_back("-fsanitize=nothing-of-this-name");
  const TrustedCode code(read_code(put("a.cpp", "int x;\n")));
  const SanitisedPlay play = play_sanitised(code, compiler);
  EXPECT_TRUE(play.failures.empty());
  EXPECT_NE(play.skip_reason.find("has no sanitizers here"), std::string::npos) << play.skip_reason;
}

TEST(Program, IsEndedWhenItTakesTooLong) {
  const ProgramResult late =
      run_program({"/bin/sh", "-c", "echo said; sleep 60"}, {.seconds = 0.3});
  EXPECT_TRUE(late.timed_out);
  EXPECT_EQ(late.text, "said\n");
  EXPECT_EQ(late.code, 128 + 9);
}

TEST(Program, SettingsAndOnlyErrors) {
  const ProgramResult result = run_program({"/bin/sh", "-c", "echo out; echo $HOME >&2; exit 3"},
                                           {.settings = {"HOME=/elsewhere"}, .only_errors = true});
  EXPECT_EQ(result.text, "/elsewhere\n");
  EXPECT_EQ(result.code, 3);
  EXPECT_FALSE(result.timed_out);
}

}  // namespace
}  // namespace hotloop
