#include "env/file/world_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <hotloop/error.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/file.hpp"
#include "core/stopwatch.hpp"
#include "env/check/trial.hpp"
#include "env/file/cache.hpp"
#include "env/file/world_check.hpp"
#include "tests/env/file/own_home.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class WorldFile : public OwnHome {};

TrustedCode named(const std::string& path) {
  trust_named(path);
  return TrustedCode(read_code(path));
}

TEST_F(WorldFile, NamesOfFiles) {
  EXPECT_TRUE(is_world_file("a.cpp"));
  EXPECT_TRUE(is_world_file("./lib.so"));
  EXPECT_FALSE(is_world_file(".cpp"));
  EXPECT_FALSE(is_world_file("cartpole"));
  put("here.cpp", "");
  EXPECT_EQ(find_world_file("here.cpp", folder_.string()), (folder_ / "here.cpp").string());
  EXPECT_EQ(find_world_file("there.cpp", folder_.string()), "there.cpp");
}

TEST_F(WorldFile, ASourceWithoutIncludesStaysAsItIs) {
  const std::string text = "#include <hotloop/env.hpp>\n#include \"nowhere.hpp\"\n\nint x;";
  EXPECT_EQ(flat_source(put("a.cpp", text)), text);
  EXPECT_EQ(flat_source(put("b.cpp", text + "\n")), text + "\n");
}

TEST_F(WorldFile, IncludedFilesComeAlongOnce) {
  put("lib/deep.hpp", "#pragma once\nint deep;\n");
  put("lib/grid.hpp", "#pragma once\n#include \"deep.hpp\"\nint grid;\n");
  const std::string flat =
      flat_source(put("a.cpp", "#include \"lib/grid.hpp\"\n # include \"lib/deep.hpp\"\nint a;\n"));
  EXPECT_EQ(flat.find("int deep;"), flat.rfind("int deep;"));
  EXPECT_HAS(flat, "int grid;");
  EXPECT_HAS(flat, "#line 3 \"a.cpp\"\nint a;\n");
  EXPECT_EQ(flat.find("#pragma once"), std::string::npos);
  EXPECT_EQ(flat_source(put("flat.cpp", flat)), flat);  // as a run folder keeps it
  EXPECT_THROW(flat_source(put("self.cpp", "#include \"self.cpp\"\n")), UsageError);
}

TEST_F(WorldFile, CompilersAreLookedForInPath) {
  const std::string program = put("lib/g++", "#!/bin/sh\n");
  const std::string path = "/nowhere::" + (folder_ / "lib").string();
  EXPECT_EQ(find_compiler("/gone/c++", path), "");
  fs::permissions(program, fs::perms::owner_all);
  EXPECT_EQ(find_compiler("/gone/c++", path), program);
  EXPECT_EQ(find_compiler(program, ""), program);
  EXPECT_FALSE(default_compiler().program.empty());
  EXPECT_FALSE(default_compiler().headers.empty());
  WorldCompiler none = default_compiler();
  none.program = "";
  try {
    compile_world_file(named(put("a.cpp", "int a;\n")), none, folder_.string());
    FAIL() << "compiled without a compiler";
  } catch (const UsageError& error) {
    EXPECT_HAS(std::string(error.what()), "no C++ compiler found");
  }
}

// Other flags compile the same source to something else, so the identity differs.
TEST_F(WorldFile, IdentityFollowsTheFlags) {
  const WorldCompiler one = default_compiler();
  WorldCompiler other = one;
  EXPECT_EQ(compiler_identity(one), compiler_identity(default_compiler()));
  other.flags.emplace_back("-DX");
  EXPECT_NE(compiler_identity(one), compiler_identity(other));
}

std::string tiny_world(const std::string& name, const std::string& in_step) {
  return "#include <hotloop/env.hpp>\n#include <unistd.h>\nstruct Tiny {\n"
         "  static constexpr hotloop::EnvSpec spec{.name = \"" +
         name +
         "\", .obs = 1, .actions = 2, .max_steps = 9};\n"
         "  float x = 0;\n"
         "  void reset(hotloop::Rng& rng) { x = rng.uniform(); }\n"
         "  void observe(std::span<float> obs) const { obs[0] = x; }\n"
         "  hotloop::Step step(int action, hotloop::Rng&) {" +
         in_step + " x += action; return {x, x > 3}; }\n};\nHOTLOOP_ENV(Tiny)\n";
}

// The system loads a path only once, but users who rebuild a plug-in want the new one.
TEST_F(WorldFile, ARebuiltPlugInIsReloaded) {
  const std::string cache = (folder_ / "cache").string();
  fs::create_directories(cache);
  const std::string stale = put("cache/" + std::string(64, 'a') + ".so", "");
  const std::string foreign = put("cache/mine.so", "");
  for (const std::string& file : {stale, foreign}) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::days(100));
  }
  const auto build = [&](const std::string& name) {
    const std::string source = put(name + ".cpp", tiny_world(name, ""));
    fs::copy_file(compile_world_file(named(source), default_compiler(), cache).library,
                  folder_ / "tiny.so", fs::copy_options::overwrite_existing);  // the same file
  };
  const std::string path = (folder_ / "tiny.so").string();
  const TrustAll trust;
  build("first");
  EXPECT_FALSE(fs::exists(stale));  // unused for too long
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_EQ(load_world_file(path).spec->name, "first");
  build("second");
  EXPECT_EQ(load_world_file(path).spec->name, "second");
  EXPECT_EQ(load_world_file(path).spec->name, "second");
}

