#include "cli/inspect_graph.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <span>

#include <hotloop/error.hpp>

#include "cli/saved_model.hpp"
#include "core/file.hpp"
#include "graph/graph_metrics.hpp"
#include "run/graph_picture.hpp"

namespace hotloop {
namespace {

using Json = nlohmann::ordered_json;

const DagLayer* dag_of(const Model& model) {
  return model.structure.layers.empty() ? nullptr
                                        : std::get_if<DagLayer>(&model.structure.layers[0]);
}

SavedModel load_graph(const std::string& path) {
  SavedModel saved = load_saved_model(path, "latest", {});
  if (dag_of(saved.model) == nullptr) {
    throw UsageError(fmt::format("{}: the network is not a graph (net.graph)", saved.path));
  }
  return saved;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Json describe_graph(const std::string& path) {
  namespace fs = std::filesystem;
  if (fs::is_directory(path) && !fs::exists(path + "/model-latest.safetensors")) return nullptr;
  const SavedModel saved = load_saved_model(path, "latest", {});
  const DagLayer* dag = dag_of(saved.model);
  if (dag == nullptr) return nullptr;
  const GraphMetrics m = graph_metrics(*dag->graph);
  return {{"nodes", m.nodes},
          {"edges", m.edges},
          {"hidden_edges", m.hidden_edges},
          {"depth", m.depth},
          {"widths", m.widths},
          {"clustering", number(m.clustering)},
          {"path_length", number(m.path_length)},
          {"sigma", number(m.sigma)},
          {"omega", number(m.omega)},
          {"communities", m.communities},
          {"modularity", number(m.modularity)},
          {"order", dag->graph->order}};
}

Json describe_activations(const std::string& path, const std::string& obs_file) {
  const SavedModel saved = load_graph(path);
  const Model& model = saved.model;
  const Graph& graph = *dag_of(model)->graph;
  const Json given = Json::parse(read_file(obs_file).text(), nullptr, false);
  std::vector<float> obs;
  if (given.is_array()) {
    for (const Json& value : given) {
      if (value.is_number()) obs.push_back(value.get<float>());
    }
  }
  if (!given.is_array() || obs.size() != given.size() ||
      static_cast<int>(obs.size()) != graph.inputs) {
    throw UsageError(
        fmt::format("{}: expected a JSON array of {} numbers", obs_file, graph.inputs));
  }
  const Plan plan(model.structure);
  Workspace workspace(model.structure, 1, Use::training);  // keeps what lies inside
  const InputScale scale = saved.scale();
  forward(plan, model.parameters, obs.data(), 1, workspace, saved.is_scaled() ? &scale : nullptr);
  Json activations = Json::array();
  const int inner = graph.nodes - graph.outputs;
  for (int node = 0; node < inner; ++node) {
    activations.push_back(workspace.inner(0, 0)[node * kLanes]);
  }
  for (int i = 0; i < graph.outputs; ++i) {
    activations.push_back(workspace.lanes(1, 0)[i * kLanes]);
  }
  return {{"obs", obs}, {"activations", activations}};
}

void write_picture_of(const std::string& path, const std::string& picture) {
  const SavedModel saved = load_graph(path);
  const DagLayer& dag = *dag_of(saved.model);
  const std::span<const float> parameters(saved.model.parameters);
  write_graph_picture(picture, *dag.graph, parameters.subspan(dag.weight, dag.graph->edges()),
                      parameters.subspan(dag.bias, dag.computed()));
}

}  // namespace hotloop
