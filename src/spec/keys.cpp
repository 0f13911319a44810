#include "spec/keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algo/common/algorithm.hpp"
#include "graph/graph_file.hpp"

namespace hotloop {
namespace {

Keys env_keys(TrainSpec& s) {
  return {
      {.path = "env.name",
       .field = &s.env,
       .range = {},
       .about = "environment (`hotloop list envs`)",
       .required = true},
      {"env.count", &s.envs, {1, 1'000'000}, "copies of the environment, stepped together"},
      {"env.options",
       &s.env_options,
       {},
       "options of the environment by name (`hotloop list options`)"},
      {"env.isolate",
       &s.isolation.on,
       {},
       "run an environment from a file in its own process; does not change the result"},
      {"env.timeout_seconds",
       &s.isolation.timeout_seconds,
       {0.1, 1e9},
       "time for one call of an environment from a file: an isolated one is then ended, for others "
       "a message says so"},
      Key{"env.memory_gb",
          &s.isolation.memory_gb,
          {0, 1e6},
          "memory that an isolated environment may allocate; 0 = no limit"}
          .only_if([&s] { return s.isolation.on; }, "env.isolate is false"),
  };
}

bool can_normalise_layers(const NetOptions& net) {
  return net.graph.kind == GraphKind::none && !net.hidden.empty() && net.dueling_hidden.empty();
}

Keys layer_keys(NetOptions& n, const AlgorithmFacts& facts) {
  Keys keys = {
      {"net.branches",
       &n.branches,
       {},
       "named branches that turn parts of the observation (`hotloop list envs`) into one vector, "
       "which replaces the observation: see [networks](networks.md)"},
      {"net.channels",
       &n.channels,
       {1, 1'024},
       "channels of 3x3 convolutions before the hidden layers; for environments whose observation "
       "is a grid"},
      Key{"net.hidden", &n.hidden, {1, 16'384}, "widths of the hidden layers"}.only_if(
          [&n] { return n.graph.kind == GraphKind::none; }, "net.graph replaces the layers"),
      {"net.activation",
       choice(n.activation, kActivationNames),
       {},
       "activation after every hidden layer; the output is linear"},
      Key{"net.init",
          choice(n.init, kInitialiserNames),
          {},
          "initialisation of weights; biases start at zero, except with `pytorch` and "
          "`small_world` (for graphs only), which draw them like the weights. Noisy layers are "
          "initialised as in their paper; graphs use `he` instead of `orthogonal`"}
          .only_if(
              [&n] { return n.noisy != Noisy::all || !n.channels.empty() || !n.branches.empty(); },
              "noisy layers are initialised as in their paper"),
      Key{"net.layer_norm",
          &n.layer_norm,
          {},
          "layer normalisation before the activation of every hidden layer, not of convolutions"}
          .by_default("", [&n] { n.layer_norm = n.layer_norm && can_normalise_layers(n); }),
  };
  if (facts.action_values) {
    const auto noisy = [&n] { return n.noisy != Noisy::none; };
    append(
        keys,
        {{"net.dueling",
          &n.dueling,
          {},
          "Q = V + A - mean A from the last hidden layer (Wang et al. 2016)"},
         Key{"net.dueling_hidden",
             &n.dueling_hidden,
             {1, 16'384},
             "dueling: widths of additional hidden layers, separate for V and A; cannot be "
             "combined with `net.layer_norm`"}
             .only_if([&n] { return n.dueling; }, "net.dueling is false"),
         {"net.noisy",
          choice(n.noisy, kNoisyNames),
          {},
          "explore by layers with learnt noise (Fortunato et al. 2018): all dense layers, or only "
          "the last, the head (with `net.dueling_hidden` the last of V and of A)"},
         Key{"net.noisy_sigma",
             &n.noisy_sigma,
             {0, 100},
             "the initial std of the noise is this / sqrt(inputs)"}
             .only_if(noisy, "net.noisy is none")});
  }
  if (facts.actor_critic) {
    append(
        keys,
        {{"net.separate", &n.separate, {}, "separate hidden layers for policy and values"},
         {"net.value_from",
          &n.value_from,
          {},
          "branch that feeds the values; the policy uses the last branch; empty = values do too"},
         {"net.policy_gain",
          &n.policy_gain,
          {0, 1e6},
          "factor on the initial weights of the policy's last layer; not for graphs"}});
  }
  return keys;
}

Keys graph_keys(GraphOptions& g) {
  Keys keys = {
      {"net.graph.hidden",
       &g.hidden,
       {1, 16'384},
       "number of hidden neurons, a list with one number; dense: one per layer"},
      {"net.graph.degree",
       &g.degree,
       {2, 16'384},
       "small_world and similar: k, the edges per hidden neuron, and the neurons that each input "
       "and output connects to"},
      {"net.graph.rewire", &g.rewire, kShare,
       "small_world: share of edges rewired at random; modular: share of edges between modules"},
      {"net.graph.modules", &g.modules, {1, 1'024}, "modular: number of modules"},
      {"net.graph.seed", &g.seed, {}, "seed of the graph, and of `net.init: small_world`"},
      {"net.graph.file",
       &g.file,
       {},
       "file with a graph (.edges, .txt, .json, .graphml); the resolved spec contains its edges "
       "instead"},
      {"net.graph.edges", &g.edges, {}, "kind edges: `I H O: 0>2 1>2 2>3`, every edge once"},
      {"net.graph.activate_outputs",
       &g.activate_outputs,
       {},
       "apply the activation to outputs too"},
      {"net.graph.train_biases",
       &g.train_biases,
       {},
       "train the biases; otherwise they keep their initial values"},
  };
  for (Key& key : keys) {
    key.conditions.push_back(
        {[&g] { return g.kind != GraphKind::none; }, "net.graph.kind is none"});
  }
  keys.insert(keys.begin(), {"net.graph.kind",
                             choice(g.kind, kGraphNames),
                             {},
                             "a graph of neurons instead of hidden layers; `none` = layers"});
  return keys;
}

Keys optimiser_keys(OptimiserOptions& o) {
  const auto adam = [&o] {
    return o.kind == OptimiserKind::adam || o.kind == OptimiserKind::adamw;
  };
  constexpr std::string_view kOnlyAdam = "only adam and adamw use it";
  return {
      {"optimiser.name", choice(o.kind, kOptimiserNames), {}, "optimisation algorithm"},
      {"optimiser.learning_rate", &o.learning_rate, {0, 10}, "learning rate"},
      {"optimiser.max_grad_norm",
       &o.max_grad_norm,
       {0, 1e30},
       "global gradient norm above which gradients are scaled down; 0 = off"},
      Key{"optimiser.beta1", &o.beta1, kDecay, "adam, adamw: decay of the first moment"}.only_if(
          adam, kOnlyAdam),
      Key{"optimiser.beta2", &o.beta2, kDecay, "adam, adamw: decay of the second moment"}.only_if(
          adam, kOnlyAdam),
      Key{"optimiser.decay", &o.decay, kDecay, "rmsprop: decay of the squared gradient"}.only_if(
          [&o] { return o.kind == OptimiserKind::rmsprop; }, "only rmsprop uses it"),
      Key{"optimiser.momentum", &o.momentum, kDecay, "sgd, rmsprop: momentum"}.only_if(
          [adam] { return !adam(); }, "adam and adamw use beta1 instead"),
      Key{"optimiser.epsilon",
          &o.epsilon,
          {0, 1, true},
          "added to the square root of the second moment"}
          .only_if([&o] { return o.kind != OptimiserKind::sgd; }, "sgd does not use it"),
      Key{"optimiser.weight_decay",
          &o.weight_decay,
          {0, 1e6},
          "adamw: decoupled; others: added to the gradient"}
          .by_default("`0`, adamw `0.01`",
                      [&o] {
                        if (o.kind == OptimiserKind::adamw) o.weight_decay = 0.01f;
                      }),
  };
}

Keys evaluation_keys(EvaluationOptions& e) {
  return {
      {"evaluation.every",
       &e.every,
       {0, kMaxSteps},
       "env steps between greedy evaluations; 0 = only at the end"},
      {"evaluation.episodes", &e.episodes, {1, 1'000'000}, "episodes per evaluation"},
      {"evaluation.max_steps",
       &e.max_steps,
       {1, kMaxSteps},
       "longer episodes of an evaluation are cut here and count with their return so far"},
      Key{"evaluation.threshold",
          &e.threshold,
          {},
          "mean return that counts as solved; `env` = the environment's own"}
          .or_unset("env"),
      {"evaluation.stop_when_solved",
       &e.stop_when_solved,
       {},
       "end the run at the first evaluation that reaches the threshold"},
      {"evaluation.best",
       &e.best,
       {},
       "score that selects model-best: a weighted sum of the return and measures, such as "
       "`1000 success + 100 progress + return`"},
      {"evaluation.gain",
       &e.gain,
       {0, 1e6},
       "minimum relative improvement of the score for a new best model"},
  };
}

Keys run_keys(TrainSpec& spec) {
  RunOptions& r = spec.run;
  return {
      Key{"run.steps", &r.steps, {1, kMaxSteps}, "env steps, over all environments"}.by_default(
          "`50000`, with `run.episodes` no limit",
          [&r] {
            if (r.episodes > 0) r.steps = kNoLimit;
          }),
      {"run.episodes",
       &r.episodes,
       {0, kMaxSteps},
       "ends the run after the round in which this many episodes have ended; 0 = off"},
      Key{"run.threads",
          &spec.threads,
          {1, kMaxThreads},
          "number of threads; does not change the result. `auto`: a run that learns for over "
          "half a second tries how many are fastest"}
          .or_unset("auto"),
      {"run.seed", &r.seed, {}, "seed of all random streams"},
      {"run.checkpoint_seconds",
       &r.checkpoint_seconds,
       {0, 1e9},
       "seconds between checkpoints; 0 = after every round"},
      {"run.snapshot_every",
       &r.snapshot_every,
       {0, kMaxSteps},
       "episodes between models saved in `snapshots/`, the first after episode 1; 0 = none"},
      {"run.log_every", &r.log_every, {1, kMaxSteps}, "env steps between lines of `metrics.jsonl`"},
      {"run.log_rows",
       &r.log_rows,
       {0, kMaxSteps},
       "rows of `metrics.jsonl` before every second one is dropped; 0 = no limit"},
      {"run.episode_log", &r.episode_log, {}, "write a line to `episodes.jsonl` for every episode"},
  };
}

}  // namespace

Keys spec_keys(TrainSpec& s) {
  Keys keys = {
      Key{"name", &s.name, {}, "name of the run's folder"}.by_default("the file's name", {}),
      {"about", &s.about, {}, "one line for `hotloop list specs`"},
  };
  append(keys, env_keys(s));
  append(keys, {{"algo.name", &s.algorithm, {}, "the algorithm: see [algorithms](algorithms.md)"}});
  append(keys, s.algorithm->keys(s));
  append(keys, layer_keys(s.net, s.algorithm->facts()));
  append(keys, graph_keys(s.net.graph));
  append(keys, optimiser_keys(s.optimiser));
  append(keys, evaluation_keys(s.evaluation));
  append(keys, run_keys(s));
  return keys;
}

std::string algorithms_with(std::string_view path) {
  std::string names;
  for (const Algorithm* algorithm : algorithms()) {
    TrainSpec spec;
    use_algorithm(spec, *algorithm);
    const Keys keys = spec_keys(spec);
    const bool has = std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
      return key.path.starts_with(path) &&
             (key.path.size() == path.size() || key.path[path.size()] == '.');
    });
    if (has) names += fmt::format("{}{}", names.empty() ? "" : ", ", algorithm->name());
  }
  return names;
}

std::string key_elsewhere(std::span<const Key> keys, std::string_view leaf) {
  if (std::string other = key_of_other_library(keys, leaf); !other.empty()) return other;
  std::string joined;
  for (const Key& key : keys) {
    if (key.leaf() == leaf) return std::string(key.path);
    if (leaf.find('_') == std::string_view::npos) continue;
    std::string flat(key.path);
    std::replace(flat.begin(), flat.end(), '.', '_');
    if (flat.ends_with(fmt::format("_{}", leaf))) joined = key.path;
  }
  return joined;
}

bool schedule_has(ScheduleKind kind, std::string_view key) {
  const bool is_step = kind == ScheduleKind::step;
  if (key == "to") return kind != ScheduleKind::linear_to_zero;
  if (key == "over") return !is_step;
  if (key == "factor" || key == "every") return is_step;
  return true;  // kind, from, after, count
}

}  // namespace hotloop
