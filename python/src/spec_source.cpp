#include "spec_source.hpp"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "env/file/trust.hpp"
#include "record/env_facts.hpp"
#include "record/transitions/transition_file.hpp"
#include "session/demonstrations.hpp"
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

std::pair<std::string, std::string> env_of(const SpecRequest& request) {
  const nb::gil_scoped_release unlocked;
  const TrainSpec spec = read_spec(request);
  return {spec.env, env_facts(*make_worlds(spec.world(), 1))};
}

std::pair<std::string, std::optional<double>> env_and_timeout(const TrainSpec& spec) {
  if (!spec.isolation.on) return {spec.env, std::nullopt};
  return {spec.env, spec.isolation.timeout_seconds};
}

template <class T>
std::vector<T> vector_of(const AnyArray& array, const char* name) {
  if (array.dtype() != nb::dtype<T>()) {
    throw UsageError(fmt::format("demonstrations: {} are of type {}", name, type_text(array)));
  }
  const std::span<const T> values = values_of<T>(array);
  return {values.begin(), values.end()};
}

// The arrays are those of Demonstrations. Their sizes are checked here, their values by
// save_transitions() and check_transitions().
void write_transitions(const std::string& path, const SpecRequest& request, const AnyArray& obs,
                       const AnyArray& actions, const AnyArray& rewards, const AnyArray& terminated,
                       const AnyArray& truncated, const AnyArray& final_obs) {
  const WorldFacts world = [&] {
    const nb::gil_scoped_release unlocked;
    return world_facts(read_spec(request).world());
  }();
  if (world.masks) {
    throw UsageError(fmt::format(
        "demonstrations: {} has action masks, and a data set has none; record them with hotloop",
        world.spec.name));
  }
  TransitionFile file{.env = recorded_name(read_spec(request).env), .transitions = {}};
  Demonstrations& t = file.transitions;
  t.kind = transition_kind(world.spec, false);
  t.obs = vector_of<float>(obs, "observations");
  if (t.kind.action_size > 0) {
    t.continuous_actions = vector_of<float>(actions, "actions");
  } else {
    t.actions = vector_of<std::int32_t>(actions, "actions");
  }
  t.rewards = vector_of<float>(rewards, "rewards");
  t.terminated = vector_of<std::uint8_t>(terminated, "terminations");
  t.truncated = vector_of<std::uint8_t>(truncated, "truncations");
  t.final_obs = vector_of<float>(final_obs, "final observations");
  const auto check = [&](const auto& values, std::int64_t size, const char* name) {
    if (std::ssize(values) == size) return;
    throw UsageError(fmt::format("demonstrations: {} {}; expected {}", values.size(), name, size));
  };
  check(t.obs, t.size() * t.kind.obs, "observed numbers");
  check(t.actions, t.kind.action_size > 0 ? 0 : t.size(), "actions");
  check(t.continuous_actions, t.size() * t.kind.action_size, "action values");
  check(t.terminated, t.size(), "terminations");
  check(t.truncated, t.size(), "truncations");
  check(t.final_obs, t.episodes() * t.kind.obs, "final numbers");
  try {
    check_transitions(t, "demonstrations");
    save_transitions(path, file);
  } catch (const RunError& error) {
    throw UsageError(error.what());
  }
}

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
  read_demonstrations(spec);
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
          "spec"_a, "text"_a.none(), "env"_a.none(), "overrides"_a)
      .def(
          "add",
          [](SpecRequest& self, std::string text) { self.overrides.push_back(std::move(text)); },
          "override"_a);
  m.def("env_of", &env_of, "request"_a, "The environment of a spec, and its facts as JSON.");
  m.def("write_transitions", &write_transitions, "path"_a, "request"_a, "obs"_a, "actions"_a,
        "rewards"_a, "terminated"_a, "truncated"_a, "final_obs"_a,
        "Writes transitions of the environment of a spec.");
  m.def(
      "resolve", [](const SpecRequest& request) { return to_yaml(read_spec(request)); },
      "request"_a, "A spec as YAML with every key.");
  m.def(
      "spec_env", [](const SpecRequest& request) { return env_and_timeout(read_spec(request)); },
      "request"_a,
      "The environment of a spec, and the seconds that a call may take if it is isolated, or "
      "None.");
  m.def(
      "run_env",
      [](const std::string& folder) { return env_and_timeout(load_run_spec(folder, {})); },
      "folder"_a, "The same of the run in a folder.");
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
