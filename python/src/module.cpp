// The extension module hotloop._hotloop: the engine as the Python files of the package use it. What
// users see is python/hotloop; nothing here is promised to stay.
#include <nanobind/stl/string.h>

#include <hotloop/env.hpp>
#include <hotloop/error.hpp>

#include "bindings.hpp"
#include "core/system.hpp"

NB_MODULE(_hotloop, m) {
  namespace nb = nanobind;
  m.doc() = "hotloop's engine; use the package hotloop instead";
  nb::exception<hotloop::UsageError>(m, "UsageError", PyExc_ValueError);
  nb::exception<hotloop::RunError>(m, "RunError", PyExc_RuntimeError);
  m.attr("version") = hotloop::version();
  m.attr("MAX_ACTION_SIZE") = hotloop::kMaxActionSize;
  hotloop::python::bind_agent(m);
  hotloop::python::bind_envs(m);
  hotloop::python::bind_lists(m);
  hotloop::python::bind_spec(m);  // before those that take one
  hotloop::python::bind_doctor(m);
  hotloop::python::bind_train(m);
  hotloop::python::bind_worlds(m);
}
