#include "net/layers/forest/forest_pack.hpp"

#include <gtest/gtest.h>

#include "tests/net/layers/forest/forests.hpp"

namespace hotloop {
namespace {

constexpr ForestShape kShape{.nodes = 6,
                             .graph_features = 1,
                             .node_features = 1,
                             .edge_features = 1,
                             .width = 8,
                             .rounds = 1,
                             .heads = 1,
                             .groups = 0};

// Lane 0 has nodes 0 -> 1 -> 3, 0 -> 2, 4 -> 5; lane 1 has a single root; lane 2 is all zeros and
// has no nodes. Features are 10 * lane + node, edges 100 more. Rows by hand:
//   graph tokens 0 1 2 | lone root 3: lane 1's | roots 4: node 0, 5: node 4 | inner 6: node 1 |
//   leaves 7, 8, 9: nodes 2, 3, 5.
TEST(ForestPack, RowsAreSortedByKind) {
  const Structure net = forest_structure(kShape);
  const ForestLayer& layer = forest_of(net);
  std::vector<float> lanes(layer.inputs() * kLanes), inner;
  const auto fill = [&](int lane, const std::vector<int>& parents) {
    TestForest forest{{static_cast<float>(lane)}, {}, {}, parents};
    for (std::size_t i = 0; i < parents.size(); ++i) {
      forest.nodes.push_back({static_cast<float>(10 * lane + i)});
      forest.edges.push_back({static_cast<float>(100 + 10 * lane + i)});
    }
    const Floats row = forest.row(layer);
    for (int f = 0; f < layer.inputs(); ++f) lanes[f * kLanes + lane] = row[f];
  };
  fill(0, {-1, 0, 0, 1, -1, 4});
  fill(1, {-1});
  LaneAllocator allocator(kLanes);
  const ForestPackPlaces at(layer, allocator);
  inner.resize(static_cast<std::size_t>(allocator.per_lane()) * kLanes, 99);
  pack_forest(layer, lanes.data(), kLanes, 3, at, inner.data());

  const ForestExtent& extent = extent_of(at, inner.data());
  EXPECT_EQ(extent.graphs, 3);
  EXPECT_EQ(extent.tokens, 10);
  EXPECT_EQ(extent.first_parent, 4);
  EXPECT_EQ(extent.first_edge, 6);
  EXPECT_EQ(extent.last_parent, 7);
  const auto found = [&](std::size_t offset, int count) {
    const std::int32_t* first = integers(inner.data(), offset);
    return std::vector<int>(first, first + count);
  };
  EXPECT_EQ(found(at.counts, 3), (std::vector<int>{6, 1, 0}));
  EXPECT_EQ(found(at.rows, 7), (std::vector<int>{4, 6, 7, 8, 5, 9, 3}));
  EXPECT_EQ(found(at.parents, 4), (std::vector<int>{0, 0, 2, 1}));  // of nodes 1, 2, 3, 5
  const auto features = [&](std::size_t offset, int rows, float after = 0) {
    Floats values;
    for (int r = 0; r < rows; ++r) {
      values.push_back(inner[offset + r * 8]);
      EXPECT_EQ(inner[offset + r * 8 + 1], after);
      for (int i = 2; i < 8; ++i) EXPECT_EQ(inner[offset + r * 8 + i], 0);  // the padding
    }
    return values;
  };
  EXPECT_EQ(features(at.features.graphs, 3), (Floats{0, 1, 0}));
  EXPECT_EQ(features(at.features.nodes, 7, 1), (Floats{10, 0, 4, 1, 2, 3, 5}));
  EXPECT_EQ(features(at.features.edges, 4), (Floats{101, 102, 103, 105}));
}

// A node whose parent is absent is a root, and a node that is its own parent ends the forest.
TEST(ForestPack, InvalidParentsEndTheForest) {
  const Structure net = forest_structure(kShape);
  const ForestLayer& layer = forest_of(net);
  const auto extent_with = [&](const Floats& parents) {
    Floats row(layer.inputs(), 1.0f);
    std::copy(parents.begin(), parents.end(), row.begin() + layer.parents_at());
    LaneAllocator allocator(1);
    const ForestPackPlaces at(layer, allocator);
    Floats inner(allocator.per_lane());
    pack_forest(layer, row.data(), 1, 1, at, inner.data());
    return extent_of(at, inner.data());
  };
  EXPECT_EQ(extent_with({-1, 2, -1, 3, 0, 0}).nodes(), 3);
  EXPECT_EQ(extent_with({-1, 5, 0, -2, 0, 0}).nodes(), 3);
  EXPECT_EQ(extent_with({-1, 5, 0, -2, 0, 0}).edges(), 1);
  EXPECT_EQ(extent_with({-1, 6, 0, 0, 0, 0}).nodes(), 1);
  EXPECT_EQ(extent_with({-1, std::nanf(""), 0, 0, 0, 0}).nodes(), 1);
  EXPECT_EQ(extent_with({-1, 0, 1, 2, 3, 4}).nodes(), 6);
}

}  // namespace
}  // namespace hotloop
