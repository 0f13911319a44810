// TrainSpec -> YAML with every key, and the table of docs/specs.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/text.hpp"
#include "spec/spec.hpp"
#include "spec/spec_keys.hpp"

namespace hotloop {
namespace {

// The shortest text from which the same bits are read.
struct ValueText {
  const Key& key;

  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const int* value) const { return fmt::format("{}", *value); }
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
  std::string operator()(const Choice& value) const {
    return std::string(value.names[static_cast<std::size_t>(value.get(value.field))]);
  }
};

struct TypeText {
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const int*) const { return "whole number"; }
  std::string operator()(const std::int64_t*) const { return "whole number"; }
  std::string operator()(const std::uint64_t*) const { return "whole number"; }
  std::string operator()(const float*) const { return "number"; }
  std::string operator()(const double*) const { return "number"; }
  std::string operator()(const std::string*) const { return "text"; }
  std::string operator()(const std::vector<int>*) const { return "list"; }
  std::string operator()(const std::vector<double>*) const { return "list"; }
  std::string operator()(const std::vector<Branch>*) const { return "mapping"; }
  std::string operator()(const Schedule*) const { return "schedule"; }
  std::string operator()(const EnvOptions*) const { return "mapping"; }
  std::string operator()(const Choice&) const { return "word"; }
};

struct AllowedText {
  const Key& key;

  std::string range() const { return key.range.text(key.leaf()); }
  std::string operator()(const bool*) const { return ""; }
  std::string operator()(const int*) const { return range(); }
  std::string operator()(const std::int64_t*) const { return range(); }
  std::string operator()(const std::uint64_t*) const { return "64 bits"; }
  std::string operator()(const float*) const { return range(); }
  std::string operator()(const double*) const {
    return key.unset.empty() ? range() : fmt::format("{} or `{}`", range(), key.unset);
  }
  std::string operator()(const std::string*) const { return ""; }
  std::string operator()(const std::vector<int>*) const {
    return fmt::format("up to {} items, {}", kMostHiddenLayers, key.range.text("each"));
  }
  std::string operator()(const std::vector<double>*) const {
    return fmt::format("up to {} items, {}", kMaxRewardParts, key.range.text("each"));
  }
  std::string operator()(const std::vector<Branch>*) const {
    return fmt::format("up to {} of up to {} layers", kMostHiddenLayers, kMostHiddenLayers);
  }
  std::string operator()(const Schedule*) const { return range(); }
  std::string operator()(const EnvOptions*) const { return "the environment's own"; }
  std::string operator()(const Choice& value) const { return join(value.names); }
};

}  // namespace

std::string to_yaml(const TrainSpec& spec) {
  TrainSpec copy = spec;  // the table points into a spec that could be written to
  std::string result;
  std::string open;  // group of the line before
  for (const Key& key : spec_keys(copy)) {
    // On-policy these follow from others, and would stand in the way of changing them.
    if (spec.algorithm != Algorithm::dqn &&
        (key.path == "algo.updates_per_step" || key.path == "algo.train_every")) {
      continue;
    }
    // Print the headings between the last group and this key's.
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

std::string describe_algorithm(const TrainSpec& spec) {
  const QOptions& q = spec.q;
  std::string text;
  const auto add = [&](bool is_on, std::string_view word) {
    if (is_on) text += fmt::format("{} ", word);
  };
  add(q.target_every == 0 && spec.algorithm == Algorithm::dqn, "vanilla");
  add(q.double_q, "double");
  add(q.munchausen > 0, "munchausen");
  add(spec.net.dueling, "dueling");
  add(spec.net.noisy != Noisy::none, "noisy");
  add(q.n_step > 1, fmt::format("{}-step", q.n_step));
  add(q.head != HeadKind::scalar, kHeadNames[static_cast<std::size_t>(q.head)]);
  text += kAlgorithmNames[static_cast<std::size_t>(spec.algorithm)];
  if (q.prioritised) text += ", prioritised";
  if (q.newest) text += ", newest included";
  if (q.explore == Explore::boltzmann) text += ", boltzmann";
  if (q.explore_steps > 1) text += fmt::format(", exploring {} steps at a time", q.explore_steps);
  if (q.pipelined) text += ", pipelined";
  return text;
}

std::string spec_reference() {
  TrainSpec defaults;
  std::string result = "| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n";
  for (const Key& key : spec_keys(defaults)) {
    std::string standard = fmt::format("`{}`", std::visit(ValueText{key}, key.field));
    if (!key.default_text.empty()) standard = key.default_text;
    if (key.required) standard = "required";
    if (standard == "`\"\"`") standard = "";
    result +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", key.path, std::visit(TypeText{}, key.field),
                    standard, std::visit(AllowedText{key}, key.field), key.about);
  }
  return result;
}

}  // namespace hotloop
