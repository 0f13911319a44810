// Every world that is known, by name.
//
// Built-in worlds register before main, in no particular order. A name that is taken twice makes every
// later question to the registry an error: which world it meant would depend on the order of linking.
// Others are put in while the program runs: from a file, from another language, or a stand-in for one
// that is not here. A name that ends in .cpp or .so is such a file (world_file.hpp) and is loaded when it
// is first asked for. Entries never move and never go away: what `find` returns stays valid.
#pragma once

#include <hotloop/env.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hotloop {

class EnvRegistry {
 public:
  bool add(const EnvEntry& entry);  // false if the name is taken
  // Under another name than its spec's, perhaps in place of an entry, which those who have it keep.
  const EnvEntry& put(const std::string& name, const EnvEntry& entry);
  // The next to ask for it gets what is then there.
  void forget(std::string_view name);

  // Sorted by name, without those that stand under another name than their own. Throws UsageError if a
  // name was added twice.
  std::vector<EnvEntry> entries() const;

  const EnvEntry* look_up(std::string_view name) const;  // null if it is unknown
  // What is wrong with the name, with the nearest known one and all of them; empty if it is known,
  // or is a file's or Python's, of which only opening it can tell.
  std::string name_error(std::string_view name) const;
  // Throws UsageError if there is none.
  const EnvEntry& find(std::string_view name);

 private:
  void check_names() const;

  mutable std::mutex mutex_;
  std::deque<EnvEntry> entries_;
  std::map<std::string, const EnvEntry*, std::less<>> by_name_;
  std::string taken_twice_;  // the first such name; empty if all is well
};

EnvRegistry& env_registry();  // the one that HOTLOOP_ENV fills

inline std::vector<EnvEntry> registered_envs() { return env_registry().entries(); }
inline const EnvEntry& find_env(std::string_view name) { return env_registry().find(name); }

}  // namespace hotloop
