#include "spec/spec.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "spec/keys.hpp"
#include "tests/spec/spec_text.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

TEST(Spec, EveryKindOfValueIsRead) {
  const TrainSpec spec = read(R"(
about: "two words"
env: {name: cartpole, count: 4}
algo:
  gamma: .5
  batch: 1e2
  loss: mse
  updates_per_step: 0.25
  train_every: 8
  target: {every: 7, count: updates, tau: 0.005}
  epsilon: {kind: exponential, from: 1, to: 0.01, over: 2000}
replay: {capacity: 1003}
net: {hidden: [3, 5], activation: "tanh", init: he}
optimiser: {name: rmsprop, learning_rate: 0.1, beta1: 0.1, max_grad_norm: 0.1}
evaluation: {threshold: -2.5, stop_when_solved: true}
run: {seed: 18446744073709551615, checkpoint_seconds: 0}
)");
  EXPECT_EQ(spec.name, "x");
  EXPECT_EQ(spec.about, "two words");
  EXPECT_EQ(spec.envs, 4);
  EXPECT_EQ(spec.learn.gamma, 0.5);
  EXPECT_EQ(spec.learn.batch, 100);
  EXPECT_EQ(dqn(spec).loss, Loss::mse);
  EXPECT_EQ(spec.learn.updates_per_step, 0.25);
  EXPECT_EQ(spec.learn.train_every, 8);
  EXPECT_EQ(dqn(spec).target.every, 7);
  EXPECT_EQ(dqn(spec).target.count, Count::updates);
  EXPECT_EQ(dqn(spec).target.tau, 0.005);
  EXPECT_EQ(dqn(spec).explore.epsilon.kind, ScheduleKind::exponential);
  EXPECT_EQ(dqn(spec).explore.epsilon.to, 0.01);
  EXPECT_EQ(dqn(spec).explore.epsilon.over, 2000);
  EXPECT_EQ(dqn(spec).replay.capacity, 1000);  // rounded down to a multiple of env.count
  EXPECT_EQ(spec.net.hidden, (std::vector{3, 5}));
  EXPECT_EQ(spec.net.activation, Activation::tanh);
  EXPECT_EQ(spec.net.init, Initialiser::he);
  EXPECT_EQ(spec.optimiser.kind, OptimiserKind::rmsprop);
  EXPECT_EQ(spec.optimiser.learning_rate.kind, ScheduleKind::constant);
  EXPECT_EQ(spec.optimiser.learning_rate.from, 0.1);
  EXPECT_EQ(spec.optimiser.beta1, 0.1f);
  EXPECT_EQ(spec.optimiser.max_grad_norm, 0.1f);
  EXPECT_EQ(spec.evaluation.threshold, -2.5);
  EXPECT_TRUE(spec.evaluation.stop_when_solved);
  EXPECT_EQ(spec.run.seed, UINT64_MAX);
  EXPECT_EQ(spec.run.checkpoint_seconds, 0);
}

TEST(Spec, JsonIsAccepted) {
  const TrainSpec spec = read(R"({"env": {"name": "cartpole", "count": 2},
                                  "net": {"hidden": [], "activation": "gelu"}})");
  EXPECT_EQ(spec.env, "cartpole");
  EXPECT_TRUE(spec.net.hidden.empty());
  EXPECT_EQ(spec.net.activation, Activation::gelu);
  EXPECT_EQ(spec.learn.train_every, 2);  // a round of one vector step, unless given
}

