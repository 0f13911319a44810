// TrainSpec -> YAML with every key, and the table of docs/specs.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "algo/common/algorithm.hpp"
#include "core/text.hpp"
#include "spec/keys.hpp"
#include "spec/spec.hpp"

namespace hotloop {
namespace {

// The shortest text that is read back as the same bits.
struct ValueText {
  const Key& key;

  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const int* value) const {
    return *value == 0 && !key.unset.empty() ? std::string(key.unset) : fmt::format("{}", *value);
  }
  std::string operator()(const std::int64_t* value) const { return fmt::format("{}", *value); }
  std::string operator()(const std::uint64_t* value) const { return fmt::format("{}", *value); }
  std::string operator()(const float* value) const { return fmt::format("{}", *value); }
  std::string operator()(const double* value) const {
    return std::isnan(*value) ? std::string(key.unset) : fmt::format("{}", *value);
  }
  std::string operator()(const std::string* value) const { return yaml_quoted(*value); }
  std::string operator()(const std::vector<int>* value) const {
    return fmt::format("[{}]", fmt::join(*value, ", "));
  }
  std::string operator()(const std::vector<double>* value) const {
    return fmt::format("[{}]", fmt::join(*value, ", "));
  }
  std::string operator()(const std::vector<Branch>* value) const {
    std::string text;
    for (const Branch& branch : *value) {
      text +=
          fmt::format("{}{}: {{from: [{}], layers: [{}]}}", text.empty() ? "" : ", ", branch.name,
                      fmt::join(branch.from, ", "), fmt::join(branch.layers, ", "));
    }
    return "{" + text + "}";
  }
  std::string operator()(const Schedule* value) const {
    if (value->kind == ScheduleKind::constant) return fmt::format("{}", value->from);
    std::string text = fmt::format(
        "{{kind: {}, from: {}", kScheduleNames[static_cast<std::size_t>(value->kind)], value->from);
    const auto add = [&](std::string_view part, const auto& x) {
      if (schedule_has(value->kind, part)) text += fmt::format(", {}: {}", part, x);
    };
    add("to", value->to);
    add("over", value->over);
    add("factor", value->factor);
    add("every", value->every);
    if (value->after != 0) text += fmt::format(", after: {}", value->after);
    if (value->count != Count::steps) {
      text += fmt::format(", count: {}", kCountNames[static_cast<std::size_t>(value->count)]);
    }
    return text + "}";
  }
  std::string operator()(const EnvOptions* value) const {
    std::string text;
    for (const auto& [name, word] : *value) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, word);
    }
    return "{" + text + "}";
  }
  std::string operator()(const Algorithm* const* value) const {
    return std::string((*value)->name());
  }
  std::string operator()(const Choice& value) const {
    return std::string(value.names[static_cast<std::size_t>(value.get(value.field))]);
  }
};

struct TypeText {
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const int*) const { return "integer"; }
  std::string operator()(const std::int64_t*) const { return "integer"; }
  std::string operator()(const std::uint64_t*) const { return "integer"; }
  std::string operator()(const float*) const { return "number"; }
  std::string operator()(const double*) const { return "number"; }
  std::string operator()(const std::string*) const { return "text"; }
  std::string operator()(const std::vector<int>*) const { return "list"; }
  std::string operator()(const std::vector<double>*) const { return "list"; }
  std::string operator()(const std::vector<Branch>*) const { return "mapping"; }
  std::string operator()(const Schedule*) const { return "schedule"; }
  std::string operator()(const EnvOptions*) const { return "mapping"; }
  std::string operator()(const Algorithm* const*) const { return "word"; }
  std::string operator()(const Choice&) const { return "word"; }
};

struct AllowedText {
  const Key& key;

