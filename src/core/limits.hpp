// What the numbers of an array may be. The owner of an array states it once, where a visitor sees
// the array. A file that has other numbers is refused before anything is sized by them or indexed
// with them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace hotloop {

// The largest count that a file may state: integers up to here are exact in a double, and a sum of
// a few of them cannot overflow.
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;

class Limits {
 public:
  static constexpr Limits any() { return {-kInfinity, kInfinity, false, true}; }  // NaN too
  static constexpr Limits finite() { return {-kLargest, kLargest, false, false}; }
  static constexpr Limits between(double low, double high) { return {low, high, false, false}; }
  static constexpr Limits at_least(double low) { return between(low, kLargest); }
  static constexpr Limits integers(double low, double high) { return {low, high, true, false}; }
  static constexpr Limits count() { return integers(0, static_cast<double>(kMaxCount)); }
  static constexpr Limits flags() { return integers(0, 1); }
  static constexpr Limits index_below(double size) { return integers(0, size > 0 ? size - 1 : 0); }

  // The index of the first number outside. The first pass has no branch, so it is as fast as the
  // memory.
  template <class T>
  std::optional<std::size_t> first_outside(std::span<const T> values) const {
    const T low = as<T>(low_), high = as<T>(high_);
    const bool any_real = !is_integer_ || !std::is_floating_point_v<T>, nan = allows_nan_;
    const auto is_inside = [=](T value) {
      bool inside = (value >= low) & (value <= high);
      if constexpr (std::is_floating_point_v<T>) {
        inside = (inside & (any_real | (value == std::trunc(value)))) | (nan & (value != value));
      }
      return inside;
    };
    bool all = true;
    for (const T value : values) all &= is_inside(value);
    if (all) return std::nullopt;
    std::size_t at = 0;
    while (is_inside(values[at])) ++at;
    return at;
  }

  std::string text() const;  // "integers from 0 to 9"

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kLargest = std::numeric_limits<double>::max();

  constexpr Limits(double low, double high, bool is_integer, bool allows_nan)
      : low_(low), high_(high), is_integer_(is_integer), allows_nan_(allows_nan) {}

  // The bound as a number of the array's type: one beyond its range becomes the largest finite one,
  // except if there is no bound.
  template <class T>
  static constexpr T as(double bound) {
    using Type = std::numeric_limits<T>;
    if (std::is_floating_point_v<T> && (bound == kInfinity || bound == -kInfinity)) {
      return bound > 0 ? Type::infinity() : -Type::infinity();
    }
    if (bound <= static_cast<double>(Type::lowest())) return Type::lowest();
    if (bound >= static_cast<double>(Type::max())) return Type::max();
    return static_cast<T>(bound);
  }

  double low_, high_;
  bool is_integer_, allows_nan_;
};

}  // namespace hotloop