TEST(Spec, WritesOneReadableLinePerKey) {
  const std::string text = to_yaml(read("env: {name: cartpole}"));
  EXPECT_TRUE(text.starts_with(
      "name: \"x\"\nabout: \"\"\nenv:\n  name: \"cartpole\"\n  count: 1\n  options: {}\n  isolate: "
      "false\n  timeout_seconds: 60\n  memory_gb: 0\nalgo:\n"))
      << text;
  EXPECT_NE(
      text.find("  target:\n    every: 500\n    count: steps\n    tau: 1\n  munchausen: 0\n  "
                "munchausen_temperature: 0.03\n  munchausen_clip: -1\n  truncation_ends: "
                "false\n  explore: "
                "epsilon_greedy\n  epsilon: {kind: linear, from: 1, to: 0.05, over: 10000}\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("  threshold: env\n"), std::string::npos) << text;
}

TEST(Spec, UnknownKeysNameTheNearest) {
  EXPECT_EQ(second_line("algo: {batchsize: 5}"),
            "2: algo.batchsize: unknown key; did you mean algo.batch? (allowed: name, gamma, loss, "
            "batch, learning_starts, updates_per_step, train_every, train_offset, pipelined, "
            "accumulate, repeats, double, n_step, head, atoms, v_min, v_max, target, munchausen, "
            "munchausen_temperature, munchausen_clip, truncation_ends, explore, epsilon, "
            "explore_steps, temperature, normalise)");
  EXPECT_EQ(second_line("algo: {name: pqn, batchsize: 5}"),
            "2: algo.batchsize: unknown key; did you mean algo.batch? (allowed: name, gamma, loss, "
            "batch, explore, epsilon, explore_steps, temperature, n_steps, n_epochs, lambda, "
            "normalise)");
  EXPECT_EQ(second_line("optimizer: {}"),
            "2: optimizer: unknown key; did you mean optimiser? (allowed: name, about, env, algo, "
            "replay, "
            "net, optimiser, evaluation, run)");
  EXPECT_EQ(second_line("algo: {target: {evry: 5}}"),
            "2: algo.target.evry: unknown key; did you mean algo.target.every? (allowed: every, "
            "count, tau)");
  EXPECT_EQ(
      second_line("replay: {learning_rate: 5}"),
      "2: replay.learning_rate: unknown key; did you mean optimiser.learning_rate? (allowed: "
      "capacity, newest, prioritised, alpha, epsilon, beta, demonstrations, demonstrations_hash)");
  EXPECT_EQ(second_line("replay: {zzz: 5}"),
            "2: replay.zzz: unknown key; allowed: capacity, newest, prioritised, alpha, epsilon, "
            "beta, demonstrations, "
            "demonstrations_hash");
  EXPECT_EQ(second_line("algo: {epsilon: {form: 1}}"),
            "2: algo.epsilon.form: unknown key; did you mean algo.epsilon.from? (allowed: kind, "
            "from, to, over, factor, every, after, count)");
  EXPECT_EQ(second_line("algo.batch: 5"),
            "2: algo.batch: in a file keys are nested; write algo: {batch: ...}");
}

TEST(Spec, WrongTypesAreNamed) {
  EXPECT_EQ(second_line("algo: {batch: many}"),
            "2: algo.batch: expected an integer, found many; allowed: 1 <= batch <= 65536");
  EXPECT_EQ(second_line("algo: {batch: 64.5}"),
            "2: algo.batch: expected an integer, found 64.5; allowed: 1 <= batch <= 65536");
  EXPECT_EQ(second_line("algo: {batch: \"64\"}"),
            "2: algo.batch: expected an integer, found the text \"64\"; allowed: 1 <= batch <= "
            "65536");
  EXPECT_EQ(second_line("algo: {batch: [64]}"),
            "2: algo.batch: expected an integer, found a list; allowed: 1 <= batch <= 65536");
  EXPECT_EQ(second_line("algo: {batch: }"),
            "2: algo.batch: expected an integer, found nothing; allowed: 1 <= batch <= 65536");
  EXPECT_EQ(second_line("algo: {gamma: high}"),
            "2: algo.gamma: expected a number, found high; allowed: 0 <= gamma <= 1");
  EXPECT_EQ(
      second_line("evaluation: {threshold: high}"),
      "2: evaluation.threshold: expected a number or env, found high; allowed: any finite number");
  EXPECT_EQ(second_line("evaluation: {stop_when_solved: 1}"),
            "2: evaluation.stop_when_solved: expected true or false, found 1");
  EXPECT_EQ(
      second_line("run: {seed: -1}"),
      "2: run.seed: expected an integer, found -1; allowed: 0 <= seed <= 18446744073709551615");
  EXPECT_EQ(second_line("net: {hidden: 64}"),
            "2: net.hidden: expected a list of integers such as [64, 64], found 64");
  EXPECT_EQ(second_line("net: {activation: rellu}"),
            "2: net.activation: \"rellu\" is unknown; did you mean relu? (allowed: linear, relu, "
            "leaky_relu, tanh, selu, gelu)");
  EXPECT_EQ(second_line("algo: 5"), "2: algo: expected a mapping with keys such as name, found 5");
  EXPECT_EQ(second_line("algo: {epsilon: low}"),
            "2: algo.epsilon: expected a number or {kind, from, to, over}, found low");
  EXPECT_EQ(second_line("? [a, b]\n: 5"), "2: expected a key, found a list");
  EXPECT_EQ(second_line("about: [a]"), "2: about: expected text, found a list");
}

TEST(Spec, ValuesOutOfRangeAreNamed) {
  EXPECT_EQ(second_line("algo: {gamma: 1.5}"),
            "2: algo.gamma: 1.5 is out of range; allowed: 0 <= gamma <= 1");
  EXPECT_EQ(second_line("algo: {gamma: nan}"),
            "2: algo.gamma: nan is out of range; allowed: 0 <= gamma <= 1");
  EXPECT_EQ(second_line("algo: {updates_per_step: 0}"),
            "2: algo.updates_per_step: 0 is out of range; allowed: 0 < updates_per_step <= 1000");
  EXPECT_EQ(second_line("algo: {batch: 99999999999999999999}"),
            "2: algo.batch: 99999999999999999999 is out of range; allowed: 1 <= batch <= 65536");
  EXPECT_EQ(second_line("algo: {batch: -1}"),
            "2: algo.batch: -1 is out of range; allowed: 1 <= batch <= 65536");
  EXPECT_EQ(second_line("optimiser: {beta1: 0.99999999999}"),  // 1 as a float
            "2: optimiser.beta1: 0.99999999999 is out of range; allowed: 0 <= beta1 < 1");
  EXPECT_EQ(second_line("net: {hidden: [64, 0]}"),
            "2: net.hidden: 0 is out of range; allowed: 1 <= each <= 16384");
  EXPECT_EQ(
      second_line(
          "net: {hidden: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}"),
      "2: net.hidden: 33 items; allowed: up to 32");
  EXPECT_EQ(second_line("algo: {epsilon: 2}"),
            "2: algo.epsilon: 2 is out of range; allowed: 0 <= epsilon <= 1");
  EXPECT_EQ(second_line("algo: {epsilon: {to: 2}}"),
            "2: algo.epsilon.to: 2 is out of range; allowed: 0 <= to <= 1");
  EXPECT_EQ(second_line("algo: {epsilon: {over: 0}}"),
            "2: algo.epsilon.over: 0 is out of range; allowed: 1 <= over <= 1e+15");
  EXPECT_EQ(second_line("evaluation: {threshold: inf}"),
            "2: evaluation.threshold: inf is out of range; allowed: any finite number");
  for (const char* line : {"run: {threads: 0}", "run: {threads: 257}", "run: {steps: 0}",
                           "algo: {batch: 65537}", "evaluation: {episodes: 0}"}) {
    EXPECT_NE(second_line(line).find("is out of range"), std::string::npos) << line;
  }
  EXPECT_EQ(complaint("env: {name: cartpole, count: 1000001}"),
            "1: env.count: 1000001 is out of range; allowed: 1 <= count <= 1000000");
}

TEST(Spec, BrokenFilesAreNamed) {
  EXPECT_EQ(complaint(""), " the spec is empty; it needs at least env: {name: ...}");
  EXPECT_EQ(complaint("# nothing\n"), " the spec is empty; it needs at least env: {name: ...}");
  EXPECT_EQ(complaint("just words"),
            " expected a mapping with keys such as name, found just words");
  EXPECT_EQ(complaint("- a\n- b"), " expected a mapping with keys such as name, found a list");
  EXPECT_EQ(complaint("env: {name: cartpole}\nalgo: {batch: 1\n"),
            "3: not valid YAML: end of map flow not found");
  EXPECT_EQ(complaint("env: {name: cartpole}\n---\nenv: {name: b}"),
            " expected one YAML document, found several");
  EXPECT_EQ(complaint("run: {seed: 1}"), " env.name: missing; every spec needs it");
  EXPECT_EQ(complaint("env:\n"), " env.name: missing; every spec needs it");
  EXPECT_EQ(complaint("env: {name: cartpole}\nalgo:\n  batch: 1\n  gamma: 1\n  batch: 2\n"),
            "5: algo.batch: given twice");
  EXPECT_EQ(complaint("env: {name: cartpole}\nenv: {name: a}\n"), "2: env: given twice");
  EXPECT_EQ(complaint(std::string(10'000, '[')).substr(0, 18), "1: not valid YAML:");
  using namespace std::string_literals;
  EXPECT_EQ(complaint("env: {name: cartpole}\nabout: a\0b\n"s),
            "2: not valid YAML: a control character (\\x00)");
  EXPECT_EQ(complaint("env: {name: cartpole}", {"about=a\x1b[2J"}),
            "--set about=a\\x1b[2J: not valid YAML: a control character (\\x1b)");
  EXPECT_EQ(complaint("env: &a {name: *a}"), "1: env.name: expected text, found a mapping");
}

TEST(Spec, SchedulesMayLastForTheRun) {
  const auto rate = [](const std::string& run) {
    return read(
               "env: {name: cartpole}\noptimiser: {learning_rate: {kind: cosine, from: 1, to: 0, "
               "over: run}}\n" +
               run)
        .optimiser.learning_rate;
  };
  EXPECT_EQ(rate("run: {steps: 7000}").over, 7000);
  EXPECT_EQ(rate("").over, RunOptions{}.steps);
  TrainSpec spec = read("env: {name: cartpole}\nalgo: {epsilon: {over: run}}\nrun: {steps: 7000}");
  EXPECT_EQ(dqn(spec).explore.epsilon.over, 7000);
  EXPECT_NE(to_yaml(spec).find("over: 7000"),
            std::string::npos);  // the resolved spec has the number
  EXPECT_EQ(second_line("algo: {epsilon: {over: run, count: updates}}"),
            "2: algo.epsilon.over: run is a number of env steps, but count is not");
  EXPECT_NE(
      second_line("algo: {epsilon: {over: rum}}").find("expected an integer or run, found rum"),
      std::string::npos);
}

TEST(Spec, SchedulesTakeMissingPartsFromTheirDefault) {
  const Schedule epsilon =
      dqn(read("env: {name: cartpole}\nalgo: {epsilon: {to: 0.5}}")).explore.epsilon;
  EXPECT_EQ(epsilon.kind, ScheduleKind::linear);
  EXPECT_EQ(epsilon.from, 1);
  EXPECT_EQ(epsilon.to, 0.5);
  EXPECT_EQ(epsilon.over, 10'000);
  // The learning rate is constant by default: there are no parts to take over.
  EXPECT_EQ(
      second_line("optimiser: {learning_rate: {kind: cosine, from: 1, to: 0}}"),
      "2: optimiser.learning_rate.over: missing; a schedule of kind cosine has kind, from, to, "
      "over, after, count");
  const Schedule rate = read(
                            "env: {name: cartpole}\noptimiser: {learning_rate: {kind: cosine, "
                            "from: 1, to: 0, over: 9}}")
                            .optimiser.learning_rate;
  EXPECT_EQ(rate.kind, ScheduleKind::cosine);
  EXPECT_EQ(second_line("algo: {epsilon: {kind: constant}}"),
            "2: algo.epsilon.kind: \"constant\" is unknown; allowed: linear, linear_to_zero, "
            "exponential, step, cosine, wave");
}

TEST(Spec, RelationsBetweenKeysAreChecked) {
  EXPECT_EQ(complaint("env: {name: cartpole, count: 8}\nalgo: {train_every: 12}"),
            "2: algo.train_every: 12 is not a multiple of env.count (8); nearest: 16");
  EXPECT_EQ(complaint("env: {name: cartpole, count: 8}\nalgo: {train_every: 9}"),
            "2: algo.train_every: 9 is not a multiple of env.count (8); nearest: 8");
  EXPECT_EQ(complaint("env: {name: cartpole, count: 8}\nalgo: {train_every: 3}"),
            "2: algo.train_every: 3 is not a multiple of env.count (8); nearest: 8");
  EXPECT_EQ(second_line("replay: {capacity: 63}"),
            "2: replay.capacity: 63 is less than algo.batch (64)");
  EXPECT_EQ(complaint("env: {name: cartpole, count: 7}\nreplay: {capacity: 64}"),
            "2: replay.capacity: 63 (rounded down) is less than algo.batch (64)");
  EXPECT_EQ(complaint("env: {name: cartpole, count: 200000}"),
            " replay.capacity: 100000 is less than env.count (200000)");
  EXPECT_EQ(second_line("run: {steps: 999}"),
            " algo.learning_starts: 1000 is more than run.steps (999): the run would never learn");
  EXPECT_EQ(second_line("evaluation: {every: 0, stop_when_solved: true}"),
            "2: evaluation.stop_when_solved: needs evaluation.every above 0: nothing is evaluated "
            "before the end");
  EXPECT_EQ(second_line("algo: {epsilon: {kind: exponential, to: 0}}"),
            "2: algo.epsilon: an exponential schedule from 1 to 0 is impossible; both ends must be "
            "above 0");
  EXPECT_EQ(second_line("name: a/b"), "2: name: \"a/b\" cannot name a folder");
}

TEST(Spec, OverridesApplyInOrderAfterTheFile) {
  const std::string text =
      "env: {name: cartpole}\nalgo: {batch: 32, epsilon: {kind: cosine, from: 0.5}}\n";
  EXPECT_EQ(read(text, {"algo.batch=16"}).learn.batch, 16);
  EXPECT_EQ(read(text, {"algo.batch=16", "algo.batch=8"}).learn.batch, 8);
  EXPECT_EQ(read(text, {"net.hidden=[7]"}).net.hidden, std::vector{7});
  EXPECT_EQ(read(text, {"net={hidden: [7], activation: selu}"}).net.activation, Activation::selu);
  const auto epsilon = [&](const std::string& given) {
    return dqn(read(text, {given})).explore.epsilon;
  };
  EXPECT_EQ(epsilon("algo.epsilon.to=0.25").from, 0.5);
  EXPECT_EQ(epsilon("algo.epsilon=0.25").kind, ScheduleKind::constant);
  EXPECT_EQ(epsilon("algo.epsilon={to: 0.25}").from, 1);  // given again
  EXPECT_EQ(read(text, {"about=a=b"}).about, "a=b");
  EXPECT_EQ(read("run: {seed: 3}", {"env.name=snake"}).env, "snake");
}

TEST(Spec, BadOverridesNameThemselves) {
  const std::string text = "env: {name: cartpole}\nalgo: {epsilon: 0.5}\n";
  EXPECT_EQ(complaint(text, {"algo.batch=0"}),
            "--set algo.batch=0: algo.batch: 0 is out of range; allowed: 1 <= batch <= 65536");
  EXPECT_TRUE(
      complaint(text, {"algo.btach=0"})
          .starts_with("--set algo.btach=0: algo.btach: unknown key; did you mean algo.batch? ("));
  EXPECT_TRUE(complaint(text, {"aglo.batch=1"})
                  .starts_with("--set aglo.batch=1: aglo: unknown key; did you mean algo? ("));
  EXPECT_EQ(complaint(text, {"algo.gamma.x=1"}),
            "--set algo.gamma.x=1: algo.gamma.x: unknown key; algo.gamma is a value");
  EXPECT_EQ(complaint(text, {"algo.batch"}),
            "--set algo.batch: expected key=value, such as algo.batch=64");
  EXPECT_EQ(complaint(text, {"=5"}), "--set =5: expected key=value, such as algo.batch=64");
  EXPECT_EQ(complaint(text, {"algo.batch="}),
            "--set algo.batch=: algo.batch: expected an integer, found nothing; allowed: 1 <= "
            "batch <= 65536");
  EXPECT_EQ(complaint(text, {"net.hidden=[1"}),
            "--set net.hidden=[1: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(
      complaint(text, {"algo.epsilon.to=0.1"}),
      "--set algo.epsilon.to=0.1: algo.epsilon.to: algo.epsilon is the constant 0.5 here; give the "
      "complete schedule: algo.epsilon={kind: linear, from: ..., to: ..., over: ...}");
  EXPECT_EQ(complaint(text, {"algo=5"}),
            "--set algo=5: algo: expected a mapping with keys such as name, found 5");
  for (const char* bad : {"algo.=5", ".algo=5", "algo..batch=5", ".=5", "env.count=7"}) {
    const std::string message = complaint(text, {bad, "algo.train_every=2"});
    EXPECT_TRUE(message.starts_with("--set ")) << bad << " -> " << message;
  }
}

TEST(Spec, ReadyMadeSpecsAreFoundListedAndRight) {
  std::vector<std::string> names;
  for (const SpecInfo& info : ready_made_specs()) {
    names.push_back(info.name);
    EXPECT_GT(info.about.size(), 10u) << info.name;
    EXPECT_EQ(load_spec(info.name).name, info.name);
  }
  for (const char* name : {"cartpole_dqn", "cartpole_dqn_cleanrl", "cartpole_dqn_zoo"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  // 50,000 steps, the first 1,000 without learning: as in the tuned settings.
  const TrainSpec zoo = load_spec("cartpole_dqn_zoo");
  EXPECT_EQ(zoo.learn.updates_per_step * static_cast<double>(zoo.learn.train_every), 128);
  EXPECT_EQ(static_cast<double>(dqn(zoo).explore.epsilon.over),
            0.16 * static_cast<double>(zoo.run.steps));
  EXPECT_EQ(
      load_spec("cartpole_dqn_cleanrl", std::vector<std::string>{"run.steps=100000"}).run.steps,
      100'000);
}

TEST(Spec, FilesAreFoundByPathAndMissingOnesNamed) {
  std::string pattern = testing::TempDir() + "hotloop_spec_XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::string folder = pattern;
  write_file_atomically(folder + "/first.yaml", "about: the first\nenv: {name: cartpole}");
  write_file_atomically(folder + "/second.yaml", "about: [");
  write_file_atomically(folder + "/mine.spec.json", R"({"env": {"name": "acrobot"}})");

  const auto infos = ready_made_specs(folder);
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_EQ(infos[0].about, "the first");
  EXPECT_EQ(infos[1].about, "(cannot be read)");
  EXPECT_EQ(load_spec("first", {}, folder).env, "cartpole");
  EXPECT_EQ(load_spec(folder + "/mine.spec.json", {}, folder).name, "mine.spec");

  const auto message = [&](const std::string& name, const std::string& from) -> std::string {
    try {
      load_spec(name, {}, from);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message("frist", folder),
            "frist: no such spec or file; did you mean first?\nready-made specs: first, second");
  EXPECT_EQ(message("none/second.yaml", folder),
            "none/second.yaml: no such spec or file; did you mean second?\nready-made specs: "
            "first, second");
  EXPECT_EQ(message("zzz", folder), "zzz: no such spec or file\nready-made specs: first, second");
  EXPECT_EQ(message("zzz", folder + "/none"),
            "zzz: no such spec or file, and no ready-made specs in " + folder + "/none");
  EXPECT_EQ(message(folder, folder), "cannot read " + folder + ": it is a folder");
  EXPECT_EQ(message("second", folder).substr(0, folder.size() + 30),
            folder + "/second.yaml:1: not valid YAML");
  std::filesystem::remove_all(folder);
}

// docs/specs.md has this build's table of keys.
TEST(Spec, TheReferenceIsUpToDate) {
  const std::string path = default_spec_folder() + "/../docs/specs.md";
  const FileContents contents = read_file(path);
  const std::string text(contents.text());
  const std::string begin = "<!-- keys: begin -->\n";
  const std::size_t from = text.find(begin);
  const std::size_t to = text.find("<!-- keys: end -->");
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  const std::string found = text.substr(from + begin.size(), to - from - begin.size());
  if (found != spec_reference()) {
    const std::string fresh = testing::TempDir() + "specs.md";
    write_file_atomically(fresh, text.substr(0, from) + begin + spec_reference() + text.substr(to));
    FAIL() << "docs/specs.md is stale; an up-to-date copy is " << fresh;
  }
}

TEST(Spec, EveryKeyIsExplained) {
  for (const Algorithm* algorithm : algorithms()) {
    TrainSpec spec;
    use_algorithm(spec, *algorithm);
    for (const Key& key : spec_keys(spec)) EXPECT_GT(key.about.size(), 8u) << key.path;
    EXPECT_GT(algorithm->about().size(), 8u) << algorithm->name();
  }
}

}  // namespace
}  // namespace hotloop
