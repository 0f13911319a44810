// Converts NumPy arrays for the engine. Messages name the array, what was found and is allowed.
#pragma once

#include <fmt/format.h>
#include <nanobind/ndarray.h>

#include <hotloop/error.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "bindings.hpp"

namespace hotloop::python {

// Any array in C order (ensured by the Python side) and main memory; its type is checked later.
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;

inline std::string shape_text(const AnyArray& array) {
  std::string text = "(";
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", array.shape(i));
  }
  return text + (array.ndim() == 1 ? ",)" : ")");
}

inline std::string type_text(const AnyArray& array) {
  const nb::dlpack::dtype type = array.dtype();
  const char* kind = "complex";
  if (type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int)) kind = "int";
  if (type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt)) kind = "uint";
  if (type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float)) kind = "float";
  if (type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bool)) return "bool";
  return fmt::format("{}{}", kind, type.bits);
}

template <class T>
std::span<const T> values_of(const AnyArray& array) {
  return {static_cast<const T*>(array.data()), array.size()};
}

// Calls body with the values as a span of their own type; false if their type is not listed.
template <class... Types, class Body>
bool with_values(const AnyArray& array, Body&& body) {
  const auto attempt = [&]<class T>(T) {
    if (array.dtype() != nb::dtype<T>()) return false;
    body(values_of<T>(array));
    return true;
  };
  return (attempt(Types{}) || ...);
}

// Copies discrete actions [N] of any integer type into `to`. Throws UsageError naming the first row
// that is out of range or forbidden by the mask, which is [N, actions] or empty.
void read_discrete(const AnyArray& array, int actions, std::span<const std::uint8_t> mask,
                   std::span<std::int32_t> to);

// Copies continuous actions [N, size] of float32 or float64 into `to`. Throws UsageError naming the
// first row that is not finite.
void read_continuous(const AnyArray& array, int size, std::span<float> to);

}  // namespace hotloop::python
