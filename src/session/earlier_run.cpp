#include "session/earlier_run.hpp"

#include <algorithm>
#include <filesystem>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "core/system.hpp"
#include "env/file/world_file.hpp"
#include "record/checkpoint.hpp"
#include "record/json_fields.hpp"
#include "session/result.hpp"
#include "session/session.hpp"
#include "train/progress.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) ? std::string(read_file(path).text()) : "";
}

bool is_same_world(const std::string& world, const std::string& folder) {
  if (!is_world_file(world)) return true;
  const std::string copy = (fs::path(folder) / fs::path(world).filename()).string();
  if (std::error_code error; !fs::exists(copy, error)) return false;
  return world.ends_with(".cpp") ? flat_source(world) == flat_source(copy)
                                 : text_of(world) == text_of(copy);
}

bool repeats(const TrainSpec& spec, const std::string& folder) {
  if (text_of(folder + "/spec.yaml") != to_yaml(portable(spec))) return false;
  const RunOrigin origin = run_origin(folder);
  return origin.version == version() && origin.cpu == cpu_name() && is_same_world(spec.env, folder);
}

bool can_be_resumed(const std::string& folder) {
  if (list_checkpoints(folder).empty()) return false;
  try {
    const FileLock free(folder + "/.lock", folder);
    return true;
  } catch (const RunError&) {
    return false;
  }
}

}  // namespace

std::optional<TrainResult> read_result(const std::string& run_dir) {
  const std::string path = run_dir + "/result.json";
  try {
    const Json json = read_json(path);
    const JsonField from(json, path);
    // A value that the run did not measure is absent or null.
    const auto read = [&](const char* name, auto& value) {
      using Value = std::remove_reference_t<decltype(value)>;
      if (from.has(name) && !json[name].is_null()) {
        from[name].read(value);
      } else if constexpr (std::is_same_v<Value, double>) {
        value = kNone;
      }
    };
    TrainResult result;
    visit_result(result, read);
    if (result.params_hash.empty()) return {};
    result.run_dir = run_dir;
    return result;
  } catch (const RunError&) {  // as if the run had not ended
    return {};
  }
}

std::optional<EarlierRun> find_earlier_run(const std::string& parent, const TrainSpec& spec,
                                           const std::set<std::string>& taken) {
  std::vector<std::string> folders;
  for (const std::string& name : names_in(parent)) {
    const std::string folder = parent + "/" + name;
    if (name.starts_with(spec.name + "-") && !taken.contains(folder)) folders.push_back(folder);
  }
  std::optional<EarlierRun> unfinished;
  for (const std::string& folder : folders) {
    if (!repeats(spec, folder)) continue;
    if (auto result = read_result(folder)) return EarlierRun{folder, std::move(result)};
    if (!unfinished && can_be_resumed(folder)) unfinished = EarlierRun{folder, {}};
  }
  return unfinished;
}

}  // namespace hotloop
