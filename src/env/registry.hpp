// Every world that was linked in or loaded, by name.
//
// Worlds register before main, in no particular order. A name that is taken twice makes every later
// question to the registry an error: which world it meant would depend on the order of linking.
#pragma once

#include <hotloop/env.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace hotloop {

class EnvRegistry {
 public:
  bool add(const EnvEntry& entry);  // false if the name is taken

  // Sorted by name. Throws UsageError if a name was added twice.
  const std::vector<EnvEntry>& entries() const;

  // Throws UsageError naming the nearest known name and all of them.
  const EnvEntry& find(std::string_view name) const;

 private:
  std::vector<EnvEntry> entries_;
  std::string taken_twice_;  // the first such name; empty if all is well
};

// The one that HOTLOOP_ENV fills.
const std::vector<EnvEntry>& registered_envs();
const EnvEntry& find_env(std::string_view name);

}  // namespace hotloop
