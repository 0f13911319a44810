// A trained model as commands take it: a run folder or a model file, optionally with different
// options of its environment.
#pragma once

#include <span>
#include <string>

#include "record/model_file.hpp"

namespace hotloop {

struct SavedModel {
  std::string path;
  Model model;
  // As trained: different options may change the bounds of actions, but not their meaning.
  std::shared_ptr<const ActionHead> head;

  InputScale scale() const { return {model.input_mean.data(), model.input_factor.data()}; }
  bool is_scaled() const { return !model.input_mean.empty(); }
};

// `which` is "best" or "latest", and only used if `run` is a folder. Overrides may change
// env.options.* if the numbers of observations and actions stay the same. Code in an environment's
// file does not run before the model plays. Throws UsageError.
SavedModel load_saved_model(const std::string& run, const std::string& which,
                            std::span<const std::string> overrides);

// To be called before playing: throws UsageError if the sizes of the environment have changed since
// training, because its file was edited.
void check_world_fits(const SavedModel& saved);

// Plays greedily, or with `sample` draws actions from the policy; throws UsageError if it has none.
Evaluation evaluate_model(const SavedModel& saved, const EvaluationOptions& options,
                          std::uint64_t seed, ThreadTeam& team, bool sample = false,
                          Demonstrations* record = nullptr);

// The spec for a policy without a network. `run` is a run folder (models are not needed), a model
// file, the name of a ready-made spec, or a YAML file. Overrides may change any key; for a model
// file, only those that load_saved_model allows. Throws UsageError.
TrainSpec load_policy_spec(const std::string& run, std::span<const std::string> overrides);

}  // namespace hotloop
