// Profiles and diagnoses, with the interpreter lock released.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "bindings.hpp"
#include "core/file.hpp"
#include "core/stop_signal.hpp"
#include "doctor/doctor.hpp"
#include "profile/report.hpp"
#include "spec_source.hpp"

namespace hotloop::python {
namespace {

using Texts = std::tuple<std::string, std::string>;  // for people, as JSON

Texts profile(const SpecRequest& request, double seconds, const std::string& html,
              const std::string& trace, bool listen) {
  const TrainSpec spec = feasible_spec(request);
  check_folder_of(html);
  check_folder_of(trace);
  const nb::gil_scoped_release unlocked;
  std::optional<StopSignal> signal;
  if (listen) signal.emplace();
  constexpr std::size_t kTraceVisits = 100'000;
  const Profile taken = take_profile(spec, {.seconds = seconds,
                                            .trace = trace.empty() ? 0 : kTraceVisits,
                                            .stop = listen ? &signal->requested() : nullptr});
  if (!html.empty()) write_file_atomically(html, profile_html(taken));
  if (!trace.empty()) write_file_atomically(trace, chrome_trace(taken));
  return {profile_text(taken), profile_json(taken).dump()};
}

Texts diagnose(const SpecRequest& request, double minutes, nb::object progress, bool listen) {
  const SpecSource source = [&](const std::vector<std::string>& more) {
    SpecRequest changed = request;
    changed.overrides.insert(changed.overrides.end(), more.begin(), more.end());
    return read_spec(changed);
  };
  feasible_spec(request);
  const nb::gil_scoped_release unlocked;
  std::optional<StopSignal> signal;
  if (listen) signal.emplace();
  DoctorOptions options{.minutes = minutes, .stop = listen ? &signal->requested() : nullptr};
  if (!progress.is_none()) {
    options.progress = [&](const std::string& text) {
      const nb::gil_scoped_acquire lock;
      progress(text);
    };
  }
  const Diagnosis diagnosis = examine_spec(source, options);
  return {diagnosis_text(diagnosis), diagnosis_json(diagnosis).dump()};
}

}  // namespace

void bind_doctor(nb::module_& m) {
  using namespace nb::literals;
  m.def("profile", &profile, "request"_a, "seconds"_a, "html"_a, "trace"_a, "listen"_a,
        "Where the time goes, as text and as JSON.");
  m.def("doctor", &diagnose, "request"_a, "minutes"_a, "progress"_a.none(), "listen"_a,
        "What would help, as text and as JSON.");
}

}  // namespace hotloop::python
