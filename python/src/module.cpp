// The extension module hotloop._hotloop: the engine, for the Python files of the package. It is
// private; the public interface is python/hotloop.
#include <nanobind/stl/string.h>

#include <csignal>

#include <hotloop/env.hpp>
#include <hotloop/error.hpp>

#include "bindings.hpp"
#include "core/stop_signal.hpp"
#include "core/system.hpp"

NB_MODULE(_hotloop, m) {
  namespace nb = nanobind;
  m.doc() = "hotloop's engine; use the package hotloop instead";
  nb::exception<hotloop::UsageError>(m, "UsageError", PyExc_ValueError);
  nb::exception<hotloop::RunError>(m, "RunError", PyExc_RuntimeError);
  // Ctrl-C while a compiler or a trial was running is Ctrl-C for Python, too; any other signal has
  // the effect that it would have had.
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const hotloop::Stopped& stopped) {
      if (stopped.signal() != SIGINT) raise(stopped.signal());
      PyErr_SetString(PyExc_KeyboardInterrupt, stopped.what());
    }
  });
  m.attr("version") = hotloop::version();
  m.attr("MAX_ACTION_SIZE") = hotloop::kMaxActionSize;
  hotloop::python::bind_agent(m);
  hotloop::python::bind_envs(m);
  hotloop::python::bind_lists(m);
  hotloop::python::bind_spec(m);  // before the functions that take a spec
  hotloop::python::bind_doctor(m);
  hotloop::python::bind_train(m);
  hotloop::python::bind_worlds(m);
}
