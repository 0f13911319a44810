// What a spec can ask for under `net.graph`: the recipe of a graph of neurons and its sizes.
//
//   small_world  a chain lattice whose edges are rewired with probability p, after Watts and Strogatz
//                1998, made directed; exactly the generator of the Small-World topology DQN, random
//                numbers included
//   lattice      small_world without rewiring
//   random       as many edges between hidden neurons as small_world has, between pairs drawn uniformly
//   scale_free   as many again; hidden neurons attach to earlier ones in proportion to their degree
//                (Barabási and Albert 1999)
//   modular      small worlds side by side, some of whose edges lead to another one instead
//   dense        layers, each connected to the next completely: an ordinary perceptron
//   edges        as listed; what a graph read from a file becomes (graph_file.hpp)
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotloop {

enum class GraphKind { none, small_world, dense, lattice, random, scale_free, modular, edges };
inline constexpr std::array<std::string_view, 8> kGraphNames = {
    "none", "small_world", "dense", "lattice", "random", "scale_free", "modular", "edges"};

struct GraphOptions {
  GraphKind kind = GraphKind::none;
  std::vector<int> hidden = {32};  // neurons; dense: of each layer
  int degree = 8;                  // k: 2 to hidden - 1
  double rewire = 0.1;             // p; modular: share of edges that leave their module
  int modules = 4;
  std::uint64_t seed = 47;        // of the graph, and of init: small_world
  std::string file = {};          // read along with the spec, and then found in `edges`
  std::string edges = {};         // kind edges: "I H O: 0>2 1>2 2>3", every edge once
  bool activate_outputs = false;  // the activation follows outputs too
  bool train_biases = true;       // or they stay as they start

  bool operator==(const GraphOptions&) const = default;
};

}  // namespace hotloop
