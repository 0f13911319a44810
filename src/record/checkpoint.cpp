#include "record/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "record/safetensors.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kDigits = 16;  // of the env steps in a file's name
constexpr const char* kFormat = "hotloop-checkpoint-6";

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double number(const Json& value) { return value.is_null() ? kNone : value.get<double>(); }
Json numbers(std::span<const double> values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

Json to_state(const Trainer& trainer, const RunRecord& r) {
  const Counters& c = trainer.counters();
  const Window& w = trainer.window();
  return {{"counters",
           {c.env_steps, c.updates, c.episodes, c.train_events, c.batches, c.target_updates}},
          {"window_counts", {w.episodes, w.updates}},
          {"window_sums",
           {number(w.returns), number(w.loss), number(w.mean_q), number(w.gradient_norm),
            number(w.entropy), number(w.kl), number(w.clipped)}},
          {"rewards", {trainer.rewards().least, trainer.rewards().most}},
          {"seconds", r.seconds},
          {"group_seconds", numbers(r.group_seconds)},
          {"greedy", {number(r.greedy_return), number(r.greedy_deviation)}},
          {"greedy_measures", numbers(r.greedy_measures)},
          {"lowest_return", number(r.lowest_return)},
          {"best_return", number(r.best_return)},
          {"best_score", number(r.best_score)},
          {"best_env_steps", r.best_env_steps},
          {"greedy_env_steps", r.greedy_env_steps},
          {"solved", r.solved},
          {"solved_env_steps", r.solved_env_steps},
          {"solved_seconds", number(r.solved_seconds)},
          {"metrics_bytes", r.metrics_bytes},
          {"episode_bytes", r.episode_bytes},
          {"health", {r.health.bad, r.health.raised, r.health.had_endings}},
          {"warnings", r.health.warnings}};
}

// Older ones know only how large rewards were, not of which sign.
RewardRange rewards_of(const Json& state) {
  if (state.contains("rewards")) return {state["rewards"].at(0), state["rewards"].at(1)};
  const double largest = state.at("largest_reward");
  return {-largest, largest};
}

// The part of a spec that decides how training goes. How long to run, how to save and how to
// evaluate may change on resuming, and names are only names.
std::string identity(const TrainSpec& spec) {
  TrainSpec same = portable(spec);
  same.name = "any";
  same.about = "";
  same.run = RunOptions{};
  same.run.seed = spec.run.seed;
  same.run.steps = std::max(same.run.steps, spec.q.learning_starts);
  same.evaluation = EvaluationOptions{};
  return to_yaml(same);
}

// Who resumes may measure by other rules. Scores of the old ones say nothing then, and the last evaluation
// says whether the run is solved.
void judge_anew(RunRecord& record, const EvaluationOptions& before, const Trainer& trainer) {
  const EvaluationOptions& now = trainer.spec().evaluation;
  const EnvSpec& env = trainer.env().spec();
  if (now.best != before.best || now.episodes != before.episodes ||
      now.max_steps != before.max_steps) {
    record.best_score = kNone;
  }
  const double threshold = solved_threshold(now, env), old = solved_threshold(before, env);
  if (threshold == old || (std::isnan(threshold) && std::isnan(old))) return;
  record.solved = record.greedy_return >= threshold;
  record.solved_env_steps = record.solved ? record.greedy_env_steps : 0;
  record.solved_seconds = record.solved ? record.seconds : kNone;
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
  const std::vector<std::byte> env = trainer.env().save();
  std::vector<TensorView> tensors = {tensor("env", std::span<const std::byte>(env)),
                                     tensor("best", best)};
  trainer.learner().visit([&](const std::string& name, Array array) {
    std::visit([&](auto values) { tensors.push_back(tensor(name, values)); }, array);
  });
  trainer.episodes().visit(
      [&](const char* name, std::span<double> values) { tensors.push_back(tensor(name, values)); });
  const Json state = to_state(trainer, record);
  std::string path = fmt::format("{}/checkpoints/{:0{}}.safetensors", run_dir,
                                 trainer.counters().env_steps, kDigits);
  write_safetensors(
      path, tensors,
      {{"format", kFormat}, {"spec", to_yaml(portable(trainer.spec()))}, {"state", state.dump()}});
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
  const TrainSpec saved_spec = load_spec_text(file.metadata("spec"), path);
  if (identity(saved_spec) != identity(trainer.spec())) {
    throw RunError(fmt::format(
        "{}: this checkpoint belongs to another spec or network than the run's spec.yaml; "
        "its own is shown by: hotloop inspect {}",
        path, path));
  }
  const Json state = Json::parse(file.metadata("state"));
  const auto counts = state.at("counters").get<std::array<std::int64_t, 6>>();
  const auto window_counts = state.at("window_counts").get<std::array<std::int64_t, 2>>();
  std::array<double, 7> sums;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = number(state.at("window_sums").at(i));
  trainer.restore({counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]},
                  {.returns = sums[0],
                   .episodes = window_counts[0],
                   .loss = sums[1],
                   .mean_q = sums[2],
                   .gradient_norm = sums[3],
                   .entropy = sums[4],
                   .kl = sums[5],
                   .clipped = sums[6],
                   .updates = window_counts[1]},
                  rewards_of(state));
  record.seconds = state.at("seconds");
  if (state.contains("group_seconds")) {  // older ones do not say
    const Json& groups = state.at("group_seconds");
    for (std::size_t i = 0; i < record.group_seconds.size(); ++i)
      record.group_seconds[i] = number(groups.at(i));
  }
  record.greedy_return = number(state.at("greedy")[0]);
  record.greedy_deviation = number(state.at("greedy")[1]);
  const Json& measures = state.at("greedy_measures");
  for (int i = 0; i < kMaxMeasures; ++i) record.greedy_measures[i] = number(measures.at(i));
  record.lowest_return =
      state.contains("lowest_return") ? number(state.at("lowest_return")) : kNone;
  record.best_return = number(state.at("best_return"));
  record.best_score = number(state.at("best_score"));
  record.best_env_steps = state.at("best_env_steps");
  record.greedy_env_steps = state.at("greedy_env_steps");
  record.solved = state.at("solved");
  record.solved_env_steps = state.at("solved_env_steps");
  record.solved_seconds = number(state.at("solved_seconds"));
  record.metrics_bytes = state.at("metrics_bytes");
  record.episode_bytes =
      state.value("episode_bytes", std::uint64_t{0});  // older ones have no such file
  record.health.bad = state.at("health")[0];
  record.health.raised = state.at("health")[1];
  record.health.had_endings = state.at("health")[2];
  record.health.warnings = state.at("warnings").get<std::vector<std::string>>();
  judge_anew(record, saved_spec.evaluation, trainer);

  trainer.env().restore(file.bytes("env"));
  file.copy("best", best);
  trainer.episodes().visit(
      [&](const char* name, std::span<double> values) { file.copy(name, values); });
  trainer.learner().visit([&](const std::string& name, Array array) {
    std::visit([&](auto values) { file.copy(name, values); }, array);
  });
  trainer.learner().restored();
}

}  // namespace hotloop
