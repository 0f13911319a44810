// Every world that was linked in, by name.
#pragma once

#include <hotloop/env.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "env/batch_env.hpp"

namespace hotloop {

struct EnvEntry {
  const EnvSpec* spec;
  std::unique_ptr<WorldArray> (*make)(int count);
};

// Sorted by name.
const std::vector<EnvEntry>& registered_envs();
void register_env(EnvEntry entry);

// Throws UsageError naming the nearest known name.
const EnvEntry& find_env(std::string_view name);

}  // namespace hotloop
