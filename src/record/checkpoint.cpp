#include "record/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <hotloop/error.hpp>

#include "core/text.hpp"
#include "record/json_fields.hpp"
#include "record/safetensors.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kDigits = 16;  // of the env steps in a file's name
constexpr const char* kCheckpointFormat = "hotloop-checkpoint-9";

Json to_state(const Trainer& trainer, const RunRecord& record) {
  Json state = Json::object();
  visit_counters(trainer.counters(), WriteFields{state["counters"]});
  const Window& w = trainer.window();
  Json& window = state["window"];
  window = {{"returns", to_field(w.returns)}, {"episodes", w.episodes}, {"updates", w.updates}};
  window["sums"] = Json::object();
  const std::vector<std::string_view> columns = trainer.learner().columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    window["sums"][std::string(columns[i])] = to_field(w.sums[i]);
  }
  state["rewards"] = {{"lowest", trainer.rewards().lowest}, {"highest", trainer.rewards().highest}};
  visit_record(record, WriteFields{state["record"]});
  return state;
}

void from_state(const JsonField& state, Trainer& trainer, RunRecord& record) {
  Counters counters;
  visit_counters(counters, ReadFields{state["counters"]});
  Window window;
  const JsonField kept = state["window"];
  kept["returns"].read(window.returns);
  kept["episodes"].read(window.episodes);
  kept["updates"].read(window.updates);
  const std::vector<std::string_view> columns = trainer.learner().columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    kept["sums"][std::string(columns[i])].read(window.sums[i]);
  }
  RewardRange rewards;
  state["rewards"]["lowest"].read(rewards.lowest);
  state["rewards"]["highest"].read(rewards.highest);
  trainer.restore(counters, window, rewards);
  const JsonField own = state["record"];
  visit_record(record, ReadFields{own});
  const auto check = [&](const char* name, bool holds, const char* what) {
    if (!holds) own[name].fail(what);
  };
  check("seconds", record.seconds >= 0, "expected a number of at least 0");
  for (const double seconds : record.group_seconds) {
    check("group_seconds", seconds >= 0, "expected numbers of at least 0");
  }
  for (const auto& [name, steps] : {std::pair{"greedy_env_steps", record.greedy_env_steps},
                                    {"best_env_steps", record.best_env_steps},
                                    {"solved_env_steps", record.solved_env_steps}}) {
    check(name, steps <= counters.env_steps, "more env steps than the run has made");
  }
}

// The part of a spec that decides the result of training. Names do not, and the length of the run,
// saving and evaluation may change on resume.
std::string identity(const TrainSpec& spec) {
  TrainSpec same = portable(spec);
  same.name = "any";
  same.about = "";
  same.isolation = {};
  same.threads = 1;
  same.run = RunOptions{};
  same.run.seed = spec.run.seed;
  same.run.steps = std::max(same.run.steps, spec.learn.learning_starts);
  same.evaluation = EvaluationOptions{};
  return to_yaml(same);
}

// A resumed run may have new evaluation options. Old scores are then not comparable and are
// dropped, and the last evaluation decides whether the run is solved.
void judge_again(RunRecord& record, const EvaluationOptions& before, const Trainer& trainer) {
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
  const std::string folder = run_dir + "/checkpoints";
  for (const fs::path name : names_in(folder)) {
    const std::string stem = name.stem().string();
    const bool numbered =
        stem.size() == kDigits && stem.find_first_not_of("0123456789") == std::string::npos;
    if (numbered && name.extension() == ".safetensors") {
      paths.push_back(folder + "/" + name.string());
    }
  }
  return paths;
}

std::string save_checkpoint(const std::string& run_dir, Trainer& trainer, const RunRecord& record,
                            std::span<const float> best) {
  const std::vector<std::byte> env = trainer.env().save();
  std::vector<TensorView> tensors = {tensor("env", std::span<const std::byte>(env)),
                                     tensor("best", best)};
  trainer.learner().visit([&](const std::string& name, Array array, const Limits&) {
    std::visit([&](auto values) { tensors.push_back(tensor(name, values)); }, array);
  });
  trainer.episodes().visit([&](const char* name, std::span<double> values, const Limits&) {
    tensors.push_back(tensor(name, values));
  });
  const Json state = to_state(trainer, record);
  std::string path = fmt::format("{}/checkpoints/{:0{}}.safetensors", run_dir,
                                 trainer.counters().env_steps, kDigits);
  write_safetensors(path, tensors,
                    {{"format", kCheckpointFormat},
                     {"spec", to_yaml(portable(trainer.spec()))},
                     {"state", state.dump()}});
  // Later checkpoints exist if the run was resumed from an earlier one. They are obsolete.
  const std::vector<std::string> all = list_checkpoints(run_dir);
  const auto here = std::find(all.begin(), all.end(), path);
  for (auto it = all.begin(); it != all.end(); ++it) {
    std::error_code error;
    if (it != here && it + 1 != here) fs::remove(*it, error);
    if (error) throw RunError(fmt::format("cannot remove {}: {}", *it, error.message()));
  }
  return path;
}

void load_checkpoint(const std::string& path, Trainer& trainer, RunRecord& record,
                     std::span<float> best) {
  load_checkpoint(Safetensors(path), path, trainer, record, best);
}

void load_checkpoint(const Safetensors& file, const std::string& path, Trainer& trainer,
                     RunRecord& record, std::span<float> best) {
  if (file.metadata("format") != kCheckpointFormat) {
    throw RunError(fmt::format("{}: format '{}', this version reads '{}'", path,
                               printable(file.metadata("format")), kCheckpointFormat));
  }
  const TrainSpec saved_spec = load_spec_text(file.metadata("spec"), path);
  if (identity(saved_spec) != identity(trainer.spec())) {
    throw RunError(fmt::format(
        "{}: this checkpoint belongs to another spec or network than the run's spec.yaml; "
        "to see its spec: hotloop inspect {}",
        path, path));
  }
  const Json state = parse_json(file.metadata("state"), path + ": state");
  from_state(JsonField(state, path), trainer, record);
  judge_again(record, saved_spec.evaluation, trainer);

  file.copy("best", best, Limits::finite());
  trainer.episodes().visit([&](const char* name, std::span<double> values, const Limits& limits) {
    file.copy(name, values, limits);
  });
  trainer.learner().visit([&](const std::string& name, Array array, const Limits& limits) {
    std::visit([&](auto values) { file.copy(name, values, limits); }, array);
  });
  try {
    trainer.env().restore(file.bytes("env"));
    trainer.restored();
  } catch (const RunError& error) {
    throw RunError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace hotloop
