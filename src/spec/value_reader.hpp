// Reads a YAML value into the field of its key and checks type and range. Every mistake is a
// UsageError that names the place, the key, what was found and what is allowed.
#pragma once

#include <string>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "spec/keys.hpp"

namespace hotloop {

// A value and where it was given.
struct Entry {
  YAML::Node node;
  std::string where;  // "x.yaml:7" or "--set algo.batch=64"
  bool is_override = false;
};

inline constexpr std::string_view kEnvOptions = "env.options";

[[noreturn]] void fail_at(std::string_view where, std::string_view path, std::string_view what);
std::string one_line(std::string text);     // for messages; shortened if too long
std::string found(const YAML::Node& node);  // describes the value, for "found ..." in messages

void set_field(const Key& key, const Entry& entry);

}  // namespace hotloop
