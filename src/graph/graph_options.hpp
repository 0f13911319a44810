// The options under `net.graph` in a spec: the recipe of a graph of neurons and its sizes.
//
//   small_world  a chain lattice whose edges are rewired with probability p, after Watts and
//                Strogatz 1998, made directed; equals the generator of the Small-World topology
//                DQN, including its random numbers
//   lattice      small_world without rewiring
//   random       the same number of hidden edges as small_world, between pairs drawn uniformly
//   scale_free   the same number; hidden neurons attach to earlier ones in proportion to their
//                degree (Barabási and Albert 1999)
//   modular      several small worlds; some of their edges lead to another module instead
//   dense        layers, each fully connected to the next: an ordinary perceptron
//   edges        the listed edges; used for graphs that are read from a file (graph_file.hpp)
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
  std::vector<int> hidden = {32};  // neurons; dense: per layer
  int degree = 8;                  // k: 2 to hidden - 1
  double rewire = 0.1;             // p; modular: share of edges that leave their module
  int modules = 4;
  std::uint64_t seed = 47;        // for the graph, and for init: small_world
  std::string file = {};          // read with the spec, which stores it in `edges`
  std::string edges = {};         // kind edges: "I H O: 0>2 1>2 2>3", every edge once
  bool activate_outputs = false;  // apply the activation to outputs, too
  bool train_biases = true;       // false: they keep their initial values

  bool operator==(const GraphOptions&) const = default;
};

}  // namespace hotloop
