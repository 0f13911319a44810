// What must hold for the keys of every registered algorithm.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "algo/common/algorithm.hpp"
#include "core/text.hpp"
#include "env/registry.hpp"
#include "spec/keys.hpp"
#include "tests/spec/spec_text.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

using Paths = std::vector<std::string>;

// An environment that the algorithm can be trained on.
std::string env_for(const Algorithm& algorithm) {
  return algorithm.facts().discrete ? "cartpole" : "pendulum";
}

// A spec with only an environment and an algorithm.
std::string bare(const Algorithm& algorithm) {
  return "env: {name: " + env_for(algorithm) + "}\nalgo: {name: " + std::string(algorithm.name()) +
         "}\n";
}

Paths paths_of(const Algorithm& algorithm) {
  TrainSpec spec;
  use_algorithm(spec, algorithm);
  Paths paths;
  for (const Key& key : spec_keys(spec)) paths.emplace_back(key.path);
  return paths;
}

// The keys and values of a written spec in order, parsed from its lines.
std::vector<std::pair<std::string, std::string>> lines_of(const std::string& yaml) {
  std::vector<std::pair<std::string, std::string>> lines;
  Paths open;  // headings above a line
  std::istringstream stream(yaml);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t indent = line.find_first_not_of(' '), colon = line.find(':');
    open.resize(indent / 2);
    const std::string name = line.substr(indent, colon - indent);
    if (colon + 1 == line.size()) {
      open.push_back(name + '.');
      continue;
    }
    std::string path;
    for (const std::string& group : open) path += group;
    lines.emplace_back(path + name, line.substr(colon + 2));
  }
  return lines;
}

