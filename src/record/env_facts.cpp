#include "record/env_facts.hpp"

#include <fmt/format.h>

#include <deque>
#include <limits>
#include <mutex>

#include <hotloop/error.hpp>

#include "env/registry.hpp"
#include "record/json_fields.hpp"

namespace hotloop {
namespace {

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

Facts read_facts(const std::string& name, const std::string& text, const std::string& file) {
  const Json json = parse_json(text, file + ": env");
  const JsonField from(json, file, "env");
  Facts facts{.name = name, .part_names = {}, .spec = {}};
  EnvSpec& spec = facts.spec;
  constexpr int kMaxSize = 1 << 24;  // as for plug-ins
  spec.obs = from["obs"].integer_in(1, kMaxSize);
  spec.actions = from["actions"].integer_in(0, kMaxSize);
  spec.action_size = from["action_size"].integer_in(0, kMaxActionSize);
  if ((spec.actions > 0) == (spec.action_size > 0)) {
    from["actions"].fail("expected either discrete or continuous actions");
  }
  spec.max_steps = from["max_steps"].integer_in(0, std::numeric_limits<int>::max());
  from["mask"].read(facts.has_mask);
  if (from.has("solved_return")) from["solved_return"].read(spec.solved_return);
  for (const auto& [key, to] :
       {std::pair{"action_low", &spec.action_low}, {"action_high", &spec.action_high}}) {
    const std::vector<JsonField> bounds = from[key].items();
    if (static_cast<int>(bounds.size()) != spec.action_size) {
      from[key].fail(fmt::format("expected {} bounds, one per action value", spec.action_size));
    }
    for (int i = 0; i < spec.action_size; ++i) bounds[i].read((*to)[i]);
  }
  std::size_t n = 0;
  for (const JsonField& part : from["parts"].items()) {
    if (n == spec.parts.size()) part.fail(fmt::format("expected at most {} parts", n));
    std::string& part_name = facts.part_names.emplace_back();
    part["name"].read(part_name);
    ObsPart& read = spec.parts[n++];
    read.name = part_name;
    part["shape"].read(read.shape);
    std::int64_t size = 1;  // an extent of 0 is not used
    for (const int extent : read.shape) {
      size *= std::max(1, extent);
      if (size > spec.obs) part["shape"].fail(fmt::format("expected at most {} numbers", spec.obs));
    }
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

void remember_env(const std::string& name, const std::string& facts, const std::string& file) {
  static std::mutex mutex;
  static std::deque<Facts> remembered;  // a deque, because registry entries point into it
  const std::lock_guard lock(mutex);
  if (env_registry().look_up(name) != nullptr) return;
  remembered.push_back(read_facts(name, facts, file));
  Facts& kept = remembered.back();
  kept.spec.name = kAbsent;
  const auto make = [&kept](int) { return std::make_unique<AbsentWorlds>(kept); };
  env_registry().put(name, {.spec = &kept.spec, .other_maker = make});
}

}  // namespace hotloop
