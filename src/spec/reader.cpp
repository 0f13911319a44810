// YAML -> TrainSpec. The algorithm is found first, because it decides which keys there are. Then
// two passes:
//
// 1. Store every value of the file and of the overrides under its dotted path, with its position.
//    Check the structure: unknown keys, duplicates, mappings instead of values. Later values
//    replace earlier ones.
// 2. Set each key from the value stored under its path, checking type and range.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <hotloop/error.hpp>
#include <map>
#include <set>

#include "algo/common/algorithm.hpp"
#include "core/text.hpp"
#include "env/file/world_file.hpp"
#include "env/registry.hpp"
#include "graph/graph_file.hpp"
#include "spec/keys.hpp"
#include "spec/spec.hpp"
#include "spec/value_reader.hpp"
#include "spec/yaml_text.hpp"

namespace hotloop {
namespace {

// The algorithm named last, in the file or by an override; otherwise the default.
const Algorithm& named_algorithm(const YAML::Node& root, const std::string& origin,
                                 std::span<const std::string> overrides) {
  constexpr std::string_view kGroup = "algo", kPath = "algo.name";
  const Algorithm* chosen = &default_algorithm();
  const auto take = [&](const YAML::Node& node, const std::string& where) {
    if (node && node.IsDefined()) set_field({kPath, &chosen, {}, ""}, {node, where});
  };
  const auto name_in = [](const YAML::Node& group) {
    return group && group.IsMap() ? group["name"] : YAML::Node(YAML::NodeType::Undefined);
  };
  if (root.IsMap()) {
    const YAML::Node name = name_in(root[std::string(kGroup)]);
    if (name) take(name, fmt::format("{}:{}", origin, name.Mark().line + 1));
  }
  for (const std::string& given : overrides) {
    const std::size_t equals = given.find('=');
    const std::string path = given.substr(0, equals);
    if (equals == std::string::npos || (path != kPath && path != kGroup)) continue;
    const std::string where = "--set " + one_line(given);
    const YAML::Node value = parse_yaml(given.substr(equals + 1), where, false);
    take(path == kPath ? value : name_in(value), where);
  }
  return *chosen;
}

class SpecReader {
 public:
  SpecReader(std::string origin, const Algorithm& algorithm) : origin_(std::move(origin)) {
    use_algorithm(spec_, algorithm);
    keys_ = spec_keys(spec_);
    const std::size_t slash = origin_.rfind('/');
    spec_.name = origin_.substr(slash == std::string::npos ? 0 : slash + 1);
    if (const std::size_t dot = spec_.name.rfind('.'); dot != 0 && dot != std::string::npos) {
      spec_.name.resize(dot);
    }
    for (const Key& key : keys_) {
      declare(std::string(key.path));
      if (!std::holds_alternative<Schedule*>(key.field)) continue;
      for (std::string_view sub : kScheduleKeys) declare(fmt::format("{}.{}", key.path, sub));
    }
  }

  void add_file(const YAML::Node& root) {
    if (root.IsNull())
      fail_at(origin_, "", "the spec is empty; it needs at least env: {name: ...}");
    store(root, "", origin_, true);
  }

  void add_override(const std::string& given) {
    const std::string where = "--set " + one_line(given);
    const std::string text = full_override(given, env_name());
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail_at(where, "", "expected key=value, such as algo.batch=64");
    }
    const std::string path = text.substr(0, equals);
    std::string known;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      const std::string prefix = path.substr(0, end);
      if (is_env_option(prefix)) break;
      if (!children_.contains(prefix) || end == begin)
        fail_unknown(known, path.substr(begin, end - begin), where);
      known = prefix;
      begin = end + 1;
    }
    // A schedule that is a constant so far has no parts to override.
    const std::string parent = parent_of(path);
    if (entries_.contains(parent)) {
      fail_at(
          where, path,
          fmt::format("{} is the constant {} here; give the complete schedule: {}={{kind: linear, "
                      "from: ..., to: ..., over: ...}}",
                      parent, found(entries_.at(parent).node), parent));
    }
    store(parse_yaml(text.substr(equals + 1), where, false), path, where, false);
  }