class EveryRegistered : public testing::TestWithParam<std::string_view> {
 protected:
  const Algorithm& algorithm() const { return find_algorithm(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Algorithms, EveryRegistered, testing::ValuesIn(algorithm_names()),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EveryRegistered, AResolvedSpecHoldsTheKeysOfItsAlgorithmOnly) {
  const std::string text = to_yaml(read(bare(algorithm())));
  Paths written;
  for (const auto& [path, value] : lines_of(text)) written.push_back(path);
  EXPECT_EQ(written, paths_of(algorithm())) << text;
  EXPECT_EQ(std::set<std::string>(written.begin(), written.end()).size(), written.size());
  for (const Algorithm* other : algorithms()) {
    for (const std::string& path : paths_of(*other)) {
      const bool own = std::find(written.begin(), written.end(), path) != written.end();
      const std::string owners = ", " + algorithms_with(path) + ",";
      EXPECT_EQ(owners.find(", " + std::string(algorithm().name()) + ",") != std::string::npos, own)
          << path << " belongs to" << owners;
    }
  }
}

TEST_P(EveryRegistered, AResolvedSpecReadsBackToTheSameText) {
  const std::string text = to_yaml(read(bare(algorithm())));
  EXPECT_EQ(to_yaml(read(text)), text);
}

// Resolved or not, the defaults are consistent with each other.
TEST_P(EveryRegistered, DefaultsCanBeTrained) {
  TrainSpec spec = read(bare(algorithm()));
  EXPECT_EQ(spec.algorithm, &algorithm());
  for (const Violation& violation : spec_violations(spec)) {
    ADD_FAILURE() << violation.path << ": " << violation.text;
  }
  EXPECT_NO_THROW(check_feasible(spec));
  if (algorithm().facts().continuous) {
    spec = read(bare(algorithm()), {"env.name=pendulum"});
    EXPECT_NO_THROW(check_feasible(spec));
  }
}

// Each key is set to its default. Keys that have an effect are accepted and change nothing; keys
// without effect are refused with the reason that the key states.
TEST_P(EveryRegistered, DefaultsMayBeGivenUnlessTheyHaveNoEffect) {
  TrainSpec spec = read(bare(algorithm()));
  const std::string text = to_yaml(spec);
  std::map<std::string, std::string> idle;
  for (const Key& key : spec_keys(spec)) {
    if (!key.idle_reason().empty()) idle[std::string(key.path)] = key.idle_reason();
  }
  for (const auto& [path, value] : lines_of(text)) {
    const std::string given = path + "=" + value;
    const std::string found = complaint(bare(algorithm()), {given});
    if (idle.contains(path)) {
      // The message names a part of a schedule.
      EXPECT_NE(found.find(": " + path), std::string::npos) << found;
      EXPECT_TRUE(found.ends_with(": has no effect: " + idle[path])) << found;
      // A file may have it, so that a switch can be turned off without other edits.
      EXPECT_EQ(to_yaml(read(text)), text) << path;
    } else {
      EXPECT_EQ(found, "accepted") << given;
      if (found == "accepted") {
        EXPECT_EQ(to_yaml(read(bare(algorithm()), {given})), text) << given;
      }
    }
  }
}

// The shortest prefix of a path that is neither a key nor a group of these keys.
std::string first_unknown(const Paths& known, const std::string& path) {
  for (std::size_t dot = 0; dot != std::string::npos;) {
    dot = path.find('.', dot + 1);
    const std::string part = path.substr(0, dot);
    const bool has = std::any_of(known.begin(), known.end(), [&](const std::string& key) {
      return key == part || key.starts_with(part + '.');
    });
    if (!has) return part;
  }
  return "";
}

// "a.b.c" as "a: {b: {c: 1}}"; the group algo also has its name.
std::string nested(const Algorithm& algorithm, const std::string& path) {
  std::string text, closing;
  std::size_t begin = 0;
  for (std::size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1) {
    text += path.substr(begin, dot - begin) + ": {";
    if (text == "algo: {") text += "name: " + std::string(algorithm.name()) + ", ";
    closing += '}';
  }
  text += path.substr(begin) + ": 1" + closing;
  if (!path.starts_with("algo.")) {
    text += "\nalgo: {name: " + std::string(algorithm.name()) + "}";
  }
  return "env: {name: " + env_for(algorithm) + "}\n" + text;
}

TEST_P(EveryRegistered, KeysOfOthersAreRefusedByName) {
  const Paths own = paths_of(algorithm());
  std::map<std::string, std::set<std::string>> foreign;  // by path, the algorithms that have it
  for (const Algorithm* other : algorithms()) {
    for (const std::string& path : paths_of(*other)) {
      const std::string unknown = first_unknown(own, path);
      if (unknown.empty()) continue;
      foreign[path];
      foreign[unknown].emplace(other->name());
    }
  }
  EXPECT_FALSE(foreign.empty());
  for (const auto& [path, names] : foreign) {
    if (path.find('.') == std::string::npos) continue;  // a group
    const std::string unknown = first_unknown(own, path);
    std::string owners;
    for (const std::string& name : foreign.at(unknown)) {
      owners += (owners.empty() ? "" : ", ") + name;
    }
    const std::string wanted = unknown + ": belongs to algo.name: " + owners + "; algo.name is " +
                               std::string(algorithm().name()) + " here";
    const std::string set = "--set " + path + "=1: " + wanted;
    EXPECT_TRUE(complaint(bare(algorithm()), {path + "=1"}).starts_with(set))
        << complaint(bare(algorithm()), {path + "=1"}) << "\ninstead of " << set;
    EXPECT_TRUE(complaint(nested(algorithm(), path)).starts_with("2: " + wanted))
        << complaint(nested(algorithm(), path)) << "\ninstead of 2: " << wanted;
  }
}

// The same for a few of them, with the full message.
TEST(AlgorithmKeys, RefusalsSayWhy) {
  const auto refused = [](const std::string& algorithm, const std::string& override) {
    const std::string text =
        complaint("env: {name: cartpole}", {"algo.name=" + algorithm, override});
    const std::string start = "--set " + override + ": ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  EXPECT_EQ(refused("ppo", "replay.capacity=5000"),
            "replay: belongs to algo.name: ddpg, dqn, sac, td3; algo.name is ppo here");
  EXPECT_EQ(refused("ppo", "algo.target.every=5"),
            "algo.target: belongs to algo.name: ddpg, dqn, sac, td3; algo.name is ppo here");
  EXPECT_EQ(refused("ppo", "algo.epsilon.to=0.1"),
            "algo.epsilon: belongs to algo.name: dqn, pqn, sarsa; algo.name is ppo here");
  EXPECT_EQ(refused("dqn", "algo.n_epochs=8"),
            "algo.n_epochs: belongs to algo.name: ppo, pqn, sarsa; algo.name is dqn here");
  EXPECT_EQ(refused("dqn", "algo.lambda=0.5"),
            "algo.lambda: belongs to algo.name: pqn, sarsa; algo.name is dqn here");
  EXPECT_EQ(refused("dqn", "net.policy_gain=1"),
            "net.policy_gain: belongs to algo.name: ppo; algo.name is dqn here");
  EXPECT_EQ(refused("ppo", "algo.lambda=0.5"),
            "algo.lambda: belongs to algo.name: pqn, sarsa; algo.name is ppo here; did you mean "
            "algo.gae_lambda?");
  EXPECT_EQ(refused("pqn", "algo.gae_lambda=0.5"),
            "algo.gae_lambda: belongs to algo.name: ppo; algo.name is pqn here; did you mean "
            "algo.lambda?");
  // A file has a line for it.
  EXPECT_EQ(second_line("algo: {n_epochs: 8}"),
            "2: algo.n_epochs: belongs to algo.name: ppo, pqn, sarsa; algo.name is dqn here");
  EXPECT_EQ(second_line("algo: {name: ppo, batch: 64}\nreplay:\n  capacity: 5000"),
            "3: replay: belongs to algo.name: ddpg, dqn, sac, td3; algo.name is ppo here");
}

// However the algorithm is named, the last one counts, with its defaults and its keys.
TEST(AlgorithmKeys, TheAlgorithmNamedLastCounts) {
  const std::string cartpole = "env: {name: cartpole}\n";
  const auto name = [](const TrainSpec& spec) { return std::string(spec.algorithm->name()); };
  EXPECT_EQ(name(read(cartpole)), default_algorithm().name());
  EXPECT_EQ(name(read(cartpole + "algo: {name: ppo}")), "ppo");
  EXPECT_EQ(name(read(cartpole + "algo: {name: ppo}", {"algo.name=sarsa"})), "sarsa");
  EXPECT_EQ(name(read(cartpole, {"algo.name=sarsa", "algo.name=pqn"})), "pqn");
  const TrainSpec group = read(cartpole, {"algo={name: ppo, n_steps: 64}"});
  EXPECT_EQ(to_yaml(group), to_yaml(read(cartpole + "algo: {name: ppo, n_steps: 64}")));
  EXPECT_EQ(name(read(cartpole, {"algo={name: ppo}", "algo.name=dqn"})), "dqn");
  EXPECT_EQ(name(read(cartpole, {"algo.name=dqn", "algo={name: ppo}"})), "ppo");
  EXPECT_EQ(to_yaml(read(cartpole, {"algo.name=ppo"})),
            to_yaml(read(cartpole + "algo: {name: ppo}")));
  EXPECT_TRUE(second_line("algo: {name: dqm}")
                  .starts_with("2: algo.name: \"dqm\" is unknown; did you mean dqn? (allowed: "));
  EXPECT_TRUE(complaint(cartpole, {"algo.name=pop"})
                  .starts_with("--set algo.name=pop: algo.name: \"pop\" is unknown; "));
  EXPECT_TRUE(second_line("algo: {name: [ppo]}").starts_with("2: algo.name: expected one of "));
}

// docs/specs.md says which algorithms have a key, and which defaults differ.
TEST(AlgorithmKeys, TheReferenceNamesTheirAlgorithms) {
  const std::string table = spec_reference();
  EXPECT_TRUE(table.starts_with("| key | algorithms | type | default | allowed | meaning |\n"))
      << table;
  for (const char* row :
       {"| `algo.name` | all | word | `dqn` |", "| `env.count` | all | integer | `1` |",
        "| `algo.target.tau` | ddpg, dqn, sac, td3 | number | `0.005`, dqn `1` |",
        "| `algo.n_steps` | ppo, pqn, sarsa | integer | `32`, ppo `128` |",
        "| `algo.lambda` | pqn, sarsa | number |", "| `algo.gae_lambda` | ppo | number | `0.95` |",
        "| `net.activation` | all | word | `relu`, ppo `tanh` |",
        "| `net.layer_norm` | all | true or false | `false`, pqn `true` |"}) {
    EXPECT_NE(table.find(row), std::string::npos) << row;
  }
  for (const Algorithm* algorithm : algorithms()) {
    for (const std::string& path : paths_of(*algorithm)) {
      const std::string start = "\n| `" + path + "` | ";
      const std::size_t at = table.find(start);
      ASSERT_NE(at, std::string::npos) << path;
      EXPECT_EQ(table.find(start, at + 1), std::string::npos) << path << " has two rows";
      const std::size_t from = at + start.size();
      const std::string owners = table.substr(from, table.find(" |", from) - from);
      const std::vector<std::string_view> all = algorithm_names();
      EXPECT_EQ(owners == "all" ? join(all) : owners, algorithms_with(path)) << path;
    }
  }
}

}  // namespace
}  // namespace hotloop
