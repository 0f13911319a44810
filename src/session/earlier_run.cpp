#include "session/earlier_run.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/system.hpp"
#include "env/file/world_file.hpp"
#include "record/checkpoint.hpp"
#include "train/progress.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

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
  const Json about = Json::parse(text_of(folder + "/run.json"), nullptr, false);
  return about.is_object() && about.value("version", "") == version() &&
         about.value("cpu", "") == cpu_name() && is_same_world(spec.env, folder);
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
  const Json json = Json::parse(text_of(run_dir + "/result.json"), nullptr, false);
  if (!json.is_object()) return {};
  const auto number = [](const Json& from, const std::string& key) {
    return from.contains(key) && from[key].is_number() ? from[key].get<double>() : kNone;
  };
  const auto list = [&](const std::string& key) {
    std::vector<std::pair<std::string, double>> values;
    if (!json.contains(key)) return values;
    for (const auto& [name, value] : json[key].items()) {
      values.emplace_back(name, number(json[key], name));
    }
    return values;
  };
  try {
    const auto whole = [&](const char* key) { return json.at(key).get<std::int64_t>(); };
    const bool solved = json.at("solved").get<bool>();
    return TrainResult{.spec = json.at("spec").get<std::string>(),
                       .seed = json.at("seed").get<std::uint64_t>(),
                       .env_steps = whole("env_steps"),
                       .updates = whole("updates"),
                       .declared_updates = whole("declared_updates"),
                       .updates_per_step = number(json, "updates_per_step"),
                       .train_events = whole("train_events"),
                       .batches = whole("batches"),
                       .target_updates = whole("target_updates"),
                       .episodes = whole("episodes"),
                       .threads = json.at("threads").get<int>(),
                       .wall_seconds = number(json, "wall_seconds"),
                       .eval_return_mean = number(json, "eval_return_mean"),
                       .eval_return_std = number(json, "eval_return_std"),
                       .best_return_mean = number(json, "best_return_mean"),
                       .solved = solved,
                       .solved_env_steps = solved ? whole("solved_env_steps") : 0,
                       .solved_seconds = solved ? number(json, "solved_seconds") : 0,
                       .params_hash = json.at("params_hash").get<std::string>(),
                       .run_dir = run_dir,
                       .cpu = json.at("cpu").get<std::string>(),
                       .interrupted = false,
                       .warnings = json.at("warnings").get<std::vector<std::string>>(),
                       .score_last100 = number(json, "score_last100"),
                       .score_max = number(json, "score_max"),
                       .score_greedy = number(json, "score_greedy"),
                       .measures = list("measures"),
                       .time = list("time"),
                       .episode_return_mean = number(json, "episode_return_mean"),
                       .episode_return_last100 = number(json, "episode_return_last100")};
  } catch (const Json::exception&) {
    return {};
  }
}

std::optional<EarlierRun> find_earlier_run(const std::string& parent, const TrainSpec& spec,
                                           const std::set<std::string>& taken) {
  std::vector<std::string> folders;
  std::error_code error;  // a folder that is not there holds no runs
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    const std::string folder = parent + "/" + name;
    if (name.starts_with(spec.name + "-") && !taken.contains(folder)) folders.push_back(folder);
  }
  std::sort(folders.begin(), folders.end());
  std::optional<EarlierRun> unfinished;
  for (const std::string& folder : folders) {
    if (!repeats(spec, folder)) continue;
    if (auto result = read_result(folder)) return EarlierRun{folder, std::move(result)};
    if (!unfinished && can_be_resumed(folder)) unfinished = EarlierRun{folder, {}};
  }
  return unfinished;
}

}  // namespace hotloop
