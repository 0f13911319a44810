// Output formats of a profile: text, JSON, a trace, an HTML page.
#pragma once

#include <string>

#include "core/json.hpp"
#include "profile/profile.hpp"

namespace hotloop {

std::string profile_text(const Profile& profile);

// Everything except the trace. "phases" is a tree: groups with "children", each with its times.
Json profile_json(const Profile& profile);

// profile.visits in the trace format that chrome://tracing and Perfetto open.
std::string chrome_trace(const Profile& profile);

// One self-contained page: icicle chart of the phases, throughput over time, tables.
std::string profile_html(const Profile& profile);

}  // namespace hotloop
