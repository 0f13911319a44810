// A key of a spec, stated once: where its value lives, its range, its meaning, its default where that
// follows from other keys, and when it makes a difference. Reader, writer, messages and docs/specs.md
// follow from it. To add one: a field in an options struct and a Key beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/schedule.hpp"
#include "env/options.hpp"
#include "net/options.hpp"

namespace hotloop {

class Algorithm;

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

// Steps are counted in 64 bits and converted to double: up to here both are exact.
inline constexpr double kMany = 1e15;
inline constexpr Range kShare = {0, 1};
inline constexpr Range kDecay = {.low = 0, .high = 1, .open_high = true};
// Numbers that one random stream can be asked for, and that fit their counters.
inline constexpr std::int64_t kMaxDraws = std::int64_t{1} << 25;

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

using Field = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, float*, double*,
                           std::string*, std::vector<int>*, std::vector<double>*,
                           std::vector<Branch>*, Schedule*, EnvOptions*, const Algorithm**, Choice>;

struct Key {
  std::string_view path;  // "algo.target.every"
  Field field;
  Range range;               // of a number, of each item of a list, of both ends of a schedule
  std::string_view about;    // for docs/specs.md
  std::string_view unset{};  // a word that stands for NaN, if NaN means something
  std::string_view default_text{};  // for docs/specs.md, where the default follows from other keys
  bool required = false;
  std::function<void()> otherwise{};  // sets such a default, after all keys were read

  // Without it being true, the key makes no difference, for this reason. A file may have such keys, so
  // that switches can be turned off one by one; on the command line they are refused.
  struct Condition {
    std::function<bool()> holds;
    std::string_view otherwise;
  };
  std::vector<Condition> conditions{};

  std::string_view leaf() const { return path.substr(path.rfind('.') + 1); }
  std::string_view idle_because() const {
    for (const Condition& condition : conditions) {
      if (!condition.holds()) return condition.otherwise;
    }
    return {};
  }

  // To state a key in one expression.
  Key only_if(std::function<bool()> holds, std::string_view because) && {
    conditions.push_back({std::move(holds), because});
    return std::move(*this);
  }
  Key by_default(std::string_view text, std::function<void()> set) && {
    default_text = text;
    otherwise = std::move(set);
    return std::move(*this);
  }
  Key or_unset(std::string_view word) && {
    unset = word;
    return std::move(*this);
  }
};

using Keys = std::vector<Key>;
inline void append(Keys& keys, Keys more) {
  keys.insert(keys.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

// What is wrong with a spec whose keys are each in range, and the key to blame.
struct Violation {
  std::string_view path;
  std::string text;
};
class Violations {
 public:
  void blame(std::string_view path, std::string text) { found_.push_back({path, std::move(text)}); }
  void blame_if(bool wrong, std::string_view path, std::string_view text) {
    if (wrong) blame(path, std::string(text));
  }
  void check_schedule(std::string_view path, const Schedule& schedule);
  const std::vector<Violation>& found() const { return found_; }

 private:
  std::vector<Violation> found_;
};

}  // namespace hotloop
