// All known environments, by name.
//
// Built-in environments register before main, in no particular order. After a name is registered
// twice, every later look-up is an error, because the result would depend on the link order. Other
// environments are added at run time: by a loader that recognises their name (files, see env/file),
// from another language, or as a stand-in for one that is not available. Entries never move and are
// never removed: what `find` returns stays valid.
#pragma once

#include <hotloop/worlds.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "env/options.hpp"

namespace hotloop {

// Loads environments whose names it recognises, on first use.
struct EnvLoader {
  bool (*recognises)(std::string_view name) = nullptr;
  // Both throw UsageError if that fails. The second one loads it into another process.
  EnvEntry (*load)(const std::string& name) = nullptr;
  EnvEntry (*isolate)(const std::string& name, const Isolation& isolation) = nullptr;
};

class EnvRegistry {
 public:
  bool add(const EnvEntry& entry);  // false if the name is taken
  // Registers under a name that may differ from the spec's. Replaces an entry of that name, which
  // stays valid for callers that hold it.
  const EnvEntry& put(const std::string& name, const EnvEntry& entry);
  // The next `find` loads it again.
  void forget(std::string_view name);
  bool add_loader(const EnvLoader& loader);  // true

  // Sorted by name, without entries registered under a name other than their spec's. Throws
  // UsageError if a name was added twice.
  std::vector<EnvEntry> entries() const;

  const EnvEntry* look_up(std::string_view name) const;  // null if unknown
  // An error message for an unknown name, with the nearest name and all known names; empty if the
  // name is known or if a loader or Python recognises it.
  std::string name_error(std::string_view name) const;
  // Throws UsageError if there is no such environment.
  const EnvEntry& find(std::string_view name);
  // In its own process, if the choice says so. Only environments with a loader can be isolated.
  const EnvEntry& find(const EnvChoice& env);

 private:
  void check_names() const;
  const EnvLoader* loader_of(std::string_view name) const;  // null if no loader recognises it

  mutable std::mutex mutex_;
  std::deque<EnvEntry> entries_;
  std::map<std::string, const EnvEntry*, std::less<>> by_name_;
  std::vector<EnvLoader> loaders_;  // added before main
  std::string duplicate_name_;      // the first duplicate name; empty if there is none
};

EnvRegistry& env_registry();  // the one that HOTLOOP_ENV fills

inline std::vector<EnvEntry> registered_envs() { return env_registry().entries(); }
inline const EnvEntry& find_env(std::string_view name) { return env_registry().find(name); }
inline const EnvEntry& find_env(const EnvChoice& env) { return env_registry().find(env); }

}  // namespace hotloop
