// The slow twin of src/net/layers/forest: a graph transformer over any list of edges, with full
// attention, as in the formulas. It knows nothing of forests: a node may have several incoming
// edges, and every query, key and head is computed.
#pragma once

#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "net/structure.hpp"
#include "reference/tape.hpp"

namespace hotloop::reference {

// T is a floating-point type, or Taped.
template <class T>
struct TokenEdge {
  int source, target;       // nodes, from 0
  std::vector<T> features;  // [edge features]
};

template <class T>
struct TokenGraph {
  std::vector<T> features;            // [graph features]
  std::vector<std::vector<T>> nodes;  // [nodes][node features]
  std::vector<TokenEdge<T>> edges;
};

inline double value_of(double x) { return x; }
inline double value_of(const Taped& x) { return x.value(); }

// Decodes a row of features (ForestLayer). Numbers that are not finite count as zero.
template <class T>
TokenGraph<T> token_graph(const ForestLayer& layer, const std::vector<T>& x) {
  const auto part = [&](int first, int count) {
    std::vector<T> values;
    for (int i = first; i < first + count; ++i)
      values.push_back(std::isfinite(value_of(x[i])) ? x[i] : T(0));
    return values;
  };
  const auto parent = [&](int i) { return static_cast<int>(value_of(x[layer.parents_at() + i])); };
  TokenGraph<T> graph{.features = part(0, layer.graph.in.in), .nodes = {}, .edges = {}};
  for (int i = 0; i < layer.nodes; ++i) {
    if (parent(i) <= -2 || parent(i) == i || parent(i) >= layer.nodes) break;
    graph.nodes.push_back(part(layer.nodes_at() + i * layer.node.in, layer.node.in));
  }
  const int count = static_cast<int>(graph.nodes.size());
  for (int i = 0; i < count; ++i) {
    if (parent(i) < 0 || parent(i) >= count) continue;
    graph.edges.push_back(
        {parent(i), i, part(layer.edges_at() + i * layer.edge.in.in, layer.edge.in.in)});
  }
  return graph;
}

template <class T>
class TokenTransformer {
 public:
  using Row = std::vector<T>;

  TokenTransformer(const ForestLayer& layer, std::span<const T> parameters)
      : layer_(layer), p_(parameters) {}

  // The token of the graph, then the tokens of the nodes.
  std::vector<Row> tokens(const TokenGraph<T>& graph) const {
    std::vector<Row> x = {embed(layer_.graph, graph.features)};
    for (const Row& features : graph.nodes) x.push_back(dense(layer_.node, features));
    std::vector<Row> edges;
    for (const TokenEdge<T>& edge : graph.edges) edges.push_back(embed(layer_.edge, edge.features));
    for (const ForestLayer::Round& round : layer_.rounds) {
      x = next(round, x, graph, edges);
      if (&round == &layer_.rounds.back()) continue;
      for (Row& token : x) {
        for (T& value : token) value = gelu(value);
      }
    }
    for (Row& token : x) embed_in_simplices(token);
    return x;
  }

  // [mean of the nodes | graph]
  Row result(const TokenGraph<T>& graph) const {
    const std::vector<Row> x = tokens(graph);
    Row y(layer_.width, T(0));
    for (std::size_t i = 1; i < x.size(); ++i) {
      for (int f = 0; f < layer_.width; ++f) y[f] += x[i][f] / T(double(x.size() - 1));
    }
    y.insert(y.end(), x[0].begin(), x[0].end());
    return y;
  }