  TrainSpec read() {
    for (const Key& key : keys_) {
      const auto entry = entries_.find(key.path);
      if (auto* options = std::get_if<EnvOptions*>(&key.field)) {
        read_options(key, **options);
      } else if (entry != entries_.end()) {
        set_field(key, entry->second);
      } else if (auto* schedule = std::get_if<Schedule*>(&key.field)) {
        read_schedule(key, **schedule);
      } else if (key.required) {
        fail_at(origin_, key.path, "missing; every spec needs it");
      }
    }
    if (const std::string wrong = env_registry().name_error(spec_.env); !wrong.empty())
      fail_at(where("env.name"), "env.name", wrong);
    derive();
    for (const Violation& violation : spec_violations(spec_)) {
      fail_at(where(violation.path), violation.path, violation.text);
    }
    refuse_idle_overrides();
    return spec_;
  }

 private:
  static std::string parent_of(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return std::string(path.substr(0, dot == std::string_view::npos ? 0 : dot));
  }

  // As given so far; empty if it is not.
  std::string env_name() const {
    const auto name = entries_.find("env.name");
    return name != entries_.end() && name->second.node.IsScalar() ? name->second.node.Scalar() : "";
  }

  void declare(const std::string& path) {
    if (path.empty() || children_.contains(path)) return;
    const std::string parent = parent_of(path);
    declare(parent);
    children_[parent].push_back(path.substr(parent.empty() ? 0 : parent.size() + 1));
    children_[path];
  }

