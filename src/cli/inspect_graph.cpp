#include "cli/inspect_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "draw/graph_picture.hpp"
#include "draw/picture_file.hpp"
#include "record/graph_report.hpp"
#include "record/json_text.hpp"
#include "record/saved_model.hpp"

namespace hotloop {
namespace {

const DagLayer* dag_of(const Model& model) { return graph_of(model.structure); }

SavedModel load_graph(const std::string& path) {
  SavedModel saved = load_saved_model(path, "latest", {});
  if (dag_of(saved.model) == nullptr) {
    throw UsageError(fmt::format("{}: the network is not a graph (net.graph)", saved.path));
  }
  return saved;
}

std::span<const float> weights_of(const Model& model) {
  const DagLayer& dag = *dag_of(model);
  return std::span(model.parameters).subspan(dag.weight, dag.graph->edges());
}
std::span<const float> biases_of(const Model& model) {
  const DagLayer& dag = *dag_of(model);
  return std::span(model.parameters).subspan(dag.bias, dag.computed());
}

// All frames share one colour range, so that they can be compared.
void write_film(const std::string& run, const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  const std::string folder = run + "/snapshots";
  for (const std::string& name : names_in(folder)) {
    if (name.ends_with(".safetensors")) files.push_back(folder + "/" + name);
  }
  if (files.empty()) {
    throw UsageError(fmt::format(
        "'{}' has no snapshots; train with --set run.snapshot_every=10 to have some", run));
  }
  std::vector<Model> models;
  GraphScale scale;
  for (const std::string& file : files) {
    const Model& model = models.emplace_back(load_graph(file).model);
    for (const float w : weights_of(model))
      scale.weight = std::max(scale.weight, std::abs(1.0 * w));
    for (const float b : biases_of(model)) scale.bias = std::max(scale.bias, std::abs(1.0 * b));
  }
  std::vector<Picture> frames;
  for (const Model& model : models) {
    frames.push_back(
        graph_picture(*dag_of(model)->graph, weights_of(model), biases_of(model), scale));
  }
  constexpr int kFramesPerSecond = 4;
  write_gif(path, frames, 1, kFramesPerSecond);
}

}  // namespace

Json describe_graph_of(const std::string& path) {
  namespace fs = std::filesystem;
  if (fs::is_directory(path) && !fs::exists(path + "/model-latest.safetensors")) return nullptr;
  const SavedModel saved = load_saved_model(path, "latest", {});
  const DagLayer* dag = dag_of(saved.model);
  return dag == nullptr ? Json(nullptr) : describe_graph(*dag->graph);
}

Json describe_activations(const std::string& path, const std::string& obs_file) {
  const SavedModel saved = load_graph(path);
  const Model& model = saved.model;
  const Graph& graph = *dag_of(model)->graph;
  const Json given = json_or_null(read_file(obs_file, kMaxJsonBytes, FileKind::any).text());
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
  Workspace workspace(model.structure, 1, Use::training);  // keeps the inner activations
  const InputScale scale = saved.scale();
  forward(plan, model.parameters, obs.data(), 1, workspace, saved.is_scaled() ? &scale : nullptr);
  Json activations = Json::array();
  const int inner = graph.nodes - graph.outputs;
  for (int node = 0; node < inner; ++node) {
    activations.push_back(workspace.inner(0, 0)[node * kLanes]);
  }
  for (int i = 0; i < graph.outputs; ++i) {
    activations.push_back(workspace.outputs(0)[i * kLanes]);
  }
  return {{"obs", obs}, {"activations", activations}};
}

void write_picture_of(const std::string& path, const std::string& picture) {
  if (picture.ends_with(".gif")) return write_film(path, picture);
  const SavedModel saved = load_graph(path);
  const DagLayer& dag = *dag_of(saved.model);
  write_graph_picture(picture, *dag.graph, weights_of(saved.model), biases_of(saved.model));
}

}  // namespace hotloop
