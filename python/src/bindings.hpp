// Each file of the extension module has one function, which NB_MODULE calls.
#pragma once

#include <nanobind/nanobind.h>

namespace hotloop::python {

namespace nb = nanobind;

void bind_agent(nb::module_& m);   // trained models that act
void bind_doctor(nb::module_& m);  // profiles and diagnoses
void bind_envs(nb::module_& m);    // environments to step
void bind_lists(nb::module_& m);   // names of environments, specs, algorithms
void bind_spec(nb::module_& m);    // specs requested by Python
void bind_train(nb::module_& m);   // training and resuming
void bind_worlds(nb::module_& m);  // Python environments inside the engine

}  // namespace hotloop::python
