// hotloop eval: the greedy return of a saved model, measured again.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "cli/commands.hpp"
#include "env/registry.hpp"
#include "run/evaluation.hpp"
#include "run/model_file.hpp"

namespace hotloop {

int eval_command(const EvalArguments& arguments) {
  namespace fs = std::filesystem;
  std::string path = arguments.run;
  if (fs::is_directory(path)) {
    path += "/model-" + arguments.model + ".safetensors";
    if (!fs::exists(path)) {
      throw UsageError(
          fmt::format("'{}' holds no {} model: a run writes it when it saves after an evaluation",
                      arguments.run, arguments.model));
    }
  }
  const Model model = load_model(path);
  const TrainSpec& spec = model.spec;
  EvaluationOptions options = spec.evaluation;
  options.episodes = arguments.episodes.value_or(options.episodes);
  const std::uint64_t seed = arguments.seed.value_or(spec.run.seed);
  ThreadTeam team(spec.run.threads);
  const InputScale scale{model.input_mean.data(), model.input_factor.data()};
  Evaluator evaluator(spec.env, options, seed, model.structure,
                      make_head(spec.q, find_env(spec.env).spec->actions));
  const Evaluation e = evaluator.run(Plan(model.structure), model.parameters,
                                     model.input_mean.empty() ? nullptr : &scale, team);
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"model", path},
                                         {"env", spec.env},
                                         {"episodes", e.episodes},
                                         {"seed", seed},
                                         {"return_mean", e.mean},
                                         {"return_std", e.deviation},
                                         {"length_mean", e.mean_length}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print(
        "{}: greedy return {:.1f} +- {:.1f} over {} episodes of {} (seed {}), mean length {:.1f}\n",
        path, e.mean, e.deviation, e.episodes, spec.env, seed, e.mean_length);
  }
  return 0;
}

}  // namespace hotloop
