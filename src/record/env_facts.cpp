#include "record/env_facts.hpp"

#include <fmt/format.h>

#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "env/registry.hpp"

namespace hotloop {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kAbsent = "(not here)";

// Owns the strings that its spec refers to.
struct Facts {
  std::string name;
  std::deque<std::string> part_names;
  EnvSpec spec;
  bool has_mask = false;
};

// An environment that is not available: its facts are known, but it cannot be stepped.
class AbsentWorlds final : public Worlds {
 public:
  explicit AbsentWorlds(const Facts& facts) : facts_(facts) {}
  const EnvSpec& spec() const override { return facts_.spec; }
  bool has_mask() const override { return facts_.has_mask; }
  [[noreturn]] Stepping stepping() override {
    throw UsageError(
        fmt::format("env.name: {} is not available. Its model file describes it well enough to "
                    "query the model, but not to play. Play a Python environment from Python; an "
                    "environment in a file needs that file",
                    facts_.name));
  }

 private:
  const Facts& facts_;
};

Facts read_facts(const std::string& name, const std::string& text) {
  Facts facts{.name = name, .part_names = {}, .spec = {}};
  const Json json = Json::parse(text);
  EnvSpec& spec = facts.spec;
  spec.obs = json.at("obs");
  spec.actions = json.at("actions");
  spec.action_size = json.at("action_size");
  if (spec.action_size < 0 || spec.action_size > kMaxActionSize) {
    throw RunError(
        fmt::format("action_size is {}; allowed: 0 to {}", spec.action_size, kMaxActionSize));
  }
  spec.max_steps = json.at("max_steps");
  facts.has_mask = json.at("mask");
  if (json.contains("solved_return")) spec.solved_return = json["solved_return"];
  for (int i = 0; i < spec.action_size; ++i) {
    spec.action_low.at(i) = json.at("action_low").at(i);
    spec.action_high.at(i) = json.at("action_high").at(i);
  }
  std::size_t n = 0;
  for (const Json& part : json.at("parts")) {
    spec.parts.at(n++) = {facts.part_names.emplace_back(part.at("name")), part.at("shape")};
  }
  return facts;
}

}  // namespace

std::string env_facts(const Worlds& worlds) {
  const EnvSpec& spec = worlds.spec();
  Json json = {{"obs", spec.obs},
               {"actions", spec.actions},
               {"action_size", spec.action_size},
               {"max_steps", spec.max_steps},
               {"mask", worlds.has_mask()},
               {"action_low", Json::array()},
               {"action_high", Json::array()},
               {"parts", Json::array()}};
  if (!std::isnan(spec.solved_return)) json["solved_return"] = spec.solved_return;
  for (int i = 0; i < spec.action_size; ++i) {
    json["action_low"].push_back(spec.action_low[i]);
    json["action_high"].push_back(spec.action_high[i]);
  }
  for (const ObsPart& part : spec.parts) {
    if (part.name.empty()) break;
    json["parts"].push_back({{"name", std::string(part.name)}, {"shape", part.shape}});
  }
  if (const std::string notes = worlds.notes(); !notes.empty()) {
    json["notes"] = Json::parse(notes);
  }
  return json.dump();
}

bool can_play(const std::string& name) {
  const EnvEntry* entry = env_registry().look_up(name);
  return entry != nullptr && entry->spec->name != kAbsent;
}

void remember_env(const std::string& name, const std::string& facts) {
  static std::mutex mutex;
  static std::deque<Facts> remembered;  // a deque, because registry entries point into it
  const std::lock_guard lock(mutex);
  if (env_registry().look_up(name) != nullptr) return;
  try {
    remembered.push_back(read_facts(name, facts));
  } catch (const std::exception& error) {
    throw RunError(fmt::format("the model's facts about {} are invalid: {}", name, error.what()));
  }
  Facts& kept = remembered.back();
  kept.spec.name = kAbsent;
  const auto make = [&kept](int) { return std::make_unique<AbsentWorlds>(kept); };
  env_registry().put(name, {.spec = &kept.spec, .other_maker = make});
}

}  // namespace hotloop
