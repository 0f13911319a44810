#include <hotloop/train.hpp>

#include <cmath>
#include <nlohmann/json.hpp>

#include "session/session.hpp"

namespace hotloop {

std::string to_json(const TrainResult& r) {
  using Json = nlohmann::ordered_json;
  const auto number = [](double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  Json json = {
      {"spec", r.spec},
      {"seed", r.seed},
      {"env_steps", r.env_steps},
      {"updates", r.updates},
      {"declared_updates", r.declared_updates},
      {"updates_per_step", r.updates_per_step},
      {"train_events", r.train_events},
      {"batches", r.batches},
      {"target_updates", r.target_updates},
      {"episodes", r.episodes},
      {"threads", r.threads},
      {"wall_seconds", r.wall_seconds},
      {"env_steps_per_second", number(static_cast<double>(r.env_steps) / r.wall_seconds)},
      {"updates_per_second", number(static_cast<double>(r.updates) / r.wall_seconds)},
      {"eval_return_mean", number(r.eval_return_mean)},
      {"eval_return_std", number(r.eval_return_std)},
      {"best_return_mean", number(r.best_return_mean)},
      {"solved", r.solved},
      {"solved_env_steps", r.solved ? Json(r.solved_env_steps) : Json(nullptr)},
      {"solved_seconds", r.solved ? number(r.solved_seconds) : Json(nullptr)},
      {"params_hash", r.params_hash},
      {"run_dir", r.run_dir},
      {"cpu", r.cpu},
      {"interrupted", r.interrupted},
      {"warnings", r.warnings},
      {"episode_return_mean", number(r.episode_return_mean)},
      {"episode_return_last100", number(r.episode_return_last100)},
  };
  if (!r.measures.empty()) {
    json["score_last100"] = number(r.score_last100);
    json["score_max"] = number(r.score_max);
    json["score_greedy"] = number(r.score_greedy);
    for (const auto& [name, mean] : r.measures) json["measures"][name] = number(mean);
  }
  for (const auto& [phase, share] : r.time) json["time"][phase] = std::round(share * 1e4) / 1e4;
  // A path need not be UTF-8, which JSON must be.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

TrainResult train(const std::string& spec, const std::vector<std::string>& overrides,
                  const std::string& out) {
  const TrainSpec loaded = load_spec(spec, overrides);
  check_feasible(loaded);
  return start_run(loaded, make_run_folder(out, loaded.name), {});
}

TrainResult resume(const std::string& run_dir, const std::vector<std::string>& overrides) {
  return resume_run(load_run_spec(run_dir, overrides), run_dir, std::nullopt, {});
}

}  // namespace hotloop
