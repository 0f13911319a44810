// YAML -> TrainSpec, in two passes.
//
// First every value of the file and of the overrides is filed under its dotted path together with
// where it stands; structure is checked here (unknown keys, duplicates, mappings where values
// belong). Later values replace earlier ones. Then each key of the table takes the value filed
// under its path, checked for type and range.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <hotloop/error.hpp>
#include <map>
#include <optional>
#include <set>

#include "core/text.hpp"
#include "env/registry.hpp"
#include "env/file/world_file.hpp"
#include "graph/graph_file.hpp"
#include "spec/spec.hpp"
#include "spec/spec_keys.hpp"

namespace hotloop {
namespace {

struct Entry {
  YAML::Node node;
  std::string where;  // "x.yaml:7" or "--set algo.batch=64"
  bool is_override = false;
};

[[noreturn]] void fail(std::string_view where, std::string_view path, std::string_view what) {
  throw UsageError(path.empty() ? fmt::format("{}: {}", where, what)
                                : fmt::format("{}: {}: {}", where, path, what));
}

// Text for a message: one line, not too long.
std::string shown(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  constexpr std::size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

std::string found(const YAML::Node& node) {
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a mapping";
  if (!node.IsScalar()) return "nothing";
  return is_quoted(node) ? fmt::format("the text \"{}\"", shown(node.Scalar()))
                         : shown(node.Scalar());
}

template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A whole number; also written like 1e5, as long as a double holds it exactly.
template <class T>
std::optional<T> whole_in(std::string_view text) {
  if (const auto value = number_in<T>(text)) return value;
  const std::optional<double> value = number_in<double>(text);
  const bool exact = value && *value == std::trunc(*value) && std::abs(*value) <= 0x1p53;
  return exact && (std::is_signed_v<T> || *value >= 0) ? std::optional(static_cast<T>(*value))
                                                       : std::nullopt;
}

constexpr std::string_view kEnvOptions = "env.options";

// Letters, digits, and those of `also`.
bool is_made_of(std::string_view text, std::string_view also) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           also.find(c) != also.npos;
  });
}

// Sets the field of one key from its node. One overload per type a field can have.
struct Setter {
  const Key& key;
  const Entry& entry;

  [[noreturn]] void wrong(std::string_view expected, std::string_view allowed) const {
    fail(entry.where, key.path,
         fmt::format("expected {}, found {}{}{}", expected, found(entry.node),
                     allowed.empty() ? "" : "; allowed: ", allowed));
  }
  std::string allowed() const { return key.range.text(key.leaf()); }

  // The scalar as text, if a number or a word may stand there.
  std::optional<std::string_view> plain(const YAML::Node& node) const {
    if (!node.IsScalar() || is_quoted(node)) return std::nullopt;
    return node.Scalar();
  }

  void check_range(const YAML::Node& node, double value, std::string_view name) const {
    if (!std::isfinite(value) || !key.range.contains(value)) {
      fail(entry.where, key.path,
           fmt::format("{} is out of range; allowed: {}", found(node), key.range.text(name)));
    }
  }

  std::int64_t whole(const YAML::Node& node, std::string_view expected,
                     std::string_view name) const {
    const std::optional<std::string_view> text = plain(node);
    const std::optional<std::int64_t> value = text ? whole_in<std::int64_t>(*text) : std::nullopt;
    if (!value) {
      // 1e30 and 99999999999999999999 are numbers, only too large.
      if (const auto large = text ? number_in<double>(*text) : std::nullopt;
          large && std::abs(*large) > 0x1p53) {
        check_range(node, *large, name);
      }
      wrong(expected, key.range.text(name));
    }
    check_range(node, static_cast<double>(*value), name);
    return *value;
  }

  template <class T>
  T real() const {
    const std::optional<std::string_view> text = plain(entry.node);
    const std::optional<T> value = text ? number_in<T>(*text) : std::nullopt;
    if (!value)
      wrong(key.unset.empty() ? "a number" : fmt::format("a number or {}", key.unset), allowed());
    check_range(entry.node, *value, key.leaf());
    return *value;
  }

