// A value of YAML into the field of its key: type and range are checked, and whatever is wrong is a
// UsageError naming the place, the key, what was found and what is allowed.
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
std::string shown(std::string text);  // for a message: one line, not too long
std::string found(const YAML::Node& node);

void set_field(const Key& key, const Entry& entry);

}  // namespace hotloop