  // Only the environment knows its options.
  static bool is_env_option(std::string_view path) {
    return path.size() > kEnvOptions.size() + 1 && path.starts_with(kEnvOptions) &&
           path[kEnvOptions.size()] == '.';
  }
  bool is_value(std::string_view path) const {
    return is_env_option(path) || (path != kEnvOptions && children_.at(std::string(path)).empty());
  }
  bool is_schedule(std::string_view path) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) {
      return key.path == path && std::holds_alternative<Schedule*>(key.field);
    });
  }

  // Stores `node`, the value of the known key or group `path`, and everything below it.
  void store(const YAML::Node& node, const std::string& path, const std::string& where,
             bool lines) {
    const bool schedule = is_schedule(path);
    if (schedule) {  // replaces the earlier one completely
      entries_.erase(path);
      std::erase_if(entries_,
                    [&](const auto& entry) { return entry.first.starts_with(path + '.'); });
    }
    if (is_value(path) || (schedule && !node.IsMap())) {
      entries_[path] = {node, where, !lines};
      return;
    }
    if (node.IsNull()) return;  // a group whose keys are all commented out
    if (!node.IsMap()) {
      const auto& known = children_.at(path);
      fail_at(where, path,
              fmt::format("expected a mapping with keys such as {}, found {}",
                          known.empty() ? "grid" : known[0], found(node)));
    }
    std::set<std::string> seen;
    for (const auto& child : node) {
      const std::string place =
          lines ? fmt::format("{}:{}", origin_, child.first.Mark().line + 1) : where;
      if (!child.first.IsScalar())
        fail_at(place, path, fmt::format("expected a key, found {}", found(child.first)));
      const std::string& name = child.first.Scalar();
      const std::string child_path = path.empty() ? name : fmt::format("{}.{}", path, name);
      const auto& known = children_.at(path);
      const bool is_known =
          is_env_option(child_path) || std::find(known.begin(), known.end(), name) != known.end();
      if (!is_known) fail_unknown(path, name, place);
      if (!seen.insert(name).second) fail_at(place, child_path, "given twice");
      store(child.second, child_path, place, lines);
    }
  }

  // The known group `parent` has no key `leaf`.
  [[noreturn]] void fail_unknown(const std::string& parent, const std::string& leaf,
                                 const std::string& where) const {
    const std::string prefix = parent.empty() ? "" : parent + '.';
    const std::string path = prefix + leaf;
    const std::vector<std::string>& siblings = children_.at(parent);
    if (siblings.empty())
      fail_at(where, one_line(path), fmt::format("unknown key; {} is a value", parent));
    if (const std::size_t dot = leaf.find('.');
        children_.contains(path) && dot != std::string::npos) {
      fail_at(where, path,
              fmt::format("in a file keys are nested; write {}: {{{}: ...}}", leaf.substr(0, dot),
                          leaf.substr(dot + 1)));
    }
    if (const std::string others = algorithms_with(path); !others.empty()) {
      const std::string own = key_of_other_library(keys_, leaf);
      fail_at(where, one_line(path),
              fmt::format("belongs to algo.name: {}; algo.name is {} here{}", others,
                          spec_.algorithm->name(),
                          own.empty() ? "" : fmt::format("; did you mean {}?", own)));
    }
    const std::vector<std::string_view> names(siblings.begin(), siblings.end());
    std::string near = key_elsewhere(keys_, leaf);
    if (near.empty()) {
      const std::string sibling = nearest(leaf, names);
      if (!sibling.empty()) near = prefix + sibling;
    }
    if (near.empty() && parent == "env") {  // it may be an option of the environment
      const std::string option = nearest(leaf, env_option_names(env_name()));
      if (!option.empty()) near = fmt::format("{}.{}", kEnvOptions, option);
    }
    fail_at(where, one_line(path),
            near.empty()
                ? fmt::format("unknown key; allowed: {}", join(names))
                : fmt::format("unknown key; did you mean {}? (allowed: {})", near, join(names)));
  }

  void read_options(const Key& key, EnvOptions& to) const {
    const std::string prefix = std::string(key.path) + '.';
    for (auto entry = entries_.lower_bound(prefix);
         entry != entries_.end() && entry->first.starts_with(prefix); ++entry) {
      set_field({entry->first, &to, {}, ""}, entry->second);
    }
  }

  // A schedule given in parts. A missing part keeps the value of the default, if it has one.
  void read_schedule(const Key& key, Schedule& to) const {
    const std::string prefix = std::string(key.path) + '.';
    const auto is_given = [&](std::string_view sub) {
      return entries_.contains(prefix + std::string(sub));
    };
    if (std::none_of(kScheduleKeys.begin(), kScheduleKeys.end(), is_given)) return;
    const ScheduleKind before = to.kind;
    const auto part = [&](std::string_view sub, Field field, const Range& range, bool needed,
                          std::string_view unset = {}) {
      const std::string path = prefix + std::string(sub);
      const auto entry = entries_.find(path);
      if (entry != entries_.end()) {
        set_field({path, field, range, "", unset}, entry->second);
      } else if (needed) {
        fail_at(where(prefix), path, fmt::format("missing; {}", parts_of(to.kind)));
      }
    };
    int kind = std::max(static_cast<int>(to.kind) - 1, 0);
    const auto names = std::span(kScheduleNames).subspan(1);  // a constant is a plain number
    part("kind", choice(kind, names), {}, before == ScheduleKind::constant);
    to.kind = static_cast<ScheduleKind>(kind + 1);
    for (std::string_view sub : kScheduleKeys) {
      if (!is_given(sub) || schedule_has(to.kind, sub)) continue;
      fail_at(where(prefix + std::string(sub)), prefix + std::string(sub),
              fmt::format("does not belong here; {}", parts_of(to.kind)));
    }
    if (!schedule_has(to.kind, "to") || to.kind == ScheduleKind::step) to.to = Schedule{}.to;
    if (!schedule_has(to.kind, "over")) to.over = Schedule{}.over;
    const auto needed = [&](std::string_view sub) {
      const bool kept = before != ScheduleKind::constant && schedule_has(before, sub);
      return schedule_has(to.kind, sub) && !kept;
    };
    part("from", &to.from, key.range, needed("from"));
    part("to", &to.to, key.range, needed("to") && to.kind != ScheduleKind::step);
    part("over", &to.over, kSchedulePeriod, needed("over"), "run");
    part("factor", &to.factor, kScheduleFactor, needed("factor"));
    part("every", &to.every, kSchedulePeriod, needed("every"));
    part("after", &to.after, kScheduleBegin, false);
    part("count", choice(to.count, kCountNames), {}, false);
    if (to.over == kWholeRun && to.count != Count::steps)
      fail_at(where(prefix + "over"), prefix + "over",
              "run is a number of env steps, but count is not");
  }

  static std::string parts_of(ScheduleKind kind) {
    std::string text;
    for (std::string_view sub : kScheduleKeys) {
      if (schedule_has(kind, sub)) text += fmt::format("{}{}", text.empty() ? "" : ", ", sub);
    }
    return fmt::format("a schedule of kind {} has {}",
                       kScheduleNames[static_cast<std::size_t>(kind)], text);
  }

  // Whether the key or a part of it was given.
  bool is_given(std::string_view path) const {
    const auto entry = entries_.lower_bound(path);
    return entry != entries_.end() && entry->first.starts_with(path) &&
           (entry->first.size() == path.size() || entry->first[path.size()] == '.');
  }

  // Sets what depends on other keys.
  void derive() {
    if (GraphOptions& graph = spec_.net.graph; !graph.file.empty()) {
      graph.edges = read_graph_file(graph.file);
      graph.kind = GraphKind::edges;
      graph.file.clear();
    }
    for (const Key& key : keys_) {
      if (key.set_default && !is_given(key.path)) key.set_default();
    }
    for (const Key& key : keys_) {
      const auto* schedule = std::get_if<Schedule*>(&key.field);
      if (schedule != nullptr && (*schedule)->over == kWholeRun)
        (*schedule)->over = spec_.run.steps;
    }
    spec_.algorithm->derive(spec_);
  }

  void refuse_idle_overrides() const {
    for (const auto& [path, entry] : entries_) {
      if (!entry.is_override) continue;
      for (const Key& key : keys_) {
        const bool belongs = path == key.path || (std::holds_alternative<Schedule*>(key.field) &&
                                                  parent_of(path) == key.path);
        const std::string_view because = belongs ? key.idle_reason() : "";
        if (!because.empty()) fail_at(entry.where, path, fmt::format("has no effect: {}", because));
      }
    }
  }

  // Where the key or its first part was given; the file if it was not given.
  std::string where(std::string_view path) const {
    const auto entry = entries_.lower_bound(path);
    return entry != entries_.end() && entry->first.starts_with(path) ? entry->second.where
                                                                     : origin_;
  }

  std::string origin_;
  TrainSpec spec_;
  Keys keys_;  // point into spec_
  std::map<std::string, std::vector<std::string>, std::less<>>
      children_;                                       // by path; "" is the root
  std::map<std::string, Entry, std::less<>> entries_;  // by path
};

}  // namespace

TrainSpec load_spec_text(std::string_view text, const std::string& origin,
                         std::span<const std::string> overrides) {
  const YAML::Node root = parse_yaml(text, origin, true);
  SpecReader reader(origin, named_algorithm(root, origin, overrides));
  reader.add_file(root);
  for (const std::string& override_text : overrides) reader.add_override(override_text);
  TrainSpec spec = reader.read();
  const std::string folder = std::filesystem::path(origin).parent_path().string();
  if (std::string& file = spec.learn.demonstrations; !file.empty()) {
    file = find_world_file(file, folder);
  }
  if (is_world_file(spec.env)) {
    spec.env = find_world_file(spec.env, folder);
    env_registry().forget(spec.env);  // the file may have changed
  }
  return spec;
}

}  // namespace hotloop
