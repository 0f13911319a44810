// hotloop eval: measures the greedy return of a saved model again, optionally with other
// environment options; or the return of a policy without a network.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "core/file.hpp"
#include "core/json.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "draw/table_text.hpp"
#include "evaluate/evaluation.hpp"
#include "record/saved_model.hpp"
#include "record/transitions/transition_file.hpp"

namespace hotloop {
namespace {

struct EvalArguments {
  std::string run;     // a run folder or a model file; with a policy also a spec
  std::string policy;  // without a network: "random" or one of the environment's scripts
  std::string model = "best";
  std::vector<std::string> overrides;
  std::optional<int> episodes;
  std::optional<std::uint64_t> seed;
  bool sample = false;  // sample actions from the policy instead of taking the best
  std::string record;   // file for the transitions; empty = none
  bool json = false;
};

// What is evaluated: its name for messages, its spec, and how.
struct Subject {
  std::string name;
  TrainSpec spec;
  EvaluationOptions options;
  std::uint64_t seed;
};

void report(const Subject& subject, const Evaluation& e, bool json) {
  const EnvSpec env = env_spec(subject.spec.world());
  const Summary returns = summarise(returns_of(e));
  if (json) {
    Json row = {{"model", subject.name},
                {"env", subject.spec.env},
                {"episodes", e.episodes.size()},
                {"seed", subject.seed},
                {"return_mean", e.mean},
                {"return_std", e.std},
                {"return_interval", {returns.low, returns.high}},
                {"length_mean", e.mean_length}};
    for (const auto& [name, text] : subject.spec.env_options) row["options"][name] = text;
    for (int i = 0; i < env.measure_count(); ++i) {
      const std::string name(env.measures[i]);
      const Summary values = summarise(measures_of(e, i));
      row["measures"][name] = e.measures[i];
      row["intervals"][name] = {values.low, values.high};
      if (name == "score") row["score_max"] = e.largest[i];
    }
    print_result("{}\n", row.dump());
    return;
  }
  print_text("{}: return {} over {} episodes of {} (seed {}), mean length {:.1f}\n", subject.name,
             return_text(e.mean, e.std), e.episodes.size(), subject.spec.env, subject.seed,
             e.mean_length);
  print_text("  {:<12} {}, 95 % confidence interval of the mean\n", "return",
             interval_text(returns));
  for (int i = 0; i < env.measure_count(); ++i) {
    const Summary values = summarise(measures_of(e, i));
    print_text("  {:<12} {} (max {})\n", env.measures[i], interval_text(values),
               cell_number(values.largest));
  }
}

// Plays, reports, and writes the transitions if the user asked for them.
template <class Play>
int play_and_report(const Subject& subject, const EvalArguments& arguments, Play&& play) {
  check_folder_of(arguments.record);
  ThreadTeam team(subject.spec.max_threads());
  TransitionFile file{.env = recorded_name(subject.spec.env), .transitions = {}};
  const Evaluation evaluation = play(team, arguments.record.empty() ? nullptr : &file.transitions);
  if (!arguments.record.empty()) save_transitions(arguments.record, file);
  report(subject, evaluation, arguments.json);
  if (!arguments.record.empty() && !arguments.json) {
    print_text("  recorded {} transitions: {}\n", file.transitions.size(), arguments.record);
  }
  return 0;
}

Subject subject_of(std::string name, const TrainSpec& spec, const EvalArguments& arguments) {
  Subject subject{std::move(name), spec, spec.evaluation, arguments.seed.value_or(spec.run.seed)};
  subject.options.episodes = arguments.episodes.value_or(subject.options.episodes);
  return subject;
}

int evaluate_policy(const EvalArguments& arguments) {
  trust_named(arguments.run);
  const TrainSpec spec = load_policy_spec(arguments.run, arguments.overrides);
  const Subject subject = subject_of(arguments.policy, spec, arguments);
  const int script = script_number(arguments.policy, spec.world());
  return play_and_report(subject, arguments, [&](ThreadTeam& team, Demonstrations* record) {
    return evaluate_script(script, spec.world(), subject.options, subject.seed, team, record);
  });
}

int eval_command(const EvalArguments& arguments) {
  if (!arguments.policy.empty()) return evaluate_policy(arguments);
  const SavedModel saved = load_saved_model(arguments.run, arguments.model, arguments.overrides);
  const Subject subject = subject_of(saved.path, saved.model.spec, arguments);
  return play_and_report(subject, arguments, [&](ThreadTeam& team, Demonstrations* record) {
    return evaluate_model(saved, subject.options, subject.seed, team, arguments.sample, record);
  });
}

const Command kAddEval(
    {"eval", "measure the greedy return of a trained model", [](CLI::App& app, int& code) {
       static EvalArguments eval;

       add_player(app, eval);
       app.add_option("--episodes", eval.episodes, "episodes to play")
           ->check(CLI::Range(1, 1'000'000));
       app.add_option("--seed", eval.seed,
                      "seed of the episode starts; the run's own seed repeats its evaluation")
           ->check(kSeed);
       app.add_flag(
           "--sample", eval.sample,
           "sample actions from the policy, as in training, instead of taking the best (ppo, sac)");
       app.add_option("--record", eval.record,
                      "write the transitions of the episodes to this file, for "
                      "replay.demonstrations");
       app.add_flag("--json", eval.json, "print one JSON object");
       app.callback([&code] { code = eval_command(eval); });
     }});

}  // namespace
}  // namespace hotloop
