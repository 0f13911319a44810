// The short form of overrides: env.NAME stands for env.options.NAME.
#include <algorithm>

#include "env/registry.hpp"
#include "spec/keys.hpp"
#include "spec/spec.hpp"

namespace hotloop {

std::vector<std::string_view> env_option_names(std::string_view env) {
  std::vector<std::string_view> names;
  for (const EnvEntry& entry : registered_envs()) {
    if (entry.spec->name != env) continue;
    for (const EnvOption& option : entry.options) names.push_back(option.name);
  }
  return names;
}

bool is_isolation_key(std::string_view text) {
  const std::string_view path = text.substr(0, text.find('='));
  return path == "env.isolate" || path == "env.timeout_seconds" || path == "env.memory_gb";
}

std::string full_override(const std::string& text, std::string_view env) {
  constexpr std::string_view kGroup = "env.";
  const std::size_t equals = text.find('=');
  if (!text.starts_with(kGroup) || equals == std::string::npos) return text;
  const std::string path = text.substr(0, equals);
  TrainSpec any;
  for (const Key& key : spec_keys(any)) {
    if (key.path == path) return text;
  }
  const std::vector<std::string_view> names = env_option_names(env);
  const bool is_option =
      std::find(names.begin(), names.end(), path.substr(kGroup.size())) != names.end();
  return is_option ? "env.options." + text.substr(kGroup.size()) : text;
}

}  // namespace hotloop
