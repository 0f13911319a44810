// hotloop eval: the greedy return of a saved model, measured again, perhaps under other options of its
// environment; or that of a policy without a network.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/saved_model.hpp"
#include "run/evaluation.hpp"

namespace hotloop {
namespace {

using Json = nlohmann::ordered_json;

// What is evaluated: its name for messages, its spec, and how.
struct Subject {
  std::string name;
  TrainSpec spec;
  EvaluationOptions options;
  std::uint64_t seed;
};

void report(const Subject& subject, const Evaluation& e, bool json) {
  const EnvSpec env = env_spec(subject.spec.world());
  if (json) {
    Json row = {{"model", subject.name},       {"env", subject.spec.env},
                {"episodes", e.episodes},      {"seed", subject.seed},
                {"return_mean", e.mean},       {"return_std", e.deviation},
                {"length_mean", e.mean_length}};
    for (const auto& [name, text] : subject.spec.env_options) row["options"][name] = text;
    for (int i = 0; i < env.measure_count(); ++i) {
      const std::string name(env.measures[i]);
      row["measures"][name] = e.measures[i];
      if (name == "score") row["score_max"] = e.largest[i];
    }
    fmt::print("{}\n", row.dump());
    return;
  }
  fmt::print("{}: return {:.1f} +- {:.1f} over {} episodes of {} (seed {}), mean length {:.1f}\n",
             subject.name, e.mean, e.deviation, e.episodes, subject.spec.env, subject.seed,
             e.mean_length);
  for (int i = 0; i < env.measure_count(); ++i) {
    fmt::print("  {:<12} {:.3g} (most {:.3g})\n", env.measures[i], e.measures[i], e.largest[i]);
  }
}

Subject subject_of(std::string name, const TrainSpec& spec, const EvalArguments& arguments) {
  Subject subject{std::move(name), spec, spec.evaluation, arguments.seed.value_or(spec.run.seed)};
  subject.options.episodes = arguments.episodes.value_or(subject.options.episodes);
  return subject;
}

int evaluate_policy(const EvalArguments& arguments) {
  const TrainSpec spec = load_policy_spec(arguments.run, arguments.overrides);
  const Subject subject = subject_of(arguments.policy, spec, arguments);
  ThreadTeam team(spec.run.threads);
  report(subject,
         evaluate_script(script_number(arguments.policy, spec.world()), spec.world(),
                         subject.options, subject.seed, team),
         arguments.json);
  return 0;
}

}  // namespace

int eval_command(const EvalArguments& arguments) {
  if (!arguments.policy.empty()) return evaluate_policy(arguments);
  const SavedModel saved = load_saved_model(arguments.run, arguments.model, arguments.overrides);
  const Model& model = saved.model;
  const Subject subject = subject_of(saved.path, model.spec, arguments);
  ThreadTeam team(model.spec.run.threads);
  const InputScale scale = saved.scale();
  Evaluator evaluator(model.spec.world(), subject.options, subject.seed, model.structure,
                      make_head(model.spec.q, env_spec(model.spec.world()).actions));
  report(subject,
         evaluator.run(Plan(model.structure), model.parameters,
                       saved.is_scaled() ? &scale : nullptr, team),
         arguments.json);
  return 0;
}

}  // namespace hotloop