// After a power cut, a file in the cache may be shorter than what was written.
TEST_F(WorldFile, ALibraryThatWasCutShortIsMadeAgain) {
  const std::string cache = world_cache_folder();
  const std::string source = put("cut.cpp", tiny_world("cut", ""));
  const CompiledWorld first = compile_world_file(named(source), default_compiler(), cache);
  const std::string copy = put("cut.so", "");
  fs::copy_file(first.library, copy, fs::copy_options::overwrite_existing);
  for (const std::string& path : {source, copy}) {
    const std::string library = compile_world_file(named(path), default_compiler(), cache).library;
    const std::string whole(read_file(library).text());
    for (const std::size_t size : {std::size_t{0}, whole.size() / 2}) {
      put_own_file(library, whole.substr(0, size));  // another file: the first one is loaded
      EXPECT_EQ(load_world_file(path).spec->name, "cut");
      EXPECT_EQ(read_file(library).size, whole.size());
    }
    fs::remove(fs::path(library).replace_extension(".sum"));  // of an earlier version
    EXPECT_EQ(load_world_file(path).spec->name, "cut");
  }
}

// The bytes that were read are compiled, not what is in the file by then.
TEST_F(WorldFile, WhatWasTrustedIsCompiled) {
  const std::string path = put("tiny.cpp", tiny_world("trusted", ""));
  const TrustedCode code = named(path);
  put("tiny.cpp", tiny_world("exchanged", ""));
  const CompiledWorld world = compile_world_file(code, default_compiler(), world_cache_folder());
  EXPECT_EQ(only_world(world.library, path).spec->name, "trusted");
  EXPECT_THROW(load_world_file(path), UsageError);
}

// With 2 ms per step, the usual number of steps would take minutes.
TEST_F(WorldFile, ASlowWorldIsCheckedWithFewerSteps) {
  const std::string path = put("slow.cpp", tiny_world("slow", " usleep(2000);"));
  const Stopwatch watch;
  const CheckReport report = check_world(path, {.budget = 1});
  EXPECT_TRUE(report.failures.empty()) << report.failures[0].what;
  EXPECT_LT(watch.seconds(), 60);
  EXPECT_GT(report.steps_per_second, 0);
  EXPECT_LT(report.steps_per_second, 500);
}

// GCC's errors for a world without `step`, shortened. One sentence remains, at the author's line.
TEST(CompilerErrors, TheContractIsReportedAtTheAuthorsLine) {
  const std::string messages =
      "In file included from include/hotloop/env.hpp:192,\n"
      "                 from <command-line>:\n"
      "include/hotloop/world_array.hpp: In instantiation of 'constexpr void check_contract()':\n"
      "include/hotloop/world_array.hpp:360:28:   required from 'EnvEntry env_entry()'\n"
      "a.cpp:12:1:   required from here\n"
      "include/hotloop/world_array.hpp:311:17: error: static assertion failed: the world lacks "
      "`x`\n"
      "  311 |   static_assert(HasX<W>,\n"
      "      |                 ^~~~~~~\n"
      "include/hotloop/world_array.hpp:311:17: note: 'HasX' evaluates to false\n";
  EXPECT_EQ(readable_errors(messages, "a.cpp"), "a.cpp:12: the world lacks 'x'");
}

TEST(CompilerErrors, TheAuthorsOwnLinesComeFirst) {
  const std::string messages =
      "a.cpp: In member function 'void A::reset()':\n"
      "a.cpp:7:5: error: 'y' was not declared in this scope\n"
      "    7 |     y = 1;\n"
      "      |     ^\n"
      "/usr/include/c++/12/span:5:1: error: no matching function\n";
  EXPECT_EQ(readable_errors(messages, "a.cpp"),
            "a.cpp:7: 'y' was not declared in this scope\n    7 |     y = 1;\n      |     ^");
  EXPECT_EQ(readable_errors("ld: cannot find -lx\n", "a.cpp"), "ld: cannot find -lx\n");
}

TEST(Trial, ReturnsWhatTheBodySays) {
  const TrialResult result = run_trial([] { return std::string("fine"); }, 1);
  EXPECT_TRUE(result.is_done);
  EXPECT_EQ(result.text, "fine");
}

TEST(Trial, SaysHowItEnded) {
  const auto failure = [](auto&& body) { return run_trial(body, 0.2).failure; };
  EXPECT_EQ(failure([]() -> std::string { throw RunError("no way"); }), "no way");
  EXPECT_EQ(failure([]() -> std::string {
              const Doing doing(EnvCall::step, 3, 4, 17);
              for (volatile bool always = true; always;) {
              }
              return "";
            }),
            "step did not return within 0.2 s (row 3, step 17)");
  EXPECT_EQ(failure([]() -> std::string {
              const Doing doing(EnvCall::reset, 0, 1);
              std::raise(SIGSEGV);
              return "";
            }),
            "reset crashed: a read or write where there is no memory (SIGSEGV) (row 0)");
  EXPECT_EQ(failure([]() -> std::string {
              const Doing doing(EnvCall::constructor);
              _exit(3);
            }),
            "the constructor ended the program with exit code 3");
}

// The child can write to the memory in which it answers.
TEST(Trial, BelievesNoLength) {
  const TrialResult result = run_trial(
      []() -> std::string {
        std::memset(static_cast<void*>(&call_notes()), 1, sizeof(CallNotes) + 64);
        _exit(0);
      },
      1);
  EXPECT_LE(result.failure.size(), std::size_t{1} << 18);
}

// A registered world needs no file; it is checked too.
TEST(WorldCheck, BuiltInWorldsPass) {
  const CheckReport report = check_world("cartpole", {.steps = 60});
  EXPECT_TRUE(report.failures.empty());
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_GT(report.steps_per_second, 1000);
  EXPECT_THROW(check_world("cartpol", {}), UsageError);
}

}  // namespace
}  // namespace hotloop
