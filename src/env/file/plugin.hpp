// Worlds from shared libraries: the engine's side of <hotloop/plugin.h>.
//
// A library stays loaded until the program ends, so entries stay valid. A failed call throws a
// RunError that names the environment, the function and the row, with the plug-in's own message.
#pragma once

#include <hotloop/env.hpp>

#include <string>
#include <vector>

struct hotloop_plugin;

namespace hotloop {

// The worlds of a library, one entry each, which must be this user's own file (cache.hpp). `shown`
// is its name in messages. Throws UsageError if it is not a plug-in, is for another version, or has
// an invalid description of a world.
std::vector<EnvEntry> load_plugin(const std::string& path, const std::string& shown);

// The same for a table in memory, which must live as long as the entries.
std::vector<EnvEntry> plugin_entries(const hotloop_plugin* plugin, const std::string& shown);

}  // namespace hotloop