  void operator()(bool* to) const {
    const std::optional<std::string_view> text = plain(entry.node);
    if (text != "true" && text != "false") wrong("true or false", "");
    *to = text == "true";
  }
  void operator()(int* to) const {
    *to = static_cast<int>(whole(entry.node, "a whole number", key.leaf()));
  }
  void operator()(std::int64_t* to) const { *to = whole(entry.node, "a whole number", key.leaf()); }
  void operator()(std::uint64_t* to) const {
    const std::optional<std::string_view> text = plain(entry.node);
    const std::optional<std::uint64_t> value = text ? whole_in<std::uint64_t>(*text) : std::nullopt;
    if (!value) wrong("a whole number", fmt::format("0 <= {} <= {}", key.leaf(), UINT64_MAX));
    *to = *value;
  }
  void operator()(float* to) const { *to = real<float>(); }
  void operator()(double* to) const {
    if (!key.unset.empty() && entry.node.IsScalar() && entry.node.Scalar() == key.unset) {
      *to = std::numeric_limits<double>::quiet_NaN();
    } else {
      *to = real<double>();
    }
  }
  void operator()(std::string* to) const {
    if (!entry.node.IsScalar()) wrong("text", "");
    *to = entry.node.Scalar();
  }
  void operator()(std::vector<int>* to) const {
    const std::string_view expected = "a list of whole numbers such as [64, 64]";
    if (!entry.node.IsSequence()) wrong(expected, "");
    if (entry.node.size() > kMostHiddenLayers) {
      fail(entry.where, key.path,
           fmt::format("{} items; allowed: up to {}", entry.node.size(), kMostHiddenLayers));
    }
    to->clear();
    for (const YAML::Node& item : entry.node) {
      to->push_back(static_cast<int>(whole(item, "whole numbers", "each")));
    }
  }
  void operator()(std::vector<double>* to) const {
    if (!entry.node.IsSequence()) wrong("a list of numbers such as [0.4, 0.3]", "");
    if (entry.node.size() > kMaxRewardParts) {
      fail(entry.where, key.path,
           fmt::format("{} items; allowed: up to {}", entry.node.size(), kMaxRewardParts));
    }
    to->clear();
    for (const YAML::Node& item : entry.node) {
      const std::optional<std::string_view> text = plain(item);
      const std::optional<double> value = text ? number_in<double>(*text) : std::nullopt;
      if (!value) wrong("numbers", key.range.text("each"));
      check_range(item, *value, "each");
      to->push_back(*value);
    }
  }
  void operator()(std::vector<Branch>* to) const {
    constexpr std::string_view kExpected = "branches such as {h: {from: part, layers: [dense 64]}}";
    if (!entry.node.IsMap()) wrong(kExpected, "");
    to->clear();
    for (const auto& item : entry.node) {
      const std::string name = item.first.IsScalar() ? item.first.Scalar() : "";
      const YAML::Node& parts = item.second;
      const std::string path = fmt::format("{}.{}", key.path, shown(name));
      if (!is_made_of(name, "_")) fail(entry.where, path, "a name has letters, digits and _ only");
      if (std::any_of(to->begin(), to->end(), [&](const Branch& b) { return b.name == name; }))
        fail(entry.where, path, "given twice");
      if (!parts.IsMap()) fail(entry.where, path, fmt::format("expected {}", kExpected));
      Branch branch{.name = name, .from = {}, .layers = {}};
      for (const auto& part : parts) {
        constexpr std::array<std::string_view, 2> kParts = {"from", "layers"};
        const std::string which = part.first.IsScalar() ? part.first.Scalar() : "";
        if (std::find(kParts.begin(), kParts.end(), which) == kParts.end()) {
          fail(entry.where, fmt::format("{}.{}", path, shown(which)),
               fmt::format("unknown key; {}", suggestion(which, kParts)));
        }
        (which == "from" ? branch.from : branch.layers) =
            texts(part.second, fmt::format("{}.{}", path, which));
      }
      to->push_back(branch);
    }
    if (to->size() > kMostHiddenLayers) {
      fail(entry.where, key.path,
           fmt::format("{} items; allowed: up to {}", to->size(), kMostHiddenLayers));
    }
  }
  // One text or a list of them: words, numbers, spaces.
  std::vector<std::string> texts(const YAML::Node& node, std::string_view path) const {
    std::vector<std::string> list;
    const auto add = [&](const YAML::Node& item) {
      std::string words = item.IsScalar() ? item.Scalar() : "";
      if (!is_made_of(words, "_ ")) {
        fail(entry.where, path,
             fmt::format("expected words such as \"dense 64\", found {}", found(item)));
      }
      list.push_back(std::move(words));
    };
    if (!node.IsSequence()) {
      add(node);
    } else {
      for (const YAML::Node& item : node) add(item);
    }
    if (list.size() > kMostHiddenLayers)
      fail(entry.where, path,
           fmt::format("{} items; allowed: up to {}", list.size(), kMostHiddenLayers));
    return list;
  }
  void operator()(Schedule* to) const {
    const std::optional<std::string_view> text = plain(entry.node);
    const std::optional<double> value = text ? number_in<double>(*text) : std::nullopt;
    if (!value) wrong("a number or {kind, from, to, over}", "");
    check_range(entry.node, *value, key.leaf());
    *to = constant(*value);
  }
  // One option more, as it is written: the environment says what it means.
  void operator()(EnvOptions* to) const {
    const std::string text = entry.node.IsScalar() ? entry.node.Scalar() : "";
    if (!is_made_of(text, "_.+-")) wrong("a number or a word", "");
    to->emplace_back(key.path.substr(kEnvOptions.size() + 1), text);
  }
  void operator()(const Choice& to) const {
    if (!entry.node.IsScalar()) wrong(fmt::format("one of {}", join(to.names)), "");
    const auto name = std::find(to.names.begin(), to.names.end(), entry.node.Scalar());
    if (name == to.names.end()) {
      fail(entry.where, key.path,
           fmt::format("\"{}\" is unknown; {}", shown(entry.node.Scalar()),
                       suggestion(entry.node.Scalar(), to.names)));
    }
    to.set(to.field, static_cast<int>(name - to.names.begin()));
  }
};

