// Lists of environments, ready-made specs and algorithms, and the keys of specs.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "algo/common/algorithm.hpp"
#include "bindings.hpp"
#include "env/registry.hpp"
#include "spec/keys.hpp"
#include "spec/spec.hpp"

namespace hotloop::python {
namespace {

using Named = std::vector<std::pair<std::string, std::string>>;

Named list_envs() {
  Named list;
  for (const EnvEntry& entry : registered_envs()) {
    list.emplace_back(entry.spec->name, entry.spec->about);
  }
  return list;
}

Named list_specs() {
  Named list;
  for (const SpecInfo& info : ready_made_specs()) list.emplace_back(info.name, info.about);
  return list;
}

std::vector<std::string> list_algorithms() {
  const std::vector<std::string_view> names = algorithm_names();
  return {names.begin(), names.end()};
}

// The keys of all algorithms, with the meaning of a mapping as their value: branches, whose names
// the user chooses; a schedule, whose keys the spec defines; or nothing.
Named list_keys() {
  std::map<std::string, std::string> all;
  for (const Algorithm* algorithm : algorithms()) {
    TrainSpec spec;
    use_algorithm(spec, *algorithm);
    for (const Key& key : spec_keys(spec)) {
      const bool branches = std::holds_alternative<std::vector<Branch>*>(key.field);
      const bool schedule = std::holds_alternative<Schedule*>(key.field);
      all[std::string(key.path)] = branches ? "branches" : schedule ? "schedule" : "";
    }
  }
  return {all.begin(), all.end()};
}

bool has_key(const std::string& algorithm, const std::string& path) {
  const Algorithm* known = look_up_algorithm(algorithm);
  if (known == nullptr) return false;
  TrainSpec spec;
  use_algorithm(spec, *known);
  const Keys keys = spec_keys(spec);
  return std::any_of(keys.begin(), keys.end(), [&](const Key& key) { return key.path == path; });
}

}  // namespace

void bind_lists(nb::module_& m) {
  m.def("envs", &list_envs, "Environments: name and description.");
  m.def("specs", &list_specs, "Ready-made specs: name and description.");
  m.def("algorithms", &list_algorithms, "Names of the algorithms.");
  m.def("has_key", &has_key, "Whether the algorithm of this name has that key.");
  m.def("keys", &list_keys, "Keys of a spec, and the meaning of a mapping as their value.");
}

}  // namespace hotloop::python
