// The durotaxis network without its frozen backbone (its specification, section 10): its
// parameters, its outputs against NumPy (golden/make_forest.py), and its gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "reference/network.hpp"
#include "tests/net/layers/forest/forests.hpp"

namespace hotloop {
namespace {

constexpr int kNodes = 8, kInputs = 19 + 15 * kNodes;
constexpr int kForest = 0, kPolicy = 4, kValues = 8;  // layers

Structure durotaxis_network() {
  const NetOptions options{
      .branches = {{"tokens", {"graph", "nodes", "edges", "parents"}, {"forest 128"}},
                   {"policy",
                    {"tokens"},
                    {"flatten", "dense 512 linear", "dense 128 gelu", "norm", "dense 10 linear"}},
                   {"values",
                    {"tokens"},
                    {"row 1", "dense 512 linear", "dense 128 gelu", "norm", "dense 6 linear"}},
                   {"all", {"policy", "values"}, {}}},
      .hidden = {}};
  const std::vector<InputPart> parts = {
      {"graph", 1, 19}, {"nodes", kNodes, 11}, {"edges", kNodes, 3}, {"parents", 1, kNodes}};
  return make_mlp(kInputs, 2, options, 1, {}, parts);
}

std::size_t parameters_of(const Structure& net, int first, int last) {
  std::size_t count = 0;
  for (const TensorInfo& tensor : tensors(net)) {
    const int layer = std::stoi(tensor.name.substr(5));
    if (layer >= first && layer <= last) count += tensor.size();
  }
  return count;
}

// The formula of make_forest.py.
double number(int t, int r, int c) {
  const double u = std::sin((t + 1) * 12.9898 + (r + 1) * 78.233 + (c + 1) * 37.719) * 43758.5453;
  return 2 * (u - std::floor(u)) - 1;
}

struct Golden {
  Structure net = durotaxis_network();
  Floats parameters = Floats(net.storage);
  Floats row;

  Golden() {
    int t = 0;
    for (const TensorInfo& tensor : tensors(net)) {
      const bool is_scale = tensor.name.ends_with(".scale");
      const double size =
          tensor.is_vector() ? 0.1 : std::sqrt(6.0 / (tensor.rows + tensor.columns));
      for (int r = 0; r < tensor.rows; ++r) {
        for (int c = 0; c < tensor.columns; ++c)
          parameters[tensor.offset + r * tensor.stride + c] =
              static_cast<float>(is_scale + number(t, r, c) * size);
      }
      ++t;
    }
    TestForest forest{.graph = {}, .nodes = {}, .edges = {}, .parents = {-1, 0, 0, 1, -1, 4}};
    const auto features = [](int what, int i, int count) {
      Floats values;
      for (int f = 0; f < count; ++f) values.push_back(static_cast<float>(number(what, i, f)));
      return values;
    };
    forest.graph = features(200, 0, 19);
    for (int i = 0; i < 6; ++i) {
      forest.nodes.push_back(features(201, i, 11));
      forest.edges.push_back(features(202, i, 3));
    }
    row = forest.row(forest_of(net), 5);
  }
};

// Section 18.8.
TEST(Durotaxis, TheNetworkHasItsParameters) {
  const Structure net = durotaxis_network();
  ASSERT_EQ(net.layers.size(), 10u);  // nothing is copied
  EXPECT_EQ(parameters_of(net, kForest, kForest), 368'896u);
  EXPECT_EQ(parameters_of(net, kForest + 1, kPolicy), 198'794u);
  EXPECT_EQ(parameters_of(net, kPolicy + 1, kValues), 132'742u);
  EXPECT_EQ(net.places[kPolicy + 1].from, net.places[kForest].to + 128);
  EXPECT_EQ(net.describe(),
            "graph+nodes+edges+parents forest 2x128 | tokens 512-128-norm-10 | "
            "tokens 512-128-norm-6 | 2, 700466 parameters");
}

TEST(Durotaxis, TheOutputsEqualNumPy) {
  const Golden golden;
  Workspace workspace(golden.net, 1, Use::training);
  forward(Plan(golden.net), golden.parameters, golden.row.data(), 1, workspace);
  const auto at = [&](int layer) { return golden.net.places[layer].to; };
  const std::map<std::string, int> places = {{"mean", at(kForest)},
                                             {"graph", at(kForest) + 128},
                                             {"mu", at(kPolicy)},
                                             {"log_sigma", at(kPolicy) + 5},
                                             {"value", at(kValues)}};
  std::ifstream file(HOTLOOP_NET_GOLDEN_DIR "/forest.txt");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    std::istringstream words(line);
    std::string kind;
    int i = 0;
    double expected = 0;
    words >> kind >> i >> expected;
    ASSERT_FALSE(words.fail()) << line;
    EXPECT_NEAR(workspace.lanes(places.at(kind) + i, 0)[0], expected,
                (kind == "mean" || kind == "graph" ? 1e-5 : 1e-4))
        << line;
  }
  EXPECT_EQ(lines, 2 * 128 + 10 + 6);
}

// The full gradient at full width against the twin, which computes the attention.
TEST(Durotaxis, TheGradientOfTheWholeNetworkIsRight) {
  const Golden golden;
  const Structure& net = golden.net;
  Workspace workspace(net, 1, Use::training);
  const Plan plan(net);
  forward(plan, golden.parameters, golden.row.data(), 1, workspace);
  const std::vector<double> p(golden.parameters.begin(), golden.parameters.end());
  const std::vector<double> x(golden.row.begin(), golden.row.end());
  std::vector<double> expected(net.storage);
  reference::backward<double>(net, p, reference::forward<double>(net, p, x), {1, -0.5}, expected);
  workspace.output_gradient(0)[0] = 1;
  workspace.output_gradient(0)[kLanes] = -0.5;
  Floats gradient(net.storage);
  backward(plan, golden.parameters, 1, workspace, gradient);
  for (const TensorInfo& tensor : tensors(net)) {
    double size = 1e-3;  // largest of the tensor
    for (int pass = 0; pass < 2; ++pass) {
      for (int r = 0; r < tensor.rows; ++r) {
        for (int c = 0; c < tensor.columns; ++c) {
          const std::size_t i = tensor.offset + r * tensor.stride + c;
          if (pass == 0) {
            size = std::max(size, std::abs(expected[i]));
          } else {
            ASSERT_NEAR(gradient[i], expected[i], 1e-4 * size) << tensor.name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hotloop
