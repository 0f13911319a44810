#include "record/env_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>

#include <hotloop/error.hpp>

#include "env/registry.hpp"
#include "record/json_fields.hpp"

namespace hotloop {
namespace {

constexpr std::string_view kAbsent = "(not here)";
constexpr std::array<std::string_view, 8> kIntegerTypes = {
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"};  // of NumPy

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

// Lists in lists of integers, of equal lengths at each level: their lengths, and the integers.
struct Grid {
  std::vector<std::size_t> shape{};
  std::vector<std::int64_t> values{};
};

void read_grid(const JsonField& from, Grid& to, std::size_t level = 0) {
  if (from.json().is_array()) {
    const std::vector<JsonField> items = from.items();
    if (level == to.shape.size() && to.values.empty()) to.shape.push_back(items.size());
    if (level >= to.shape.size() || to.shape[level] != items.size()) {
      from.fail("expected lists of equal lengths");
    }
    for (const JsonField& item : items) read_grid(item, to, level + 1);
    return;
  }
  const Json& json = from.json();
  const bool is_integer = json.is_number_integer() &&
                          (!json.is_number_unsigned() || json.get<std::uint64_t>() <= INT64_MAX);
  if (level != to.shape.size() || !is_integer) from.fail("expected an integer");
  to.values.push_back(json.get<std::int64_t>());
}
Grid grid_in(const JsonField& from) {
  Grid grid;
  read_grid(from, grid);
  return grid;
}

// The product of extents that may be 0, if it is at most `most`.
std::int64_t product_in(const JsonField& from, int most) {
  std::int64_t size = 1;
  for (const JsonField& extent : from.items()) {
    size *= extent.integer_in(0, most);
    if (size > most) from.fail(fmt::format("expected at most {} numbers", most));
  }
  return size;
}

// The choices `n` and the first of each, `start`.
Grid choices_in(const JsonField& from) {
  Grid n = grid_in(from["n"]);
  if (grid_in(from["start"]).shape != n.shape) from["start"].fail("expected the shape of n");
  if (n.values.empty() || std::ranges::min(n.values) < 1) from["n"].fail("expected 1 or more");
  return n;
}

// The numbers that one part of an observation becomes (python/hotloop/_encoding.py).
std::int64_t encoded_size(const JsonField& part, int most) {
  std::string kind;
  part["kind"].read(kind);
  if (kind == "one_hot") {
    if (!grid_in(part["start"]).shape.empty()) part["start"].fail("expected an integer");
    return part["n"].integer_in(1, most);
  }
  if (kind == "one_hots") {
    const Grid n = choices_in(part);
    if (std::ranges::max(n.values) > most) part["n"].fail(fmt::format("expected up to {}", most));
    return std::reduce(n.values.begin(), n.values.end());
  }
  if (kind != "box") part["kind"].fail("expected box, one_hot or one_hots");
  bool channels_first = false;
  if (part.has("channels_first")) part["channels_first"].read(channels_first);
  if (channels_first && part["shape"].items().size() != 3) part["shape"].fail("expected 3 extents");
  if (float scale = 1; !part["scale"].json().is_null()) part["scale"].read(scale);
  return product_in(part["shape"], most);
}

// How observations and actions of a Python environment become numbers of the engine, and back.
void check_notes(const JsonField& notes, const EnvSpec& spec) {
  if (!notes.json().is_object()) notes.fail("expected an object");
  if (notes.has("observation")) {
    const std::vector<JsonField> parts = notes["observation"].items();
    std::int64_t size = 0;
    for (const JsonField& part : parts) {
      std::string key;
      if (parts.size() > 1 || part.has("key")) part["key"].read(key);
      size += encoded_size(part, spec.obs);
    }
    if (size != spec.obs) {
      notes["observation"].fail(fmt::format("expected {} numbers, found {}", spec.obs, size));
    }
  }
  if (notes.has("action_shape") && spec.action_size > 0 &&
      product_in(notes["action_shape"], spec.action_size) != spec.action_size) {
    notes["action_shape"].fail(fmt::format("expected {} numbers", spec.action_size));
  }
  if (notes.has("action_start") && !grid_in(notes["action_start"]).shape.empty()) {
    notes["action_start"].fail("expected an integer");
  }
  if (!notes.has("action_choices")) return;
  const JsonField choices = notes["action_choices"];
  std::int64_t combinations = 1;
  for (const std::int64_t n : choices_in(choices).values) {
    const std::int64_t most = spec.actions + 1;  // the product of two fits
    combinations = std::min(n, most) * std::min(combinations, most);
  }
  if (combinations != spec.actions) {
    choices["n"].fail(fmt::format("expected {} combinations", spec.actions));
  }
  std::string type;
  choices["dtype"].read(type);
  if (!std::ranges::count(kIntegerTypes, type))
    choices["dtype"].fail("expected a type of integers");
}

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
  std::int64_t values = 0;  // of all parts
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
    values += size;
  }
  if (n > 0 && values != spec.obs) {
    from["parts"].fail(fmt::format("expected {} numbers, found {}", spec.obs, values));
  }
  if (from.has("notes")) check_notes(from["notes"], spec);
  return facts;
}

// An environment that is here has the sizes that the file says it had.
void check_same(const EnvSpec& here, const Facts& facts, const std::string& file) {
  const auto check = [&](const char* what, int found, int expected) {
    if (found == expected) return;
    throw RunError(fmt::format("{}: field env.{}: expected {}, as {} has now, found {}", file, what,
                               expected, facts.name, found));
  };
  check("obs", facts.spec.obs, here.obs);
  check("actions", facts.spec.actions, here.actions);
  check("action_size", facts.spec.action_size, here.action_size);
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

void remember_env(const EnvChoice& env, const std::string& text, const std::string& file) {
  static std::mutex mutex;
  static std::deque<Facts> remembered;  // a deque, because registry entries point into it
  const std::lock_guard lock(mutex);
  Facts facts = read_facts(env.name, text, file);
  if (env_registry().look_up(env.name) != nullptr) {
    check_same(env_spec(env), facts, file);
    return;
  }
  Facts& kept = remembered.emplace_back(std::move(facts));
  kept.spec.name = kAbsent;
  const auto make = [&kept](int) { return std::make_unique<AbsentWorlds>(kept); };
  env_registry().put(env.name, {.spec = &kept.spec, .other_maker = make});
}

}  // namespace hotloop
