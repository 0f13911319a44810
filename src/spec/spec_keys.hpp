// The one table of spec keys. To add a key, add a field to an options struct and a line to the
// table in spec_keys.cpp; then copy the new table into docs/specs.md (its test shows it).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spec/spec.hpp"

namespace hotloop {

// Allowed values of a number. An open end is excluded.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false;
  bool open_high = false;

  bool contains(double x) const {  // false for NaN
    return (open_low ? x > low : x >= low) && (open_high ? x < high : x <= high);
  }
  std::string text(std::string_view name) const;  // "0 <= name < 1"
};

// An enumeration whose values are 0, 1, 2, … in the order of their names.
struct Choice {
  void* field;
  std::span<const std::string_view> names;
  int (*get)(const void* field);
  void (*set)(void* field, int value);
};

template <class E>
Choice choice(E& field, std::span<const std::string_view> names) {
  return {&field, names,
          [](const void* from) { return static_cast<int>(*static_cast<const E*>(from)); },
          [](void* to, int value) { *static_cast<E*>(to) = static_cast<E>(value); }};
}

// Where a key's value lives. The table must be able to point at whatever a spec holds.
using Field = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, float*, double*,
                           std::string*, std::vector<int>*, std::vector<double>*,
                           std::vector<Branch>*, Schedule*, EnvOptions*, Choice>;

struct Key {
  std::string_view path;  // "algo.target.every"
  Field field;
  Range range;               // of a number, of each item of a list, of both ends of a schedule
  std::string_view about;    // for docs/specs.md
  std::string_view unset{};  // a word that stands for NaN, if NaN means something
  std::string_view default_text{};  // instead of the value, where the default depends on others
  bool required = false;

  std::string_view leaf() const { return path.substr(path.rfind('.') + 1); }
};

// The keys in the order in which they are written, pointing into `spec`.
std::vector<Key> spec_keys(TrainSpec& spec);

// The path of the key that is meant by `leaf` if it is the right one in the wrong place, two parts written
// as one word, or another program's name for it; else empty.
std::string key_elsewhere(std::span<const Key> keys, std::string_view leaf);

// The keys of a schedule that is not a plain number; its range applies to from and to.
inline constexpr std::array<std::string_view, 8> kScheduleKeys = {
    "kind", "from", "to", "over", "factor", "every", "after", "count"};
inline constexpr Range kSchedulePeriod = {1, 1e15};
inline constexpr Range kScheduleFactor = {0, 1e6};
inline constexpr Range kScheduleBegin = {0, 1e15};
// Whether schedules of this kind have that key. `after` and `count` may always be left out.
bool schedule_has(ScheduleKind kind, std::string_view key);
inline constexpr std::size_t kMostHiddenLayers = 32;  // of branches too, and of layers in each

// What on-policy learning makes per env step.
inline double updates_per_step_of_rollouts(const QOptions& q) {
  return static_cast<double>(q.epochs) / q.batch;
}

// Relations between keys, checked after all are read: what is wrong, and the key to blame.
struct Violation {
  std::string_view path;
  std::string text;
};
std::vector<Violation> spec_violations(const TrainSpec& spec);

// Why this key makes no difference to the run; empty if it does. A file may have such keys, so that
// switches can be turned off one by one; who gives one on the command line is told.
std::string_view idle_because(const TrainSpec& spec, std::string_view path);

}  // namespace hotloop
