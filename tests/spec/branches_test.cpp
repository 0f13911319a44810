// Reading and writing net.branches. tests/net/branches_test.cpp tests what branches do.
#include <gtest/gtest.h>

#include "tests/spec/spec_text.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

TEST(SpecBranches, AreReadInTheirOrderAndWrittenBack) {
  const TrainSpec spec = read(R"(
env: {name: sfc}
net:
  branches:
    z: {from: dc, layers: [dense 8 tanh, norm]}
    a: {from: [z, dc], layers: dense 4}
    all: {from: [z, a]}
)");
  const std::vector<Branch> expected = {{"z", {"dc"}, {"dense 8 tanh", "norm"}},
                                        {"a", {"z", "dc"}, {"dense 4"}},
                                        {"all", {"z", "a"}, {}}};
  EXPECT_EQ(spec.net.branches, expected);
  EXPECT_EQ(read(to_yaml(spec)).net.branches, expected);
  EXPECT_EQ(network_structure(spec), network_structure(read(to_yaml(spec))));
}

TEST(SpecBranches, AnOverrideReplacesThemAll) {
  const std::string text = "env: {name: sfc}\nnet: {branches: {h: {from: dc}}}\n";
  EXPECT_TRUE(read(text, {"net.branches={}"}).net.branches.empty());
  EXPECT_EQ(read(text, {"net.branches={g: {from: global}}"}).net.branches,
            (std::vector<Branch>{{"g", {"global"}, {}}}));
}

TEST(SpecBranches, MistakesAreNamed) {
  EXPECT_EQ(
      second_line("net: {branches: 3}"),
      "2: net.branches: expected branches such as {h: {from: part, layers: [dense 64]}}, found 3");
  EXPECT_EQ(second_line("net: {branches: {h: 3}}"),
            "2: net.branches.h: expected branches such as {h: {from: part, layers: [dense 64]}}");
  EXPECT_EQ(second_line("net: {branches: {h: {form: a}}}"),
            "2: net.branches.h.form: unknown key; did you mean from? (allowed: from, layers)");
  EXPECT_EQ(second_line("net: {branches: {h: {from: [[a]]}}}"),
            "2: net.branches.h.from: expected words such as \"dense 64\", found a list");
  EXPECT_EQ(second_line("net: {branches: {h: {from: \"a,b\"}}}"),
            "2: net.branches.h.from: expected words such as \"dense 64\", found the text \"a,b\"");
  EXPECT_EQ(second_line("net: {branches: {h: {from: \" a\"}}}"),
            "2: net.branches.h.from: expected words such as \"dense 64\", found the text \" a\"");
  EXPECT_EQ(second_line("net: {branches: {h h: {from: a}}}"),
            "2: net.branches.h h: a name has letters, digits and _ only");
  EXPECT_EQ(second_line("net: {branches: {h: {from: a}, h: {from: a}}}"),
            "2: net.branches.h: given twice");
  EXPECT_EQ(second_line("net: {branches: {h: {from: a}}, channels: [3]}"),
            "2: net.channels: cannot be combined with net.branches; choose one of them");
  EXPECT_EQ(second_line("net: {branches: {h: {from: a}}, graph: {kind: small_world}}"),
            "2: net.branches: cannot be combined with net.graph: a graph has no layers");
}

// Whether parts exist can be checked once the environment is known.
TEST(SpecBranches, PartsAreThoseOfTheEnvironment) {
  const auto error = [](const std::string& text) {
    try {
      network_structure(read(text));
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error("env: {name: sfc}\nnet: {branches: {h: {from: globel}}}"),
            "net.branches.h: from: \"globel\" is neither a part of the observation nor an earlier "
            "branch; did you mean global? (allowed: dc, dc_sfc, global)");
}

}  // namespace
}  // namespace hotloop
