#include <hotloop/train.hpp>

#include <cmath>

#include "env/file/trust.hpp"
#include "record/json_fields.hpp"
#include "session/demonstrations.hpp"
#include "session/result.hpp"
#include "session/session.hpp"
#include "train/feasible.hpp"

namespace hotloop {

std::string to_json(const TrainResult& r) {
  Json json;
  visit_result(r, WriteFields{json});
  json["env_steps_per_second"] = to_field(static_cast<double>(r.env_steps) / r.wall_seconds);
  json["updates_per_second"] = to_field(static_cast<double>(r.updates) / r.wall_seconds);
  if (!r.solved) json["solved_env_steps"] = json["solved_seconds"] = nullptr;
  if (r.measures.empty()) {
    for (const char* name : {"score_last100", "score_max", "score_greedy", "measures"}) {
      json.erase(name);
    }
  }
  for (const auto& [phase, share] : r.time) json["time"][phase] = std::round(share * 1e4) / 1e4;
  // JSON must be UTF-8, but a path may not be.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

TrainResult train(const std::string& spec, const std::vector<std::string>& overrides,
                  const std::string& out, bool trust) {
  const TrustAll all(trust);
  trust_named(spec);
  TrainSpec loaded = load_spec(spec, overrides);
  check_feasible(loaded);
  read_demonstrations(loaded);  // before the run folder is made
  return start_run(loaded, make_run_folder(out, loaded.name), {});
}

TrainResult resume(const std::string& run_dir, const std::vector<std::string>& overrides,
                   bool trust) {
  const TrustAll all(trust);
  return resume_run(load_run_spec(run_dir, overrides), run_dir, std::nullopt, {});
}

}  // namespace hotloop