class SpecReader {
 public:
  explicit SpecReader(std::string origin) : origin_(std::move(origin)) {
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

  void add_file(std::string_view text) {
    const YAML::Node root = parse(text, origin_, true);
    if (root.IsNull()) fail(origin_, "", "the spec is empty; it needs at least env: {name: ...}");
    file(root, "", origin_, true);
  }

  void add_override(const std::string& given) {
    const std::string where = "--set " + shown(given);
    const std::string text = full_override(given, env_name());
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail(where, "", "expected key=value, such as algo.batch=64");
    }
    const std::string path = text.substr(0, equals);
    std::string known;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      const std::string prefix = path.substr(0, end);
      if (is_env_option(prefix)) break;
      if (!children_.contains(prefix) || end == begin)
        unknown(known, path.substr(begin, end - begin), where);
      known = prefix;
      begin = end + 1;
    }
    // A part of a schedule that the spec gives as a plain number has nothing to be a part of.
    const std::string parent = parent_of(path);
    if (entries_.contains(parent)) {
      fail(where, path,
           fmt::format("{} is the constant {} here; give it whole: {}={{kind: linear, "
                       "from: ..., to: ..., over: ...}}",
                       parent, found(entries_.at(parent).node), parent));
    }
    file(parse(text.substr(equals + 1), where, false), path, where, false);
  }

  TrainSpec read() {
    for (const Key& key : keys_) {
      const auto entry = entries_.find(key.path);
      if (auto* options = std::get_if<EnvOptions*>(&key.field)) {
        read_options(key, **options);
      } else if (entry != entries_.end()) {
        std::visit(Setter{key, entry->second}, key.field);
      } else if (auto* schedule = std::get_if<Schedule*>(&key.field)) {
        read_schedule(key, **schedule);
      } else if (key.required) {
        fail(origin_, key.path, "missing; every spec needs it");
      }
    }
    if (const std::string wrong = env_registry().name_error(spec_.env); !wrong.empty())
      fail(where("env.name"), "env.name", wrong);
    derive();
    for (const Violation& violation : spec_violations(spec_)) {
      fail(where(violation.path), violation.path, violation.text);
    }
    for (const auto& [path, entry] : entries_) {
      const std::string_view because = entry.is_override ? idle_because(spec_, path) : "";
      if (!because.empty()) fail(entry.where, path, fmt::format("has no effect: {}", because));
    }
    spec_.q.replay_capacity -= spec_.q.replay_capacity % spec_.envs;
    return spec_;
  }

 private:
  static std::string parent_of(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return std::string(path.substr(0, dot == std::string_view::npos ? 0 : dot));
  }

  // As far as it is given by now.
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

  static YAML::Node parse(std::string_view text, const std::string& where, bool lines) {
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
      if (documents.size() > 1) fail(where, "", "expected one YAML document, found several");
      return documents.empty() ? YAML::Node() : documents[0];
    } catch (const YAML::ParserException& error) {
      fail(lines ? fmt::format("{}:{}", where, error.mark.line + 1) : where, "",
           "not valid YAML: " + error.msg);
    } catch (const YAML::Exception& error) {
      fail(where, "", "not valid YAML: " + error.msg);
    }
  }

  // The environment's options are known to the environment alone.
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

  // Files `node`, which belongs to the known key or group `path`, and everything below it.
  void file(const YAML::Node& node, const std::string& path, const std::string& where, bool lines) {
    const bool schedule = is_schedule(path);
    if (schedule) {  // given anew as a whole
      entries_.erase(path);
      std::erase_if(entries_,
                    [&](const auto& entry) { return entry.first.starts_with(path + '.'); });
    }
    if (is_value(path) || (schedule && !node.IsMap())) {
      entries_[path] = {node, where, !lines};
      return;
    }
    if (node.IsNull()) return;  // a heading whose keys are all commented out
    if (!node.IsMap()) {
      const auto& known = children_.at(path);
      fail(where, path,
           fmt::format("expected a mapping with keys such as {}, found {}",
                       known.empty() ? "grid" : known[0], found(node)));
    }
    std::set<std::string> seen;
    for (const auto& child : node) {
      const std::string place =
          lines ? fmt::format("{}:{}", origin_, child.first.Mark().line + 1) : where;
      if (!child.first.IsScalar())
        fail(place, path, fmt::format("expected a key, found {}", found(child.first)));
      const std::string& name = child.first.Scalar();
      const std::string child_path = path.empty() ? name : fmt::format("{}.{}", path, name);
      const auto& known = children_.at(path);
      const bool is_known =
          is_env_option(child_path) || std::find(known.begin(), known.end(), name) != known.end();
      if (!is_known) unknown(path, name, place);
      if (!seen.insert(name).second) fail(place, child_path, "given twice");
      file(child.second, child_path, place, lines);
    }
  }

  // The known group `parent` has no key `leaf`.
  [[noreturn]] void unknown(const std::string& parent, const std::string& leaf,
                            const std::string& where) const {
    const std::string prefix = parent.empty() ? "" : parent + '.';
    const std::string path = prefix + leaf;
    const std::vector<std::string>& siblings = children_.at(parent);
    if (siblings.empty())
      fail(where, shown(path), fmt::format("unknown key; {} is a value", parent));
    if (const std::size_t dot = leaf.find('.');
        children_.contains(path) && dot != std::string::npos) {
      fail(where, path,
           fmt::format("in a file keys are nested; write {}: {{{}: ...}}", leaf.substr(0, dot),
                       leaf.substr(dot + 1)));
    }
    const std::vector<std::string_view> names(siblings.begin(), siblings.end());
    std::string near = key_elsewhere(keys_, leaf);
    if (near.empty()) {
      const std::string sibling = nearest(leaf, names);
      if (!sibling.empty()) near = prefix + sibling;
    }
    if (near.empty() && parent == "env") {  // or an option of the environment
      const std::string option = nearest(leaf, env_option_names(env_name()));
      if (!option.empty()) near = fmt::format("{}.{}", kEnvOptions, option);
    }
    fail(where, shown(path),
         near.empty()
             ? fmt::format("unknown key; allowed: {}", join(names))
             : fmt::format("unknown key; did you mean {}? (allowed: {})", near, join(names)));
  }

  void read_options(const Key& key, EnvOptions& to) const {
    const std::string prefix = std::string(key.path) + '.';
    for (auto entry = entries_.lower_bound(prefix);
         entry != entries_.end() && entry->first.starts_with(prefix); ++entry) {
      Setter{{entry->first, &to, {}, ""}, entry->second}(&to);
    }
  }

  // A schedule in parts. What is left out keeps the default's value, if the default has it.
  void read_schedule(const Key& key, Schedule& to) const {
    const std::string prefix = std::string(key.path) + '.';
    const auto is_given = [&](std::string_view sub) {
      return entries_.contains(prefix + std::string(sub));
    };
    if (std::none_of(kScheduleKeys.begin(), kScheduleKeys.end(), is_given)) return;
    const ScheduleKind before = to.kind;
    const auto part = [&](std::string_view sub, Field field, const Range& range, bool needed) {
      const std::string path = prefix + std::string(sub);
      const auto entry = entries_.find(path);
      if (entry != entries_.end()) {
        std::visit(Setter{{path, field, range, ""}, entry->second}, field);
      } else if (needed) {
        fail(where(prefix), path, fmt::format("missing; {}", parts_of(to.kind)));
      }
    };
    int kind = std::max(static_cast<int>(to.kind) - 1, 0);
    const auto names = std::span(kScheduleNames).subspan(1);  // a constant is a plain number
    part("kind", choice(kind, names), {}, before == ScheduleKind::constant);
    to.kind = static_cast<ScheduleKind>(kind + 1);
    for (std::string_view sub : kScheduleKeys) {
      if (!is_given(sub) || schedule_has(to.kind, sub)) continue;
      fail(where(prefix + std::string(sub)), prefix + std::string(sub),
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
    part("over", &to.over, kSchedulePeriod, needed("over"));
    part("factor", &to.factor, kScheduleFactor, needed("factor"));
    part("every", &to.every, kSchedulePeriod, needed("every"));
    part("after", &to.after, kScheduleBegin, false);
    part("count", choice(to.count, kCountNames), {}, false);
  }

  static std::string parts_of(ScheduleKind kind) {
    std::string text;
    for (std::string_view sub : kScheduleKeys) {
      if (schedule_has(kind, sub)) text += fmt::format("{}{}", text.empty() ? "" : ", ", sub);
    }
    return fmt::format("a schedule of kind {} has {}",
                       kScheduleNames[static_cast<std::size_t>(kind)], text);
  }

  // Defaults that depend on other keys.
  void derive() {
    QOptions& q = spec_.q;
    const auto otherwise = [&](std::string_view path, auto& field, auto value) {
      if (!entries_.contains(path)) field = value;
    };
    if (GraphOptions& graph = spec_.net.graph; !graph.file.empty()) {
      graph.edges = read_graph_file(graph.file);
      graph.kind = GraphKind::edges;
      graph.file.clear();
    }
    if (spec_.run.episodes > 0) otherwise("run.steps", spec_.run.steps, kNoLimit);
    if (spec_.optimiser.kind == OptimiserKind::adamw)
      otherwise("optimiser.weight_decay", spec_.optimiser.weight_decay, 0.01f);
    const auto epsilon = entries_.lower_bound("algo.epsilon");
    const bool has_epsilon =
        epsilon != entries_.end() && epsilon->first.starts_with("algo.epsilon");
    if (spec_.net.noisy != Noisy::none && !has_epsilon) q.epsilon = constant(0);
    if (spec_.algorithm == Algorithm::dqn) {
      otherwise("algo.train_every", q.train_every, std::int64_t{spec_.envs});
      return;
    }
    if (spec_.algorithm == Algorithm::ppo) {
      otherwise("algo.lambda", q.lambda, 0.95);
      otherwise("algo.rollout", q.rollout, 128);
      otherwise("algo.epochs", q.epochs, 4);
      otherwise("algo.loss", q.loss, Loss::mse);
      otherwise("algo.normalise.rewards", q.normalise_rewards, true);
      otherwise("net.activation", spec_.net.activation, Activation::tanh);
      otherwise("net.init", spec_.net.init, Initialiser::orthogonal);
      otherwise("optimiser.clip_norm", spec_.optimiser.clip_norm, 0.5f);
      if (!has_epsilon) q.epsilon = constant(0);
    }
    otherwise("algo.train_every", q.train_every, std::int64_t{q.rollout} * spec_.envs);
    otherwise("algo.updates_per_step", q.updates_per_step, updates_per_step_of_rollouts(q));
    otherwise("algo.learning_starts", q.learning_starts, std::int64_t{0});
    otherwise("algo.target.every", q.target_every, std::int64_t{0});
    if (spec_.algorithm == Algorithm::sarsa) otherwise("algo.lambda", q.lambda, 0.0);
    if (spec_.algorithm == Algorithm::pqn) {  // what it has instead of a target network
      const bool can = spec_.net.graph.kind == GraphKind::none && !spec_.net.hidden.empty() &&
                       spec_.net.dueling_hidden.empty();
      otherwise("net.layer_norm", spec_.net.layer_norm, can);
    }
  }

  // Where the key, or the first part of it, was given; the file if it was not.
  std::string where(std::string_view path) const {
    const auto entry = entries_.lower_bound(path);
    return entry != entries_.end() && entry->first.starts_with(path) ? entry->second.where
                                                                     : origin_;
  }

  std::string origin_;
  TrainSpec spec_;
  std::vector<Key> keys_ = spec_keys(spec_);
  std::map<std::string, std::vector<std::string>, std::less<>>
      children_;                                       // by path; "" is the root
  std::map<std::string, Entry, std::less<>> entries_;  // by path
};

}  // namespace

TrainSpec load_spec_text(std::string_view text, const std::string& origin,
                         std::span<const std::string> overrides) {
  SpecReader reader(origin);
  reader.add_file(text);
  for (const std::string& override_text : overrides) reader.add_override(override_text);
  TrainSpec spec = reader.read();
  if (is_world_file(spec.env)) {
    spec.env = find_world_file(spec.env, std::filesystem::path(origin).parent_path().string());
    env_registry().forget(spec.env);  // it may have been changed since
  }
  return spec;
}

}  // namespace hotloop
