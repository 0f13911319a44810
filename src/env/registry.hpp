// Every environment that is known, by name.
//
// Built-in environments register before main, in no particular order. A name that is taken twice makes
// every later question to the registry an error: which one it meant would depend on the order of
// linking. Others are put in while the program runs: by a loader that recognises their name (files, see
// env/file), from another language, or as a stand-in for one that is not here. Entries never move and
// are never removed: what `find` returns stays valid.
#pragma once

#include <hotloop/worlds.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hotloop {

// Makes environments of names that it recognises, when they are first asked for.
struct EnvLoader {
  bool (*recognises)(std::string_view name) = nullptr;
  EnvEntry (*load)(const std::string& name) = nullptr;  // throws UsageError if that fails
};

class EnvRegistry {
 public:
  bool add(const EnvEntry& entry);  // false if the name is taken
  // Under another name than its spec's. An entry of that name is replaced, but stays valid for callers
  // that hold it.
  const EnvEntry& put(const std::string& name, const EnvEntry& entry);
  // The next `find` loads it again.
  void forget(std::string_view name);
  bool add_loader(const EnvLoader& loader);  // true

  // Sorted by name, without those that are registered under another name than their own. Throws
  // UsageError if a name was added twice.
  std::vector<EnvEntry> entries() const;

  const EnvEntry* look_up(std::string_view name) const;  // null if it is unknown
  // What is wrong with the name, with the nearest known one and all of them; empty if it is known, or
  // might be: a loader or Python recognises it.
  std::string name_error(std::string_view name) const;
  // Throws UsageError if there is none.
  const EnvEntry& find(std::string_view name);

 private:
  void check_names() const;
  const EnvLoader* loader_of(std::string_view name) const;  // null if no loader recognises it

  mutable std::mutex mutex_;
  std::deque<EnvEntry> entries_;
  std::map<std::string, const EnvEntry*, std::less<>> by_name_;
  std::vector<EnvLoader> loaders_;  // added before main
  std::string taken_twice_;         // the first such name; empty if all is well
};

EnvRegistry& env_registry();  // the one that HOTLOOP_ENV fills

inline std::vector<EnvEntry> registered_envs() { return env_registry().entries(); }
inline const EnvEntry& find_env(std::string_view name) { return env_registry().find(name); }

}  // namespace hotloop
