// A trained model as commands take it: a run folder or a file, perhaps under other options of its
// environment.
#pragma once

#include <span>
#include <string>

#include "record/model_file.hpp"

namespace hotloop {

struct SavedModel {
  std::string path;
  Model model;
  // As it was trained: other options may change the bounds of actions, not what it means.
  std::shared_ptr<const ActionHead> head;

  InputScale scale() const { return {model.input_mean.data(), model.input_factor.data()}; }
  bool is_scaled() const { return !model.input_mean.empty(); }
};

// `which` is "best" or "latest" and matters if `run` is a folder. Overrides may change env.options.*
// as long as observations and actions keep their number. The code of a world's file is not run until
// somebody plays. Throws UsageError.
SavedModel load_saved_model(const std::string& run, const std::string& which,
                            std::span<const std::string> overrides);

// Before it plays: throws UsageError if its world, that of a file, has other sizes than it was trained on.
void check_world_fits(const SavedModel& saved);

// Its greedy play; or with actions drawn from its policy, if it has one: throws UsageError if not.
Evaluation evaluate_model(const SavedModel& saved, const EvaluationOptions& options,
                          std::uint64_t seed, ThreadTeam& team, bool sample = false);

// The spec behind a policy without a network: of a run folder, with or without models, of a model
// file, a ready-made one or a YAML file. Overrides may change any key, but for a model file those of
// load_saved_model. Throws UsageError.
TrainSpec load_policy_spec(const std::string& run, std::span<const std::string> overrides);

}  // namespace hotloop
