// Worlds from shared libraries: the engine's side of <hotloop/plugin.h>.
//
// A library stays loaded until the program ends, so what entries refer to stays valid. A call that a
// world fails is a RunError that says which world, which function, which row, and what it said.
#pragma once

#include <hotloop/env.hpp>

#include <string>
#include <vector>

struct hotloop_plugin;

namespace hotloop {

// The worlds of a library, one entry each. `shown` names it in messages. Throws UsageError if it is no
// plug-in, one for another version, or what it says of its worlds makes no sense.
std::vector<EnvEntry> load_plugin(const std::string& path, const std::string& shown);

// The same for a table that is there already; it must live as long as the entries.
std::vector<EnvEntry> plugin_entries(const hotloop_plugin* plugin, const std::string& shown);

}  // namespace hotloop
