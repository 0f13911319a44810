// YAML from a file or the command line: its size is bounded before it is parsed.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>

namespace hotloop {

// Throws UsageError that begins with `where`, and with the line if `lines`.
YAML::Node parse_yaml(std::string_view text, const std::string& where, bool lines);
// The first document, whatever follows it. Takes half the time, because yaml-cpp cannot both build a
// document and say whether another one follows.
YAML::Node parse_first_yaml(std::string_view text, const std::string& where);

}  // namespace hotloop
