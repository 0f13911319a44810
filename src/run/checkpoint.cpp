#include "run/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "run/safetensors.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kDigits = 16;  // of the env steps in a file's name
constexpr const char* kFormat = "hotloop-checkpoint-2";

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double number(const Json& value) { return value.is_null() ? kNone : value.get<double>(); }

Json to_state(const Counters& c, const Window& w, const RunRecord& r, const Optimiser::Powers& p) {
  return {{"counters", {c.env_steps, c.updates, c.episodes, c.training_rounds}},
          {"window_counts", {w.episodes, w.updates}},
          {"window_sums", {w.returns, w.loss, w.mean_q, w.gradient_norm}},
          {"seconds", r.seconds},
          {"greedy", {number(r.greedy_return), number(r.greedy_deviation)}},
          {"best_return", number(r.best_return)},
          {"best_env_steps", r.best_env_steps},
          {"greedy_env_steps", r.greedy_env_steps},
          {"solved", r.solved},
          {"solved_env_steps", r.solved_env_steps},
          {"solved_seconds", number(r.solved_seconds)},
          {"metrics_bytes", r.metrics_bytes},
          {"optimiser_powers", {p.beta1, p.beta2}}};
}

// The part of a spec that decides how training goes. How long to run, how to save and how to
// evaluate may change on resuming, and names are only names.
std::string identity(const TrainSpec& spec) {
  TrainSpec same = spec;
  same.name = "any";
  same.about = "";
  same.run = RunOptions{};
  same.run.seed = spec.run.seed;
  same.run.steps = std::max(same.run.steps, spec.dqn.learning_starts);
  same.evaluation = EvaluationOptions{};
  return to_yaml(same);
}

template <class Visitor>
void visit_arrays(Trainer& trainer, std::span<float> best, Visitor&& visit) {
  visit("online", trainer.agent().online());
  visit("target", trainer.agent().target());
  visit("optimiser.first", trainer.agent().optimiser().first());
  visit("optimiser.second", trainer.agent().optimiser().second());
  visit("best", best);
  trainer.replay().visit(
      [&](std::string_view name, auto array) { visit("replay." + std::string(name), array); });
}

}  // namespace

std::vector<std::string> list_checkpoints(const std::string& run_dir) {
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(fs::path(run_dir) / "checkpoints", none)) {
    const std::string stem = entry.path().stem().string();
    const bool numbered =
        stem.size() == kDigits && stem.find_first_not_of("0123456789") == std::string::npos;
    if (numbered && entry.path().extension() == ".safetensors") {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string save_checkpoint(const std::string& run_dir, Trainer& trainer, const RunRecord& record,
                            std::span<const float> best) {
  std::vector<std::byte> env(trainer.env().state_bytes());
  trainer.env().save(env);
  std::vector<TensorView> tensors = {tensor("env", std::span<const std::byte>(env))};
  const std::span<float> best_view(const_cast<float*>(best.data()), best.size());
  visit_arrays(trainer, best_view, [&](std::string name, auto array) {
    tensors.push_back(tensor(std::move(name), array));
  });
  const Json state =
      to_state(trainer.counters(), trainer.window(), record, trainer.agent().optimiser().powers());
  std::string path = fmt::format("{}/checkpoints/{:0{}}.safetensors", run_dir,
                                 trainer.counters().env_steps, kDigits);
  write_safetensors(
      path, tensors,
      {{"format", kFormat}, {"spec", to_yaml(trainer.spec())}, {"state", state.dump()}});
  // Later ones, if any, belong to a future that was given up by resuming from before them.
  const std::vector<std::string> all = list_checkpoints(run_dir);
  const auto here = std::find(all.begin(), all.end(), path);
  for (auto it = all.begin(); it != all.end(); ++it) {
    if (it != here && it + 1 != here) fs::remove(*it);
  }
  return path;
}

void load_checkpoint(const std::string& path, Trainer& trainer, RunRecord& record,
                     std::span<float> best) {
  const Safetensors file(path);
  if (file.metadata("format") != kFormat) {
    throw RunError(fmt::format("{}: format '{}', this version reads '{}'", path,
                               file.metadata("format"), kFormat));
  }
  if (identity(load_spec_text(file.metadata("spec"), path)) != identity(trainer.spec())) {
    throw RunError(fmt::format(
        "{}: this checkpoint belongs to another spec or network than the run's spec.yaml; "
        "its own is shown by: hotloop inspect {}",
        path, path));
  }
  const Json state = Json::parse(file.metadata("state"));
  const auto counts = state.at("counters").get<std::array<std::int64_t, 4>>();
  const auto window_counts = state.at("window_counts").get<std::array<std::int64_t, 2>>();
  const auto sums = state.at("window_sums").get<std::array<double, 4>>();
  trainer.restore({counts[0], counts[1], counts[2], counts[3]}, {.returns = sums[0],
                                                                 .episodes = window_counts[0],
                                                                 .loss = sums[1],
                                                                 .mean_q = sums[2],
                                                                 .gradient_norm = sums[3],
                                                                 .updates = window_counts[1]});
  record.seconds = state.at("seconds");
  record.greedy_return = number(state.at("greedy")[0]);
  record.greedy_deviation = number(state.at("greedy")[1]);
  record.best_return = number(state.at("best_return"));
  record.best_env_steps = state.at("best_env_steps");
  record.greedy_env_steps = state.at("greedy_env_steps");
  record.solved = state.at("solved");
  record.solved_env_steps = state.at("solved_env_steps");
  record.solved_seconds = number(state.at("solved_seconds"));
  record.metrics_bytes = state.at("metrics_bytes");
  const auto powers = state.at("optimiser_powers").get<std::array<double, 2>>();
  trainer.agent().optimiser().set_powers({powers[0], powers[1]});

  std::vector<std::byte> env(trainer.env().state_bytes());
  file.copy("env", std::span<std::byte>(env));
  trainer.env().restore(env);
  visit_arrays(trainer, best, [&](const std::string& name, auto array) { file.copy(name, array); });
}

}  // namespace hotloop
