// hotloop inspect: verifies and shows a run folder or one of its files.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "cli/command.hpp"
#include "cli/inspect_graph.hpp"
#include "cli/output.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "record/checkpoint.hpp"
#include "record/json_text.hpp"
#include "record/safetensors.hpp"
#include "spec/spec.hpp"

namespace hotloop {
namespace {

struct InspectArguments {
  std::string path;
  std::string activations;  // a file with an observation, for networks that are graphs
  std::string picture;      // a file to draw the graph into
  bool json = false;
};

namespace fs = std::filesystem;
constexpr const char* kDamaged = "damaged: not JSON";

Json describe_file(const std::string& path) {
  const Safetensors file(path);
  Json tensors = Json::object();
  for (const std::string& name : file.names()) {
    tensors[name] = {{"dtype", dtype_name(file.dtype(name))}, {"shape", file.shape(name)}};
    // Normalisation statistics are short, so their values are shown.
    if (!name.starts_with("normaliser.") || file.dtype(name) != Dtype::f32) continue;
    std::vector<float> values(file.bytes(name).size() / sizeof(float));
    file.copy(name, std::span(values), Limits::any());
    tensors[name]["values"] = values;
  }
  Json json = {{"file", path}, {"bytes", fs::file_size(path)}, {"intact", true}};
  for (const auto& [key, value] : file.metadata()) {
    if (json.contains(key) || key == "tensors" || key == "error") continue;  // our own fields
    json[key] = key == "state" ? parse_json(value, path + ": state") : Json(value);
  }
  json["tensors"] = tensors;
  return json;
}

// In a run folder, a damaged file is reported and does not end the command.
Json describe_file_of_run(const std::string& path) {
  try {
    return describe_file(path);
  } catch (const RunError& error) {
    return {{"file", path}, {"intact", false}, {"error", error.what()}};
  }
}

Json json_of_run(const std::string& path) {
  try {
    return read_json(path);
  } catch (const RunError&) {
    return nullptr;
  }
}

Json describe_run(const std::string& run_dir) {
  Json json = {{"run", run_dir}};
  for (const char* name : {"run.json", "result.json"}) {
    if (fs::exists(run_dir + "/" + name)) {
      const Json found = json_of_run(run_dir + "/" + name);
      json[fs::path(name).stem().string()] = found.is_object() ? found : Json(kDamaged);
    }
  }
  if (fs::exists(run_dir + "/spec.yaml"))
    json["spec"] = std::string(read_file(run_dir + "/spec.yaml", kMaxSpecBytes).text());
  json["files"] = Json::array();
  for (const std::string& path : list_checkpoints(run_dir))
    json["files"].push_back(describe_file_of_run(path));
  for (const char* name : {"model-best", "model-latest"}) {
    const std::string path = run_dir + "/" + name + ".safetensors";
    if (fs::exists(path)) json["files"].push_back(describe_file_of_run(path));
  }
  return json;
}

void print_file(const Json& file) {
  if (!file["intact"].get<bool>()) {
    print_text("DAMAGED {}\n", file["error"].get<std::string>());
    return;
  }
  print_text("{}  {} bytes, checksum intact, {}\n", file["file"].get<std::string>(),
             file["bytes"].get<std::int64_t>(), printable(file.value("format", "no format")));
  if (file.contains("state")) print_text("  state: {}\n", file["state"].dump());
  if (file.contains("structure")) {
    print_text("  {}, greedy return {}\n", printable(file["structure"].get<std::string>()),
               printable(file.value("greedy_return", "")));
  }
  for (const auto& [name, tensor] : file["tensors"].items()) {
    print_text("  {:18} {} {} {}\n", printable(name), tensor["dtype"].get<std::string>(),
               tensor["shape"].dump(), tensor.contains("values") ? tensor["values"].dump() : "");
  }
}

int inspect_command(const InspectArguments& arguments) {
  const std::string& path = arguments.path;
  if (!fs::exists(path))
    throw UsageError(
        fmt::format("'{}' does not exist; expected a run folder or a file in one", path));
  const bool is_run = fs::is_directory(path);
  if (is_run && !fs::exists(path + "/spec.yaml")) {
    throw UsageError(fmt::format("'{}' is not a run folder: it has no spec.yaml", path));
  }
  if (!arguments.picture.empty()) write_picture_of(path, arguments.picture);
  if (!arguments.activations.empty()) {
    print_result("{}\n", describe_activations(path, arguments.activations).dump());
    return 0;
  }
  Json described = is_run ? describe_run(path) : describe_file(path);
  if (is_run) {
    try {
      if (const Json graph = describe_graph_of(path); !graph.is_null()) described["graph"] = graph;
    } catch (const RunError&) {  // a damaged model is among the files
    }
  }
  const Json files = is_run ? described["files"] : Json::array({described});
  const int code = std::all_of(files.begin(), files.end(),
                               [](const Json& file) { return file["intact"].get<bool>(); })
                       ? 0
                       : 1;
  if (arguments.json) {
    // JSON must be UTF-8, but spec.yaml may hold anything.
    print_result("{}\n", described.dump(-1, ' ', false, Json::error_handler_t::replace));
    return code;
  }
  if (!is_run) {
    print_file(described);
    return 0;
  }
  print_text("{}\n", path);
  if (described.contains("graph")) print_text("graph: {}\n", described["graph"]["metrics"].dump());
  for (const char* key : {"run", "result"}) {
    if (!described.contains(key)) continue;
    if (described[key].is_object() || described[key] == kDamaged)
      print_text("{}: {}\n", key, described[key].dump());
  }
  print_text("{}\n", described["spec"].get<std::string>());
  for (const Json& file : files) print_file(file);
  return code;
}

const Command kAddInspect(
    {"inspect", "show what a run folder, checkpoint or model holds", [](CLI::App& app, int& code) {
       static InspectArguments inspect;
       app.add_option("PATH", inspect.path, "a run folder or a file in one")->required();
       app.add_option("--activations", inspect.activations,
                      "graphs: print every neuron's activation for the observation in this file");
       app.add_option("--picture", inspect.picture,
                      "graphs: draw weights and biases into this .svg or .png, or the run's "
                      "snapshots into a .gif");
       app.add_flag("--json", inspect.json, "print one JSON object");
       app.callback([&code] { code = inspect_command(inspect); });
     }});

}  // namespace
}  // namespace hotloop
