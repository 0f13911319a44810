// The list of a result's fields, used by `--json`, by result.json and to read it back.
#pragma once

#include <hotloop/train.hpp>

namespace hotloop {

template <class Result, class Visitor>
void visit_result(Result& r, Visitor&& visit) {
  visit("spec", r.spec);
  visit("seed", r.seed);
  visit("env_steps", r.env_steps);
  visit("updates", r.updates);
  visit("declared_updates", r.declared_updates);
  visit("updates_per_step", r.updates_per_step);
  visit("train_events", r.train_events);
  visit("batches", r.batches);
  visit("target_updates", r.target_updates);
  visit("episodes", r.episodes);
  visit("threads", r.threads);
  visit("wall_seconds", r.wall_seconds);
  visit("eval_return_mean", r.eval_return_mean);
  visit("eval_return_std", r.eval_return_std);
  visit("best_return_mean", r.best_return_mean);
  visit("solved", r.solved);
  visit("solved_env_steps", r.solved_env_steps);
  visit("solved_seconds", r.solved_seconds);
  visit("params_hash", r.params_hash);
  visit("run_dir", r.run_dir);
  visit("cpu", r.cpu);
  visit("interrupted", r.interrupted);
  visit("warnings", r.warnings);
  visit("episode_return_mean", r.episode_return_mean);
  visit("episode_return_last100", r.episode_return_last100);
  visit("score_last100", r.score_last100);
  visit("score_max", r.score_max);
  visit("score_greedy", r.score_greedy);
  visit("measures", r.measures);
  visit("time", r.time);
}

}  // namespace hotloop
