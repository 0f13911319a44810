#include "record/json_fields.hpp"

#include <fmt/format.h>

#include <hotloop/error.hpp>

#include "core/text.hpp"

namespace hotloop {
namespace {

std::string kind_of(const Json& json) {
  if (json.is_null()) return "null";
  if (json.is_object()) return "an object";
  if (json.is_array()) return fmt::format("a list of {}", json.size());
  if (json.is_string()) return "text";
  if (json.is_boolean()) return json.get<bool>() ? "true" : "false";
  return json.dump();  // a number
}

}  // namespace

void JsonField::fail(const std::string& what) const {
  throw RunError(path_.empty() ? fmt::format("{}: {}", file_, what)
                               : fmt::format("{}: field {}: {}", file_, path_, what));
}

void JsonField::fail_expected(const std::string& expected) const {
  fail(fmt::format("expected {}, found {}", expected, kind_of(json_)));
}

JsonField JsonField::operator[](const std::string& name) const {
  const std::string path = path_.empty() ? name : path_ + "." + name;
  if (!json_.is_object()) fail_expected("an object");
  const auto found = json_.find(name);
  if (found == json_.end()) JsonField(json_, file_, path).fail("missing");
  return {*found, file_, path};
}

std::vector<JsonField> JsonField::items() const {
  if (!json_.is_array()) fail_expected("a list");
  std::vector<JsonField> all;
  for (std::size_t i = 0; i < json_.size(); ++i) {
    all.emplace_back(json_[i], file_, fmt::format("{}[{}]", path_, i));
  }
  return all;
}

std::vector<JsonField> JsonField::list_of(std::size_t count) const {
  if (!json_.is_array() || json_.size() != count) fail_expected(fmt::format("a list of {}", count));
  return items();
}

std::uint64_t JsonField::integer(std::uint64_t low, std::uint64_t high) const {
  const bool is_count = json_.is_number_unsigned();
  if (!is_count || json_.get<std::uint64_t>() < low || json_.get<std::uint64_t>() > high) {
    fail_expected(fmt::format("an integer from {} to {}", low, high));
  }
  return json_.get<std::uint64_t>();
}

void JsonField::read(bool& value) const {
  if (!json_.is_boolean()) fail_expected("true or false");
  value = json_.get<bool>();
}

void JsonField::read(double& value) const {
  if (!json_.is_number() && !json_.is_null()) fail_expected("a number or null");
  value = json_.is_null() ? std::nan("") : json_.get<double>();
}

void JsonField::read(float& value) const {
  if (json_.is_number()) value = json_.get<float>();
  if (!json_.is_number() || !std::isfinite(value)) fail_expected("a number");
}

void JsonField::read(std::string& value) const {
  if (!json_.is_string()) fail_expected("text");
  value = json_.get<std::string>();
}

void JsonField::read(std::vector<std::string>& values) const {
  values.clear();
  for (const JsonField& item : items()) item.read(values.emplace_back());
}

void JsonField::read(std::vector<std::pair<std::string, double>>& values) const {
  if (!json_.is_object()) fail_expected("an object");
  values.clear();
  for (const auto& [name, value] : json_.items()) {
    const std::string path = fmt::format("{}.{}", path_, printable(name));
    JsonField(value, file_, path).read(values.emplace_back(name, 0.0).second);
  }
}

std::string text_in(const Json& object, const char* name, const std::string& otherwise) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_string()) return otherwise;
  return object[name].get<std::string>();
}

}  // namespace hotloop
