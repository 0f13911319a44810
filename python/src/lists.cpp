// What there is: environments with their fact sheets, ready-made specs, algorithms; and a spec with all
// of its keys.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings.hpp"
#include "env/registry.hpp"
#include "run/spec.hpp"

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
  return {kAlgorithmNames.begin(), kAlgorithmNames.end()};
}

}  // namespace

void bind_lists(nb::module_& m) {
  m.def("envs", &list_envs, "Environments: name and description.");
  m.def("specs", &list_specs, "Ready-made specs: name and description.");
  m.def("algorithms", &list_algorithms, "Names of the algorithms.");
}

}  // namespace hotloop::python
