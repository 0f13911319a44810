// Random networks, for tests of properties that hold for all networks.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <hotloop/rng.hpp>

#include "net/structure.hpp"

namespace hotloop {

inline std::vector<float> random_floats(std::size_t size, Rng& rng) {
  std::vector<float> values(size);
  for (float& v : values) v = static_cast<float>(rng.normal());
  return values;
}

template <class To>
std::vector<To> convert(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// Branches of parts a [n], b [m, n] and c [3, 5], joined in several ways: neighbours and others,
// inputs read once or several times, in and out of order.
inline std::vector<Branch> random_branches(Rng& rng) {
  const std::string width = " " + std::to_string(1 + rng.below(12));
  std::vector<Branch> branches = {
      {"h1", {"a"}, {"dense 7", "dense" + width}},
      {"h2", {"c"}, {"dense 6 tanh", "flatten", "dense" + width}},
      {"h3", {"b", "a"}, {"dense 3", "norm", "dense" + width + " linear"}}};
  switch (rng.below(4)) {
    case 0:
      branches.push_back({"context", {"h1", "h2", "h3"}, {"stack", "attention 9"}});
      branches.push_back({"all", {"h1", "h2", "h3", "context"}, {}});
      break;
    case 1:
      branches.push_back({"context", {"h3", "h1"}, {"stack", "dense 5", "attention 2"}});
      branches.push_back({"all", {"h2", "context", "h2", "c"}, {"concat"}});
      break;
    case 2:
      branches.push_back({"all", {"h2", "h3", "h1"}, {"dense 4"}});
      break;
    default:
      branches.push_back({"first", {"h2", "h3"}, {"dense 5"}});
      branches.push_back({"all", {"h1", "h2", "first"}, {"concat", "dense 8"}});
      break;
  }
  return branches;
}

// A random combination of the switches of NetOptions. All parameters are random, so that scales are
// not one and shifts not zero; the padding is zero.
struct RandomNet {
  NetOptions options;
  int actions, atoms;
  Structure structure;
  std::vector<float> parameters;

  RandomNet(Activation activation, int widest, Rng& rng) : options{.activation = activation} {
    options.hidden.clear();
    for (std::uint32_t l = rng.below(4); l > 0; --l)
      options.hidden.push_back(1 + static_cast<int>(rng.below(widest)));
    options.layer_norm = rng.below(2) != 0;
    if (options.layer_norm) {  // one feature has no variance: dx would be rounding times 300
      for (int& width : options.hidden) width = std::max(width, 2);
    }
    options.dueling = rng.below(2) != 0;
    for (std::uint32_t l = options.dueling && !options.layer_norm ? rng.below(3) : 0; l > 0; --l)
      options.dueling_hidden.push_back(1 + static_cast<int>(rng.below(widest)));
    options.noisy = static_cast<Noisy>(rng.below(3));
    actions = 1 + static_cast<int>(rng.below(5));
    atoms = rng.below(2) != 0 ? 1 : 1 + static_cast<int>(rng.below(7));
    GridShape grid;
    int inputs = 1 + static_cast<int>(rng.below(20));
    if (rng.below(3) == 0) {
      const auto extent = [&] { return 1 + static_cast<int>(rng.below(std::min(10, widest / 3))); };
      grid = {extent(), extent(), 1 + static_cast<int>(rng.below(5))};
      inputs = grid.size();
      for (std::uint32_t l = 1 + rng.below(2); l > 0; --l)
        options.channels.push_back(1 + static_cast<int>(rng.below(std::min(33, widest))));
    }
    std::vector<InputPart> parts;
    if (grid.size() == 0 && rng.below(2) == 0) {
      parts = {{"a", 1, 1 + static_cast<int>(rng.below(9))},
               {"b", 1 + static_cast<int>(rng.below(4)), 1 + static_cast<int>(rng.below(9))},
               {"c", 3, 5}};
      inputs = 0;
      for (const InputPart& part : parts) inputs += part.rows * part.width;
      options.branches = random_branches(rng);
    }
    if (options.branches.empty() && rng.below(4) == 0) {
      options.hidden.clear(), options.dueling_hidden.clear();
      options.layer_norm = false, options.noisy = Noisy::none;
      if (!options.channels.empty()) options.channels = {2};  // the twin is slow
      const int hidden = 4 + static_cast<int>(rng.below(std::min(20, widest)));
      options.graph = {.kind = rng.below(2) != 0 ? GraphKind::small_world : GraphKind::dense,
                       .hidden = {hidden},
                       .degree = 2 + static_cast<int>(rng.below(hidden - 3)),
                       .rewire = rng.uniform(),
                       .seed = rng.below(1000),
                       .activate_outputs = activation != Activation::relu && rng.below(2) != 0};
    }
    structure = make_mlp(inputs, actions, options, atoms, grid, parts);
    parameters.resize(structure.storage);
    for (const TensorInfo& tensor : tensors(structure)) {
      for (int r = 0; r < tensor.rows; ++r) {
        for (int c = 0; c < tensor.columns; ++c)
          parameters[tensor.offset + r * tensor.stride + c] =
              static_cast<float>(rng.normal() / std::sqrt(tensor.columns));
      }
    }
  }
};

}  // namespace hotloop
