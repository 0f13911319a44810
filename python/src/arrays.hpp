// NumPy arrays as the engine takes them. Messages name the array, what was found and what is allowed.
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

// Any array in C order and main memory; its type is looked at later. The Python side sees to the order.
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

// Calls body with the values as a span of their own type; false if it is none of the listed ones.
template <class... Types, class Body>
bool with_values(const AnyArray& array, Body&& body) {
  const auto attempt = [&]<class T>(T) {
    if (array.dtype() != nb::dtype<T>()) return false;
    body(values_of<T>(array));
    return true;
  };
  return (attempt(Types{}) || ...);
}

// Numbered actions [N] of any whole type, into `to`. Throws UsageError naming the first row that is
// out of range or, where there is a mask [N, actions], forbidden.
void read_discrete(const AnyArray& array, int actions, std::span<const std::uint8_t> mask,
                   std::span<std::int32_t> to);

// Boxes [N, size] of float32 or float64, into `to`. Throws UsageError naming the first row that is not
// finite.
void read_continuous(const AnyArray& array, int size, std::span<float> to);

}  // namespace hotloop::python
