// Training and resuming, with the interpreter lock released; only the hooks take it.
//
// An exception in a hook must not unwind the session, which would lose the training since the last
// checkpoint. It is stored, the run saves and stops, and then it is raised.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "core/stop_signal.hpp"
#include "session/session.hpp"
#include "spec_source.hpp"

namespace hotloop::python {
namespace {

using Overrides = std::vector<std::string>;

// The state of a run, as a dict for the progress line.
nb::dict progress_of(const Trainer& trainer, const RunRecord& record) {
  const Counters& counters = trainer.counters();
  const RunOptions& run = trainer.spec().run;
  double share = static_cast<double>(counters.env_steps) / static_cast<double>(run.steps);
  if (run.episodes > 0) {
    share =
        std::max(share, static_cast<double>(counters.episodes) / static_cast<double>(run.episodes));
  }
  const Window& window = trainer.window();
  const GroupShares time = trainer.clock().group_shares();
  const auto python = std::find(kPhaseGroups.begin(), kPhaseGroups.end(), "python");
  nb::dict d;
  d["env_steps"] = counters.env_steps;
  d["updates"] = counters.updates;
  d["episodes"] = counters.episodes;
  d["share"] = std::min(share, 1.0);
  d["seconds"] = record.seconds;
  d["exploring_return"] =
      window.episodes > 0 ? window.returns / static_cast<double>(window.episodes) : kNone;
  d["greedy_return"] = record.greedy_return;
  d["python_share"] = time[static_cast<std::size_t>(python - kPhaseGroups.begin())];
  return d;
}

// Python functions as hooks of a session; None = not wanted.
class PythonHooks {
 public:
  PythonHooks(nb::object progress, nb::object warning, nb::object row)
      : progress_(std::move(progress)), warning_(std::move(warning)), row_(std::move(row)) {}

  SessionHooks hooks(const std::atomic<bool>* stop) {
    SessionHooks hooks{.stop = stop};
    if (!progress_.is_none()) {
      hooks.progress = [this](const Trainer& trainer, const RunRecord& record) {
        call([&] { progress_(progress_of(trainer, record)); });
      };
    }
    if (!warning_.is_none()) {
      hooks.warning = [this](const std::string& text) { call([&] { warning_(text); }); };
    }
    hooks.row = [this](std::string_view line) {
      bool proceed = true;
      if (!row_.is_none()) {
        call([&] { proceed = nb::cast<bool>(row_(nb::str(line.data(), line.size()))); });
      }
      return proceed && !raised_;
    };
    return hooks;
  }

  // Called after the session, with the interpreter lock held.
  void raise() {
    if (raised_) throw std::move(*raised_);
  }

 private:
  template <class Body>
  void call(Body&& body) {
    if (raised_) return;
    const nb::gil_scoped_acquire lock;
    try {
      body();
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
    }
  }

  nb::object progress_, warning_, row_;
  std::optional<nb::python_error> raised_;
};

// The result as JSON, and whether a signal ended the run. Only runs on Python's main thread listen
// to signals.
template <class Run>
std::tuple<std::string, bool> run_session(PythonHooks& python, bool listen, Run&& run) {
  std::string result;
  bool stopped = false;
  {
    const nb::gil_scoped_release unlocked;
    std::optional<StopSignal> signal;
    if (listen) signal.emplace();
    result = to_json(run(python.hooks(listen ? &signal->requested() : nullptr)));
    stopped = listen && signal->requested().load();
  }
  python.raise();
  return {std::move(result), stopped};
}

std::tuple<std::string, bool> train_run(const SpecRequest& request, const std::string& out,
                                        nb::object progress, nb::object warning, nb::object row,
                                        bool listen) {
  const TrainSpec loaded = feasible_spec(request);  // before the run folder is made
  const std::string folder = make_run_folder(out, loaded.name);
  PythonHooks python(std::move(progress), std::move(warning), std::move(row));
  return run_session(python, listen,
                     [&](const SessionHooks& hooks) { return start_run(loaded, folder, hooks); });
}

std::tuple<std::string, bool> resume_folder(const std::string& folder, const Overrides& overrides,
                                            std::optional<std::string> checkpoint,
                                            const std::string& stand_in, nb::object progress,
                                            nb::object warning, nb::object row, bool listen) {
  TrainSpec spec = [&] {
    const nb::gil_scoped_release unlocked;
    return load_run_spec(folder, overrides);
  }();
  spec.stand_in = stand_in;
  PythonHooks python(std::move(progress), std::move(warning), std::move(row));
  return run_session(python, listen, [&](const SessionHooks& hooks) {
    return resume_run(spec, folder, checkpoint, hooks);
  });
}

}  // namespace

void bind_train(nb::module_& m) {
  using namespace nb::literals;
  m.def("train", &train_run, "request"_a, "out"_a, "progress"_a.none(), "warning"_a.none(),
        "row"_a.none(), "listen"_a,
        "Trains in a new folder below `out`; returns the result as JSON and whether a signal "
        "stopped it.");
  m.def("resume", &resume_folder, "folder"_a, "overrides"_a, "checkpoint"_a.none(), "stand_in"_a,
        "progress"_a.none(), "warning"_a.none(), "row"_a.none(), "listen"_a,
        "Continues the run in `folder`, on `stand_in` unless it is empty; returns the same as "
        "`train`.");
}

}  // namespace hotloop::python
