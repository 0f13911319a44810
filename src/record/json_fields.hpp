// Converts records to and from JSON. A record lists its fields once: `visit(record, visitor)` calls
// visitor("name", field) for each. Non-finite numbers are null.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace hotloop {

using Json = nlohmann::ordered_json;

inline Json to_field(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
template <std::size_t kCount>
Json to_field(const std::array<double, kCount>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(to_field(value));
  return list;
}
inline Json to_field(const std::vector<std::pair<std::string, double>>& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = to_field(value);
  return object;
}
template <class T>
Json to_field(const T& value) {
  return value;
}

inline void from_field(const Json& json, double& value) {
  value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
template <std::size_t kCount>
void from_field(const Json& json, std::array<double, kCount>& values) {
  for (std::size_t i = 0; i < kCount; ++i) from_field(json.at(i), values[i]);
}
inline void from_field(const Json& json, std::vector<std::pair<std::string, double>>& values) {
  values.clear();
  for (const auto& [name, value] : json.items()) {
    values.emplace_back(name, 0.0);
    from_field(value, values.back().second);
  }
}
template <class T>
void from_field(const Json& json, T& value) {
  value = json.get<T>();
}

struct WriteFields {
  explicit WriteFields(Json& to) : json(to) {
    // operator[] would make a null an object too, but a broken one if memory runs out.
    if (json.is_null()) json = Json::object();
  }
  Json& json;
  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = to_field(value);
  }
};

// Throws Json::exception if a field is missing or has the wrong type.
struct ReadFields {
  const Json& json;
  template <class T>
  void operator()(const char* name, T& value) const {
    from_field(json.at(name), value);
  }
};

}  // namespace hotloop
