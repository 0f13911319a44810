#include "env/registry.hpp"

#include <hotloop/error.hpp>

#include <algorithm>

#include "core/text.hpp"

namespace hotloop {
namespace {

// Inside a function, so that it exists before the first world registers, whatever the link order.
EnvRegistry& global_registry() {
  static EnvRegistry registry;
  return registry;
}

bool comes_before(const EnvEntry& entry, std::string_view name) { return entry.spec->name < name; }

}  // namespace

bool EnvRegistry::add(const EnvEntry& entry) {
  const std::string_view name = entry.spec->name;
  const auto place = std::lower_bound(entries_.begin(), entries_.end(), name, comes_before);
  if (place != entries_.end() && place->spec->name == name) {
    if (taken_twice_.empty()) taken_twice_ = name;
    return false;
  }
  entries_.insert(place, entry);
  return true;
}

const std::vector<EnvEntry>& EnvRegistry::entries() const {
  if (!taken_twice_.empty()) {
    throw UsageError("two environments are both named \"" + taken_twice_ +
                     "\"; rename one of them in its EnvSpec");
  }
  return entries_;
}

const EnvEntry& EnvRegistry::find(std::string_view name) const {
  const std::vector<EnvEntry>& all = entries();
  const auto place = std::lower_bound(all.begin(), all.end(), name, comes_before);
  if (place != all.end() && place->spec->name == name) return *place;

  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const EnvEntry& entry : all) names.push_back(entry.spec->name);
  throw UsageError("env.name: unknown environment " + std::string(name) + "; " +
                   suggestion(name, names));
}

bool register_env(const EnvEntry& entry) { return global_registry().add(entry); }
const std::vector<EnvEntry>& registered_envs() { return global_registry().entries(); }
const EnvEntry& find_env(std::string_view name) { return global_registry().find(name); }

}  // namespace hotloop
