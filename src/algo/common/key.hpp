// A spec key, declared once: where its value is stored, its range, its meaning, a default that
// depends on other keys, and when it has an effect. Reader, writer, messages and docs/specs.md are
// generated from it. To add a key, add a field to an options struct and a Key for it.
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

// Allowed values of a number. An open bound is excluded.
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

// Steps are counted as int64 and converted to double. Up to here both are exact.
inline constexpr double kMaxSteps = 1e15;
inline constexpr Range kShare = {0, 1};
inline constexpr Range kDecay = {.low = 0, .high = 1, .open_high = true};
// The most numbers drawn from one random stream; fits its counter.
inline constexpr std::int64_t kMaxDraws = std::int64_t{1} << 25;

// An enum field; its values are 0, 1, 2, ... in the order of `names`.
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
  Range range;                      // of a number, each item of a list, or both ends of a schedule
  std::string_view about;           // the meaning in docs/specs.md
  std::string_view unset{};         // the word for NaN or, of an integer, 0, if that is allowed
  std::string_view default_text{};  // for docs/specs.md, if the default depends on other keys
  bool required = false;
  std::function<void()> set_default{};  // sets such a default, after all keys have been read

  // If it does not hold, the key has no effect, for this reason. Such keys are allowed in a file,
  // so that switches can be turned off one by one, but refused on the command line.
  struct Condition {
    std::function<bool()> holds;
    std::string_view reason;
  };
  std::vector<Condition> conditions{};

  std::string_view leaf() const { return path.substr(path.rfind('.') + 1); }
  std::string_view idle_reason() const {
    for (const Condition& condition : conditions) {
      if (!condition.holds()) return condition.reason;
    }
    return {};
  }

  // For declaring a key in one expression.
  Key only_if(std::function<bool()> holds, std::string_view because) && {
    conditions.push_back({std::move(holds), because});
    return std::move(*this);
  }
  Key by_default(std::string_view text, std::function<void()> set) && {
    default_text = text;
    set_default = std::move(set);
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

// A combination of valid values that makes no sense, and the key to blame.
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
