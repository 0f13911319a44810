#include "algo/common/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <hotloop/error.hpp>

#include "core/text.hpp"

namespace hotloop {
namespace {

using List = std::vector<std::unique_ptr<Algorithm>>;

List& list() {
  static List all;  // constructed on first use, before main()
  return all;
}

const Algorithm& best_of(const std::vector<const Algorithm*>& all) {
  return **std::max_element(all.begin(), all.end(), [](const auto* a, const auto* b) {
    return a->facts().default_rank < b->facts().default_rank;
  });
}

}  // namespace

std::string Algorithm::advice(Sign, const AgentSpec&) const {
  return "a smaller optimiser.learning_rate";
}

void add_algorithm(std::unique_ptr<Algorithm> algorithm) {
  List& all = list();
  const auto place = std::find_if(
      all.begin(), all.end(), [&](const auto& other) { return algorithm->name() < other->name(); });
  all.insert(place, std::move(algorithm));
}

std::vector<const Algorithm*> algorithms() {
  std::vector<const Algorithm*> all;
  for (const auto& algorithm : list()) all.push_back(algorithm.get());
  return all;
}

std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  for (const Algorithm* algorithm : algorithms()) names.push_back(algorithm->name());
  return names;
}

const Algorithm* look_up_algorithm(std::string_view name) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->name() == name) return algorithm;
  }
  return nullptr;
}

const Algorithm& find_algorithm(std::string_view name) {
  if (const Algorithm* algorithm = look_up_algorithm(name)) return *algorithm;
  throw UsageError(
      fmt::format("algorithm {}: unknown; {}", name, suggestion(name, algorithm_names())));
}

const Algorithm& default_algorithm() { return best_of(algorithms()); }

const Algorithm& default_algorithm(const EnvSpec& env) {
  std::vector<const Algorithm*> suitable = algorithms();
  std::erase_if(suitable, [&](const Algorithm* algorithm) {
    return env.actions > 0 ? !algorithm->facts().discrete : !algorithm->facts().continuous;
  });
  return best_of(suitable);
}

void use_algorithm(AgentSpec& spec, const Algorithm& algorithm) {
  spec.algorithm = &algorithm;
  spec.learn = {};
  spec.net = {};
  spec.optimiser = {};
  algorithm.set_defaults(spec);
}

}  // namespace hotloop