  std::string range() const { return key.range.text(key.leaf()); }
  std::string range_or_unset() const {
    return key.unset.empty() ? range() : fmt::format("{} or `{}`", range(), key.unset);
  }
  std::string operator()(const bool*) const { return ""; }
  std::string operator()(const int*) const { return range_or_unset(); }
  std::string operator()(const std::int64_t*) const { return range(); }
  std::string operator()(const std::uint64_t*) const { return "64 bits"; }
  std::string operator()(const float*) const { return range(); }
  std::string operator()(const double*) const { return range_or_unset(); }
  std::string operator()(const std::string*) const { return ""; }
  std::string operator()(const std::vector<int>*) const {
    return fmt::format("up to {} items, {}", kMaxHiddenLayers, key.range.text("each"));
  }
  std::string operator()(const std::vector<double>*) const {
    return fmt::format("up to {} items, {}", kMaxRewardParts, key.range.text("each"));
  }
  std::string operator()(const std::vector<Branch>*) const {
    return fmt::format("up to {} of up to {} layers", kMaxHiddenLayers, kMaxHiddenLayers);
  }
  std::string operator()(const Schedule*) const { return range(); }
  std::string operator()(const EnvOptions*) const { return "the environment's own"; }
  std::string operator()(const Algorithm* const*) const { return join(algorithm_names()); }
  std::string operator()(const Choice& value) const { return join(value.names); }
};

}  // namespace

std::string to_yaml(const TrainSpec& spec) {
  TrainSpec copy = spec;  // the keys need a mutable spec to point into
  std::string result;
  std::string open;  // group of the previous line
  for (const Key& key : spec_keys(copy)) {
    // Write the headings from the previous group to this key's.
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t dot; (dot = key.path.find('.', begin)) != std::string_view::npos;
         begin = dot + 1, ++depth) {
      const std::string group = std::string(key.path.substr(0, dot)) + '.';
      if (open.starts_with(group)) continue;
      result += fmt::format("{:{}}{}:\n", "", 2 * depth, key.path.substr(begin, dot - begin));
    }
    open = key.path.substr(0, begin);
    result += fmt::format("{:{}}{}: {}\n", "", 2 * depth, key.leaf(),
                          std::visit(ValueText{key}, key.field));
  }
  return result;
}

namespace {

// The default of a key as shown in docs/specs.md.
std::string default_of(const Key& key) {
  if (key.required) return "required";
  if (!key.default_text.empty()) return std::string(key.default_text);
  if (std::holds_alternative<const Algorithm**>(key.field)) {
    return fmt::format("`{}`", default_algorithm().name());
  }
  const std::string value = std::visit(ValueText{key}, key.field);
  return value == "\"\"" ? "" : fmt::format("`{}`", value);
}

// A key, with the algorithms that have it.
struct Row {
  Key key;
  std::vector<std::string_view> names;  // of these algorithms
  std::vector<std::string> defaults;    // for each of them

  // The most common default, followed by the others.
  std::string default_text() const {
    const auto common =
        *std::max_element(defaults.begin(), defaults.end(), [&](const auto& a, const auto& b) {
          return std::count(defaults.begin(), defaults.end(), a) <
                 std::count(defaults.begin(), defaults.end(), b);
        });
    std::string text = common;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (defaults[i] != common) text += fmt::format(", {} {}", names[i], defaults[i]);
    }
    return text;
  }
};

}  // namespace

std::string spec_reference() {
  const std::vector<const Algorithm*> all = algorithms();
  std::vector<TrainSpec> specs(all.size());  // the keys point into them
  std::vector<Row> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    use_algorithm(specs[i], *all[i]);
    std::size_t place = 0;  // after the previous key, which keeps the order of each algorithm
    for (Key& key : spec_keys(specs[i])) {
      const auto known = std::find_if(rows.begin(), rows.end(),
                                      [&](const Row& row) { return row.key.path == key.path; });
      const std::string standard = default_of(key);
      if (known != rows.end()) {
        known->names.push_back(all[i]->name());
        known->defaults.push_back(standard);
        place = static_cast<std::size_t>(known - rows.begin()) + 1;
      } else {
        rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(place++),
                    {key, {all[i]->name()}, {standard}});
      }
    }
  }
  std::string result =
      "| key | algorithms | type | default | allowed | meaning |\n|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    const Key& key = row.key;
    result += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key.path,
                          row.names.size() == all.size() ? "all" : join(row.names),
                          std::visit(TypeText{}, key.field), row.default_text(),
                          std::visit(AllowedText{key}, key.field), key.about);
  }
  return result;
}

}  // namespace hotloop
