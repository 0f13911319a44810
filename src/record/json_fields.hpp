// Converts records to and from JSON. A record lists its fields once: `visit(record, visitor)` calls
// visitor("name", field) for each. Non-finite numbers are null.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "record/json_text.hpp"

namespace hotloop {

inline Json to_field(double value) { return number_or_null(value); }
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

// A value of a JSON file that may hold anything, and its place in it. What is missing or has the
// wrong type is a RunError: "FILE: field counters.updates: expected an integer, found an array".
class JsonField {
 public:
  JsonField(const Json& json, std::string file, std::string path = "")
      : json_(json), file_(std::move(file)), path_(std::move(path)) {}

  bool has(const std::string& name) const { return json_.is_object() && json_.contains(name); }
  JsonField operator[](const std::string& name) const;  // a member of an object
  std::vector<JsonField> items() const;                 // of a list
  const Json& json() const { return json_; }

  void read(bool& value) const;
  void read(double& value) const;  // null is NaN
  void read(float& value) const;   // finite
  void read(std::string& value) const;
  void read(std::vector<std::string>& values) const;
  void read(std::vector<std::pair<std::string, double>>& values) const;
  // Files hold no negative counts; an unsigned number may have 64 bits.
  template <std::integral T>
  void read(T& value) const {
    constexpr std::uint64_t kMax = std::is_same_v<T, std::uint64_t> ? UINT64_MAX : max_count<T>();
    value = static_cast<T>(integer(0, kMax));
  }
  template <class T, std::size_t kCount>
  void read(std::array<T, kCount>& values) const {
    const std::vector<JsonField> found = list_of(kCount);
    for (std::size_t i = 0; i < kCount; ++i) found[i].read(values[i]);
  }
  int integer_in(int low, int high) const { return static_cast<int>(integer(low, high)); }

  [[noreturn]] void fail(const std::string& what) const;

 private:
  template <class T>
  static constexpr std::uint64_t max_count() {
    constexpr std::uint64_t kExact = std::uint64_t{1} << 53, kOwn = std::numeric_limits<T>::max();
    return kOwn < kExact ? kOwn : kExact;
  }
  std::uint64_t integer(std::uint64_t low, std::uint64_t high) const;
  std::vector<JsonField> list_of(std::size_t count) const;
  [[noreturn]] void fail_expected(const std::string& expected) const;

  const Json& json_;
  std::string file_, path_;
};

// Reads each field of a record.
struct ReadFields {
  JsonField from;
  template <class T>
  void operator()(const char* name, T& value) const {
    from[name].read(value);
  }
};

// The text of a member of an object, for files that only inform: anything else gives `otherwise`.
std::string text_in(const Json& object, const char* name, const std::string& otherwise);

}  // namespace hotloop
