#include "spec_source.hpp"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "bindings.hpp"
#include "env/file/trust.hpp"
#include "record/env_facts.hpp"
#include "session/session.hpp"
#include "train/feasible.hpp"

namespace hotloop::python {

namespace {

// `with TrustAll(on):` on the calling thread.
struct TrustBlock {
  explicit TrustBlock(bool on) : is_on(on) {}
  bool is_on;
  std::optional<TrustAll> all;
};

}  // namespace

TrainSpec read_spec(const SpecRequest& request) {
  const Algorithm* algorithm = request.text ? nullptr : look_up_algorithm(request.spec);
  if (algorithm != nullptr && request.env) {
    return load_world_spec(*request.env, algorithm, request.overrides);
  }
  if (algorithm != nullptr) {
    throw UsageError(
        fmt::format("spec: {} is an algorithm and needs an environment: env= one of "
                    "hotloop.envs(), a .cpp file, a Gymnasium id, or a function that makes one",
                    request.spec));
  }
  std::vector<std::string> overrides;
  if (request.env) overrides.push_back("env.name=" + nlohmann::json(*request.env).dump());
  overrides.insert(overrides.end(), request.overrides.begin(), request.overrides.end());
  return request.text ? load_spec_text(*request.text, request.spec, overrides)
                      : load_spec(request.spec, overrides);
}

TrainSpec feasible_spec(const SpecRequest& request) {
  const nb::gil_scoped_release unlocked;
  TrainSpec spec = read_spec(request);
  check_feasible(spec);
  return spec;
}

void bind_spec(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<SpecRequest>(m, "SpecRequest", "A request for a spec.")
      .def(
          "__init__",
          [](SpecRequest* self, std::string spec, std::optional<std::string> text,
             std::optional<std::string> env, std::vector<std::string> overrides) {
            new (self)
                SpecRequest{std::move(spec), std::move(text), std::move(env), std::move(overrides)};
          },
          "spec"_a, "text"_a.none(), "env"_a.none(), "overrides"_a);
  m.def(
      "resolve", [](const SpecRequest& request) { return to_yaml(read_spec(request)); },
      "request"_a, "A spec as YAML with every key.");
  m.def(
      "run_env", [](const std::string& folder) { return load_run_spec(folder, {}).env; },
      "folder"_a, "The environment of the run in a folder.");
  nb::class_<TrustBlock>(m, "TrustAll", "A block that trusts all code, or not.")
      .def(nb::init<bool>(), "is_on"_a)
      .def("__enter__", [](TrustBlock& block) { block.all.emplace(block.is_on); })
      .def("__exit__", [](TrustBlock& block, const nb::args&) { block.all.reset(); });
  m.def("trust_named", &trust_named, "word"_a, "The user named this file: its code may run.");
  m.def(
      "trust_module", [](const std::string& name) { trust(python_module(name)); }, "name"_a,
      "The user named this Python module: it may be imported.");
  m.def(
      "require_module",
      [](const std::string& name) {
        const nb::gil_scoped_release unlocked;  // it may ask
        const TrustedCode module(python_module(name));
      },
      "name"_a, "Raises UsageError unless this Python module may be imported.");
  m.def("can_play", &can_play, "name"_a, "Whether the engine has this environment.");
}

}  // namespace hotloop::python
