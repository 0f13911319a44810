// Text that would take much time or memory is refused before it does.
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>

#include "core/file.hpp"
#include "tests/spec/spec_text.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

const std::string kCartpole = "env: {name: cartpole}\n";

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// Every refusal comes at once.
std::string quick_complaint(const std::string& text,
                            const std::vector<std::string>& overrides = {}) {
  const std::clock_t start = std::clock();  // CPU time: the machine may be busy
  const std::string found = complaint(text, overrides);
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
  EXPECT_LT(found.size(), 1'000u) << found.substr(0, 1'000);
  return found;
}

TEST(SpecLimits, LongTextIsNotParsed) {
  EXPECT_EQ(quick_complaint(kCartpole + "about: " + std::string(64 << 20, 'x')),
            " 67108893 bytes; a spec has at most 67108864");
  EXPECT_EQ(quick_complaint(repeated("a: 1\n", 20'000)),
            " too long for a spec: 40000 line breaks and punctuation marks; allowed: up to 20000");
  for (const char* item : {"[1], ", "1,", "{a: 1},", "- 1\n", "? ", "&a ", "*a,", "-\r"}) {
    EXPECT_NE(quick_complaint("net: {hidden: [" + repeated(item, 1'000'000) + "]}")
                  .find("too long for a spec"),
              std::string::npos)
        << item;
  }
  EXPECT_NE(quick_complaint(kCartpole, {"net.hidden=[" + repeated("1,", 20'000) + "]"})
                .find("too long for a spec"),
            std::string::npos);
}

// One value may be long: the edges of a graph.
TEST(SpecLimits, AGraphOfManyEdgesIsAllowed) {
  std::string edges = "1 40000 1: 0>40001";
  for (int n = 1; n < 40'000; ++n) edges += " 0>" + std::to_string(n);
  const TrainSpec spec =
      read("env: {name: cartpole}\nnet: {graph: {kind: edges, edges: \"" + edges + "\"}}\n");
  EXPECT_EQ(spec.net.graph.edges, edges);
  EXPECT_EQ(read(to_yaml(spec)).net.graph.edges, edges);
}

// yaml-cpp 0.7 finds empty documents forever in these.
TEST(SpecLimits, StrayPunctuationEnds) {
  for (const char* text :
       {",", "]", "}", ", ", "a: 1\n]", "[1],", "{a: 1}}", "- 1\n,", ":,", "?,"}) {
    EXPECT_NE(quick_complaint(text), "accepted") << text;
    EXPECT_NE(quick_complaint(kCartpole, {std::string("algo.batch=") + text}), "accepted") << text;
  }
}

TEST(SpecLimits, NestingEndsWithASentence) {
  for (const std::string open : {"[", "{", "{a: ", "- ", "? ", "&a [", "[[{", "a:\n "}) {
    for (const std::string before : {"", "net: {hidden: ", "env: {options: {x: ", "name: "}) {
      const std::string found = quick_complaint(before + repeated(open, 5'000));
      EXPECT_NE(found, "accepted") << before << open;
    }
  }
  quick_complaint("env: {name: cartpole, options: {x: " + repeated("[", 400) + repeated("]", 400) +
                  "}}");
}

// Each level has ten times the values of the one before, if they are expanded.
TEST(SpecLimits, AliasesDoNotMultiply) {
  const auto use = [](int level) {
    return "[" + repeated("*a" + std::to_string(level) + ",", 10) + "]";
  };
  std::string laughs = "&a0 [1]";
  for (int level = 0; level < 30; ++level) {
    laughs += ", &a" + std::to_string(level + 1) + " " + use(level);
  }
  EXPECT_NE(quick_complaint(kCartpole + "net: {hidden: [" + laughs + "]}\n"), "accepted");
  EXPECT_NE(quick_complaint(kCartpole + "net: {branches: {h: {from: [" + laughs +
                            "], layers: [dense 4]}}}\n"),
            "accepted");
  EXPECT_NE(quick_complaint("env: &e {name: cartpole, options: {grid: *e}}"), "accepted");
  EXPECT_NE(quick_complaint("env: &e {name: cartpole, options: *e}"), "accepted");
}

TEST(SpecLimits, ReplayHasAtMostFourBillionTransitions) {
  const std::string message = quick_complaint(kCartpole + "replay: {capacity: 4294967296}\n");
  EXPECT_EQ(message,
            "2: replay.capacity: 4294967296 is out of range; allowed: 1 <= capacity <= 4e+09");
  EXPECT_EQ(dqn(read(kCartpole + "replay: {capacity: 4000000000}\n")).replay.capacity,
            4'000'000'000);
}

// Without content on the disk, a file can have any size.
TEST(SpecLimits, ALargeFileIsNotRead) {
  const std::string path = testing::TempDir() + "hotloop_large_spec.yaml";
  write_file_atomically(path, kCartpole);
  std::filesystem::resize_file(path, std::uint64_t{1} << 40);
  try {
    load_spec(path);
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(),
              "cannot read " + path + ": it has 1099511627776 bytes; allowed: at most 67108864");
  }
  std::filesystem::remove(path);
}

// It names folders, and is printed.
TEST(SpecLimits, NamesHaveNoControlCharacters) {
  EXPECT_EQ(
      complaint(kCartpole + "name: \"a\\e[2Jb\"\n"),
      "2: name: \"a\\x1b[2Jb\": control characters and bytes that are not UTF-8 are not allowed");
  for (const char* name : {"a\\nb", "a\\u202eb", "a\\u009bb", "a\\tb"}) {
    EXPECT_NE(complaint(kCartpole + "name: \"" + name + "\"\n"), "accepted") << name;
  }
  EXPECT_EQ(read(kCartpole + "name: \"gr\xc3\xbc\xc3\x9f, 2\"\n").name, "gr\xc3\xbc\xc3\x9f, 2");
}

}  // namespace
}  // namespace hotloop
