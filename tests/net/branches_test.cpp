// Networks with several named inputs: their shapes, the SFC network of the specification (sections
// 11 and 17), and what is refused. network_test.cpp compares their passes with a slow twin.
#include "net/branches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <hotloop/error.hpp>
#include <hotloop/rng.hpp>

#include "net/network.hpp"
#include "tests/net/sfc_network.hpp"

namespace hotloop {
namespace {

const std::vector<InputPart> kParts = {{"a", 1, 4}, {"b", 3, 2}, {"c", 1, 5}};

Structure network(std::vector<Branch> branches) {
  return make_mlp(15, 2, {.branches = std::move(branches), .hidden = {8}}, 1, {}, kParts);
}

std::string error_of(std::vector<Branch> branches) {
  try {
    network(std::move(branches));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Branches, NeighboursAreJoinedInPlace) {
  const Structure net = network({{"x", {"a"}, {"dense 3"}},
                                 {"y", {"b"}, {"dense 2", "flatten", "dense 3"}},
                                 {"z", {"x", "y"}, {"stack", "attention 4"}},
                                 {"all", {"x", "y", "z"}, {}}});
  ASSERT_EQ(net.layers.size(), 6u);  // nothing is copied
  EXPECT_EQ(net.places[0], (Place{0, 15}));
  EXPECT_EQ(net.places[1], (Place{4, 24}));  // inner activations, after the results
  EXPECT_EQ(net.places[2], (Place{24, 18}));
  EXPECT_EQ(net.places[3], (Place{15, 21}));  // attention over x and y
  EXPECT_EQ(net.places[4].from, 15);          // the hidden layer reads x, y, z
  EXPECT_EQ(inputs_of(net.layers[4]), 9);
  EXPECT_EQ(std::get<DenseLayer>(net.layers[1]).rows, 3);
  EXPECT_EQ(net.describe(), "a 3 | b 3x2-3 | x+y attention | 8-2 relu, 161 parameters");
}

TEST(Branches, OthersAreCopiedTogether) {
  const Structure net =
      network({{"x", {"a"}, {"dense 3"}}, {"y", {"c"}, {"dense 3"}}, {"all", {"y", "x", "c"}, {}}});
  ASSERT_EQ(net.layers.size(), 7u);  // two, three copies, two
  EXPECT_TRUE(std::holds_alternative<CopyLayer>(net.layers[2]));
  EXPECT_EQ(net.places[3].to, net.places[2].to + 3);
  EXPECT_EQ(net.places[4].from, 10);
  EXPECT_EQ(net.places[5].from, net.places[2].to);
  EXPECT_FALSE(net.wants_input_gradient(4));
}

// Section 11, layer by layer; the products are from section 17.1.
TEST(Branches, TheSfcNetworkHasItsParameters) {
  const Structure net = sfc_network();
  EXPECT_EQ(net.inputs, 152);
  EXPECT_EQ(net.parameters, 177'294u);
  std::vector<std::size_t> counts;
  std::size_t products = 0;
  const auto count = [&](const DenseLayer& dense) {
    counts.push_back(static_cast<std::size_t>(dense.in + 1) * dense.out);
    products += static_cast<std::size_t>(dense.rows) * dense.in * dense.out;
  };
  for (const Layer& layer : net.layers) {
    if (const auto* dense = std::get_if<DenseLayer>(&layer)) count(*dense);
    if (const auto* attention = std::get_if<AttentionLayer>(&layer)) {
      count(attention->hidden);
      count(attention->score);
    }
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{1920, 8256, 896, 24640, 704, 24640, 8320, 129, 65792,
                                              32896, 8256, 845}));
  EXPECT_EQ(products, 200'256u);
}

// Section 17.8: without scores, attention is the mean.
TEST(Branches, AttentionWithoutScoresIsTheMean) {
  const Structure net =
      make_mlp(6, 2, {.branches = {{"all", {"rows"}, {"attention 5"}}}, .hidden = {}}, 1, {},
               std::vector<InputPart>{{"rows", 3, 2}});
  std::vector<float> parameters(net.storage);
  initialise(net, Initialiser::glorot, 1, parameters);
  const auto& attention = std::get<AttentionLayer>(net.layers[0]);
  std::fill_n(parameters.begin() + attention.score.weight, 5, 0.0f);
  const std::vector<float> x = {1, 2, 3, 5, 8, 14};
  const Plan plan(net);
  for (const Use use : {Use::training, Use::inference}) {  // lanes, and one sample
    Workspace workspace(net, 1, use);
    parameters[std::get<DenseLayer>(net.layers[1]).bias] = 0;
    float* head = &parameters[std::get<DenseLayer>(net.layers[1]).weight];
    head[0] = 1, head[1] = 0, head[8] = 0, head[9] = 1;  // the outputs are the mean itself
    forward(plan, parameters, x.data(), 1, workspace);
    EXPECT_FLOAT_EQ(workspace.outputs(0)[0], 4);
    EXPECT_FLOAT_EQ(workspace.outputs(0)[kLanes], 7);
  }
}

// Scores (log 1, log 2, log 5) weigh rows by 1/8, 2/8, 5/8; worked by hand.
TEST(Branches, AttentionWeighsByItsScores) {
  const Structure net =
      make_mlp(3, 1, {.branches = {{"all", {"rows"}, {"attention 1"}}}, .hidden = {}}, 1, {},
               std::vector<InputPart>{{"rows", 3, 1}});
  const auto& attention = std::get<AttentionLayer>(net.layers[0]);
  const auto& head = std::get<DenseLayer>(net.layers[1]);
  std::vector<float> p(net.storage);
  p[attention.hidden.weight] = 1;
  p[attention.score.weight] = std::log(5.0f) / std::tanh(2.0f);
  p[head.weight] = 1;
  // t = tanh(x): 0 for x = 0, and log 2 / log 5 of tanh 2 for the row between.
  const float middle = std::atanh(std::log(2.0f) / std::log(5.0f) * std::tanh(2.0f));
  const std::vector<float> x = {0, middle, 2};
  Workspace workspace(net, 1, Use::training);
  forward(Plan(net), p, x.data(), 1, workspace);
  EXPECT_NEAR(workspace.outputs(0)[0], middle / 4 + 10.0f / 8, 1e-6);
}

// The exponentials of such scores overflow a float; the largest score gets weight 1.
TEST(Branches, AttentionWithLargeScoresStaysFinite) {
  const Structure net =
      make_mlp(3, 1, {.branches = {{"all", {"rows"}, {"attention 1"}}}, .hidden = {}}, 1, {},
               std::vector<InputPart>{{"rows", 3, 1}});
  const auto& attention = std::get<AttentionLayer>(net.layers[0]);
  std::vector<float> p(net.storage);
  p[attention.hidden.weight] = 1;
  p[attention.score.weight] = 1000;
  p[std::get<DenseLayer>(net.layers[1]).weight] = 1;
  const Plan plan(net);
  for (const Use use : {Use::training, Use::inference}) {  // lanes, and one sample
    Workspace workspace(net, 1, use);
    for (const std::vector<float>& x : {std::vector<float>{0.5f, 2, 1}, {-1, -2, -0.5f}}) {
      forward(plan, p, x.data(), 1, workspace);
      EXPECT_EQ(workspace.outputs(0)[0], *std::max_element(x.begin(), x.end()));
    }
  }
}

// "head" makes only layers after the branches noisy.
TEST(Branches, AreNoisyOnlyIfAllLayersAre) {
  for (const Noisy noisy : {Noisy::none, Noisy::head, Noisy::all}) {
    const Structure net =
        make_mlp(15, 2,
                 {.branches = {{"x", {"a"}, {"dense 3"}}, {"all", {"x"}, {"dense 4"}}},
                  .hidden = {8},
                  .noisy = noisy},
                 1, {}, kParts);
    ASSERT_EQ(net.layers.size(), 4u);
    for (int i = 0; i < 4; ++i) {
      const bool head = i == 3;
      EXPECT_EQ(std::get<DenseLayer>(net.layers[i]).noisy,
                noisy == Noisy::all || (noisy == Noisy::head && head))
          << i;
    }
  }
}

// Row 1 of b [3, 2] begins two features after b; the same holds for the output of a layer.
TEST(Branches, ARowCostsNothing) {
  const Structure net = network({{"x", {"b"}, {"row 1"}},
                                 {"y", {"b"}, {"dense 5", "row 2"}},
                                 {"z", {"b"}, {"dense 5", "row 1", "dense 3"}},
                                 {"all", {"x", "y", "z"}, {}}});
  ASSERT_EQ(net.layers.size(), 8u);  // three, three copies, two
  EXPECT_EQ(net.places[0], (Place{4, 15}));
  EXPECT_EQ(net.places[1], (Place{4, 33}));
  EXPECT_EQ(net.places[2], (Place{33 + 5, 30}));
  EXPECT_EQ(inputs_of(net.layers[2]), 5);
  EXPECT_EQ(net.places[3].from, 4 + 2);
  EXPECT_EQ(inputs_of(net.layers[3]), 2);
  EXPECT_EQ(net.places[4].from, 15 + 2 * 5);
  EXPECT_EQ(net.places[5].from, 30);
}

// "forest 24" reads [19], [4, 11], [4, 3], [4] in place, as one contiguous range.
TEST(Branches, AForestReadsFourParts) {
  const std::vector<InputPart> parts = {{"other", 1, 2}, {"g", 1, 19}, {"n", 4, 11},
                                        {"e", 4, 3},     {"p", 1, 4},  {"q", 1, 5}};
  const auto forest = [&](std::vector<std::string> from, std::vector<std::string> layers) {
    return make_mlp(2 + 19 + 15 * 4 + 5, 2,
                    {.branches = {{"h", std::move(from), std::move(layers)}}, .hidden = {}}, 1, {},
                    parts);
  };
  const Structure net = forest({"g", "n", "e", "p"}, {"forest 24 heads 3 rounds 2", "row 0"});
  const auto& layer = std::get<ForestLayer>(net.layers[0]);
  EXPECT_EQ(net.places[0], (Place{2, 86}));
  EXPECT_EQ(layer.inputs(), 79);
  EXPECT_EQ(layer.outputs(), 48);
  EXPECT_EQ(layer.rounds.size(), 2u);
  EXPECT_EQ(layer.heads, 3);
  EXPECT_EQ(layer.groups, 12);  // 16 does not divide 24
  EXPECT_EQ(net.places[1].from, 86);
  EXPECT_EQ(inputs_of(net.layers[1]), 24);
  EXPECT_FALSE(net.wants_input_gradient(0));

  const auto expect = [&](std::vector<std::string> from, std::vector<std::string> layers,
                          const std::string& text) {
    try {
      forest(std::move(from), std::move(layers));
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  const std::vector<std::string> all = {"g", "n", "e", "p"};
  expect(all, {"forest"}, "expected a width, a multiple of 8 up to 1024, as in \"forest 128\"");
  expect(all, {"forest 2048"}, "a multiple of 8 up to 1024");
  expect(all, {"forest 12"}, "the width must be a multiple of 8 and of the number of heads, 4");
  expect(all, {"forest 24 heads 5"},
         "the width must be a multiple of 8 and of the number of heads, 5");
  expect(all, {"forest 24 round 2"}, "did you mean rounds?");
  expect(all, {"forest 24 rounds"}, "expected a number, 1 to 32, after rounds");
  expect(all, {"forest 24 groups 25"}, "expected a number, 0 to 24, after groups");
  expect(all, {"dense 8", "forest 24"}, "forest can only come first");
  expect(all, {"concat", "forest 24"}, "forest can only come first");
  expect({"g", "n", "e"}, {"forest 24"}, "forest needs four parts of the observation, graph [g]");
  expect({"g", "n", "e", "q"}, {"forest 24"}, "found [19], [4, 11], [4, 3], [5]");
  expect({"g", "e", "n", "p"}, {"forest 24"}, "adjacent in the observation; g, e, n, p are not");
}

TEST(Branches, InvalidBranchesAreRefused) {
  const auto expect = [](std::vector<Branch> branches, const std::string& text) {
    const std::string error = error_of(std::move(branches));
    EXPECT_NE(error.find(text), error.npos) << error;
  };
  expect({{"h", {"z"}, {}}},
         "net.branches.h: from: \"z\" is neither a part of the observation nor an earlier branch");
  expect({{"h", {"h"}, {}}}, "\"h\" is neither a part of the observation nor an earlier branch");
  expect({{"a", {"b"}, {}}}, "the name is taken");
  expect({{"h", {}, {}}}, "from is missing");
  expect({{"h", {"a"}, {"dens 3"}}}, "did you mean dense?");
  expect({{"h", {"a"}, {"dense"}}}, "expected a width, 1 to 16384");
  expect({{"h", {"a"}, {"dense 0"}}}, "expected a width");
  expect({{"h", {"a"}, {"dense 3x"}}}, "expected a width");
  expect({{"h", {"a"}, {"dense 3 rel"}}}, "did you mean relu?");
  expect({{"h", {"a"}, {"flatten 3"}}}, "nothing is expected after \"flatten\"");
  expect({{"h", {"a"}, {"flatten"}}}, "flatten needs a matrix; found [4]");
  expect({{"h", {"a"}, {"attention 3"}}}, "attention needs a matrix");
  expect({{"h", {"b"}, {"norm"}}}, "norm needs a vector; found [3, 2]");
  expect({{"h", {"a"}, {"row 1"}}}, "row needs a matrix of at least 2 rows; found [4]");
  expect({{"h", {"b"}, {"row 3"}}}, "row needs a matrix of at least 4 rows; found [3, 2]");
  expect({{"h", {"b"}, {"row"}}}, "expected a row index, from 0");
  expect({{"h", {"a"}, {"stack"}}}, "only one input to join");
  expect({{"h", {"a", "c"}, {"stack"}}}, "stack needs vectors of equal width; found [5] and [4]");
  expect({{"h", {"a", "c"}, {"dense 3", "concat"}}}, "can only come first");
  expect({{"g", {"a"}, {"dense 3"}}, {"h", {"a"}, {"dense 3"}}},
         "net.branches.g: nothing reads it");
}

}  // namespace
}  // namespace hotloop
