#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cassert>

#include "net/branches.hpp"
#include "net/structure.hpp"
#include "net/structure_builder.hpp"

namespace hotloop {
namespace {

class ActorCriticBuilder {
 public:
  ActorCriticBuilder(Structure& structure, const ActorCriticShape& shape, const NetOptions& options)
      : structure_(structure), shape_(shape), options_(options), build_(structure) {}

  void run(const GridShape& grid, std::span<const InputPart> parts) {
    const Front front = add_front(options_, grid, parts, structure_, build_);
    structure_.outputs_at = build_.take_features(structure_.outputs);
    const int policy_at = structure_.outputs_at,
              values_at = policy_at + shape_.policy + shape_.free;
    if (options_.graph.kind != GraphKind::none) {
      add_graph(front.last, policy_at, values_at);
    } else {
      const bool separate = options_.separate || !options_.value_from.empty();
      const Slice trunk = add_hidden(front.last);
      add_head(trunk, shape_.policy, policy_at, static_cast<float>(options_.policy_gain));
      add_head(separate ? add_hidden(front.values) : trunk, shape_.values, values_at, 1);
    }
    if (shape_.free > 0) {
      build_.add(ConstantLayer{.width = shape_.free, .initial = shape_.free_initial}, 0,
                 policy_at + shape_.policy);
    }
  }

 private:
  Slice add_hidden(Slice now) {
    const auto add = [&](Layer layer) {
      const int width = outputs_of(layer);
      now = {.at = build_.add(std::move(layer), now.at), .rows = 1, .width = width};
    };
    for (const int hidden : options_.hidden) {
      const bool norm = options_.layer_norm;
      add(DenseLayer{.in = now.size(),
                     .out = hidden,
                     .activation = norm ? Activation::linear : options_.activation});
      if (norm) add(NormLayer{.width = hidden, .activation = options_.activation});
    }
    return now;
  }

  void add_head(const Slice& from, int outputs, int to, float gain) {
    build_.add(DenseLayer{.in = from.size(), .out = outputs, .gain = gain}, from.at, to);
  }

  // The graph's outputs are [policy | values]; the free outputs go between them.
  void add_graph(const Slice& from, int policy_at, int values_at) {
    const int at = build_.add(
        dag_layer(options_.graph, options_.activation, from.size(), shape_.policy + shape_.values),
        from.at);
    build_.add(CopyLayer{shape_.policy}, at, policy_at);
    build_.add(CopyLayer{shape_.values}, at + shape_.policy, values_at);
  }

  Structure& structure_;
  const ActorCriticShape& shape_;
  const NetOptions& options_;
  StructureBuilder build_;
};

// "4-64-64-(2+1) tanh", "4-(64-64-2 | 64-64-1) tanh"; with a graph "4-32-(2+1) graph, leaky_relu".
std::string description_of(int inputs, const ActorCriticShape& shape, const NetOptions& options,
                           bool has_front) {
  const bool graph = options.graph.kind != GraphKind::none;
  const bool separate = !graph && (options.separate || !options.value_from.empty());
  std::string hidden;
  for (const int width : graph ? options.graph.hidden : options.hidden)
    hidden += fmt::format("{}-", width);
  const int policy = shape.policy + shape.free;
  std::string text = has_front ? "" : fmt::format("{}-", inputs);
  text += separate ? fmt::format("({}{} | {}{})", hidden, policy, hidden, shape.values)
                   : fmt::format("{}({}+{})", hidden, policy, shape.values);
  if (graph) text += " graph,";
  if (!hidden.empty())
    text += fmt::format(" {}", kActivationNames[static_cast<int>(options.activation)]);
  if (options.layer_norm) text += ", layer norm";
  return text;
}

}  // namespace

Structure make_actor_critic(int inputs, const ActorCriticShape& shape, const NetOptions& options,
                            const GridShape& grid, std::span<const InputPart> parts) {
  assert(!options.dueling && options.noisy == Noisy::none);
  assert(options.dropout == 0 && !options.batch_norm);
  Structure structure{.inputs = inputs, .outputs = shape.policy + shape.free + shape.values};
  ActorCriticBuilder(structure, shape, options).run(grid, parts);
  std::string convolutions;
  for (const int channels : options.channels) {
    convolutions += convolutions.empty()
                        ? fmt::format("{}x{}x{} conv ", grid.height, grid.width, grid.channels)
                        : "-";
    convolutions += fmt::format("{}", channels);
  }
  if (!convolutions.empty()) structure.front = convolutions;
  structure.rest = description_of(inputs, shape, options, !structure.front.empty());
  return structure;
}

}  // namespace hotloop
