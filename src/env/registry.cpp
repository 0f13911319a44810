#include "env/registry.hpp"

#include <hotloop/error.hpp>

#include "core/text.hpp"

namespace hotloop {
namespace {

// Between the name of an isolated environment and its settings, in the registry's own keys.
constexpr const char* kIsolated = "\nisolated ";

bool is_python_env(std::string_view name) {
  return name.starts_with("gymnasium:") || name.starts_with("envpool:") ||
         name.starts_with("python:");
}

}  // namespace

bool EnvRegistry::add(const EnvEntry& entry) {
  const std::lock_guard lock(mutex_);
  const std::string name(entry.spec->name);
  if (by_name_.contains(name)) {
    if (duplicate_name_.empty()) duplicate_name_ = name;
    return false;
  }
  by_name_[name] = &entries_.emplace_back(entry);
  return true;
}

const EnvEntry& EnvRegistry::put(const std::string& name, const EnvEntry& entry) {
  const std::lock_guard lock(mutex_);
  return *(by_name_[name] = &entries_.emplace_back(entry));
}

void EnvRegistry::forget(std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(by_name_, [name](const auto& known) {
    return known.first == name || known.first.starts_with(std::string(name) + kIsolated);
  });
}

bool EnvRegistry::add_loader(const EnvLoader& loader) {
  loaders_.push_back(loader);
  return true;
}

const EnvLoader* EnvRegistry::loader_of(std::string_view name) const {
  for (const EnvLoader& loader : loaders_) {
    if (loader.recognises(name)) return &loader;
  }
  return nullptr;
}

void EnvRegistry::check_names() const {
  if (duplicate_name_.empty()) return;
  throw UsageError("two environments are both named \"" + duplicate_name_ +
                   "\"; rename one of them in its EnvSpec");
}

std::vector<EnvEntry> EnvRegistry::entries() const {
  const std::lock_guard lock(mutex_);
  check_names();
  std::vector<EnvEntry> all;
  for (const auto& [name, entry] : by_name_) {
    if (name == entry->spec->name) all.push_back(*entry);
  }
  return all;
}

const EnvEntry* EnvRegistry::look_up(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  check_names();
  const auto place = by_name_.find(name);
  return place == by_name_.end() ? nullptr : place->second;
}

std::string EnvRegistry::name_error(std::string_view name) const {
  if (look_up(name) != nullptr || is_python_env(name) || loader_of(name) != nullptr) return "";
  const std::lock_guard lock(mutex_);
  std::vector<std::string_view> names;
  for (const auto& [known, entry] : by_name_) names.push_back(known);
  return "unknown environment " + std::string(name) + "; " + suggestion(name, names);
}

const EnvEntry& EnvRegistry::find(std::string_view name) {
  if (const EnvEntry* entry = look_up(name)) return *entry;
  if (is_python_env(name)) {
    throw UsageError("env.name: " + std::string(name) +
                     " is a Python environment; use Python: hotloop.train(SPEC), "
                     "hotloop.train(ALGORITHM, env=...), hotloop.resume(RUN)");
  }
  if (const EnvLoader* loader = loader_of(name)) {
    return put(std::string(name), loader->load(std::string(name)));
  }
  throw UsageError("env.name: " + name_error(name));
}

const EnvEntry& EnvRegistry::find(const EnvChoice& env) {
  const auto& [name, options, isolation] = env;
  if (!isolation.on) return find(name);
  const EnvLoader* loader = loader_of(name);
  if (loader == nullptr || loader->isolate == nullptr) {
    const EnvEntry& entry = find(name);
    if (!entry.is_stepped_by_row()) return entry;  // it looks after itself
    throw UsageError("env.isolate: " + name +
                     " is part of hotloop; only environments from files can be isolated");
  }
  // If only the facts of a model are known, there is nothing to load.
  const EnvEntry* known = look_up(name);
  if (known != nullptr && !known->is_stepped_by_row()) return *known;
  const std::string key = name + kIsolated + std::to_string(isolation.timeout_seconds) + " " +
                          std::to_string(isolation.memory_gb);
  if (const EnvEntry* entry = look_up(key)) return *entry;
  return put(key, loader->isolate(name, isolation));
}

// A function-local static exists before the first environment registers, in any link order.
EnvRegistry& env_registry() {
  static EnvRegistry registry;
  return registry;
}

bool register_env(const EnvEntry& entry) { return env_registry().add(entry); }

}  // namespace hotloop