 private:
  Row linear(std::size_t weight, int stride, int out, const Row& x) const {
    Row y(out, T(0));
    for (int o = 0; o < out; ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += p_[weight + o * stride + i] * x[i];
    }
    return y;
  }
  Row dense(const DenseLayer& map, const Row& x) const {
    Row y = linear(map.weight, map.stride, map.out, x);
    for (int o = 0; o < map.out; ++o) y[o] += p_[map.bias + o];
    return y;
  }
  Row normalise(const NormLayer& norm, const Row& x) const {
    using std::sqrt;
    const T count = T(double(norm.width));
    T mean = T(0), variance = T(0);
    for (const T& value : x) mean += value / count;
    for (const T& value : x) variance += (value - mean) * (value - mean) / count;
    Row y;
    for (int i = 0; i < norm.width; ++i) {
      y.push_back(p_[norm.scale + i] * (x[i] - mean) / sqrt(variance + T(double(kNormEpsilon))) +
                  p_[norm.shift + i]);
    }
    return y;
  }
  static T gelu(T z) {
    using std::erf;
    return z * T(0.5) * (T(1) + erf(z / T(std::numbers::sqrt2)));
  }
  Row embed(const ForestLayer::Embedding& maps, const Row& features) const {
    Row hidden = dense(maps.in, features);
    for (T& value : hidden) value = gelu(value);
    return dense(maps.out, normalise(maps.norm, hidden));
  }

  std::vector<Row> next(const ForestLayer::Round& round, const std::vector<Row>& x,
                        const TokenGraph<T>& graph, const std::vector<Row>& edges) const {
    using std::exp;
    const int size = layer_.width / layer_.heads;
    std::vector<Row> queries, keys, values, along, result;
    for (const Row& token : x) {
      queries.push_back(dense(round.query, token));
      keys.push_back(dense(round.key, token));
      values.push_back(dense(round.value, token));
    }
    for (const Row& edge : edges)
      along.push_back(linear(round.edge, layer_.width, layer_.width, edge));
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row u = dense(round.skip, x[i]);
      for (int f = 0; f < layer_.width; ++f) u[f] += x[i][f];
      for (int head = 0; head < layer_.heads; ++head) {
        const int first = head * size;
        std::vector<std::size_t> incoming;
        std::vector<T> weights;
        T sum = T(0);
        for (std::size_t e = 0; e < edges.size(); ++e) {
          if (graph.edges[e].target + 1 != static_cast<int>(i)) continue;  // token 0 is the graph
          T score = T(0);
          for (int f = first; f < first + size; ++f)
            score += queries[i][f] * (keys[graph.edges[e].source + 1][f] + along[e][f]);
          incoming.push_back(e);
          weights.push_back(exp(score / T(std::sqrt(double(size)))));
          sum += weights.back();
        }
        for (std::size_t k = 0; k < incoming.size(); ++k) {
          const std::size_t e = incoming[k];
          for (int f = first; f < first + size; ++f)
            u[f] += weights[k] / sum * (values[graph.edges[e].source + 1][f] + along[e][f]);
        }
      }
      result.push_back(normalise(round.norm, u));
    }
    return result;
  }

  void embed_in_simplices(Row& token) const {
    using std::exp;
    if (layer_.groups == 0) return;
    const int size = layer_.width / layer_.groups;
    for (int first = 0; first < layer_.width; first += size) {
      T sum = T(0);
      for (int f = first; f < first + size; ++f) sum += token[f] = exp(token[f]);
      for (int f = first; f < first + size; ++f) token[f] = token[f] / sum;
    }
  }

  const ForestLayer& layer_;
  std::span<const T> p_;
};

// Adds dL/dparameters to the gradient and returns dL/dx, given dL/dy of the result for x. `change`
// may add edges to the graph of x that no forest can have.
template <class T, class F>
std::vector<T> add_gradient(const ForestLayer& layer, std::span<const T> p, const std::vector<T>& x,
                            const std::vector<T>& dy, std::span<T> gradient, F&& change) {
  Taped::clear();
  std::vector<Taped> parameters, inputs;
  for (T value : p) parameters.push_back(Taped::variable(value));
  for (T value : x) inputs.push_back(Taped::variable(value));
  TokenGraph<Taped> graph = token_graph(layer, inputs);
  change(graph);
  const auto y = TokenTransformer<Taped>(layer, parameters).result(graph);
  const auto derivatives = Taped::differentiate(y, {dy.begin(), dy.end()});
  for (std::size_t i = layer.first_parameter(); i < layer.last_parameter(); ++i)
    gradient[i] += static_cast<T>(parameters[i].of(derivatives));
  std::vector<T> dx;
  for (const Taped& input : inputs) dx.push_back(static_cast<T>(input.of(derivatives)));
  Taped::clear();
  return dx;
}

}  // namespace hotloop::reference
