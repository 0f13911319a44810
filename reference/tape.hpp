// Numbers that record the operations that made them, so that a formula, written once, gives its own
// derivatives (reverse-mode automatic differentiation). For slow twins only: every operation takes
// memory until the tape is cleared.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace hotloop::reference {

class Taped {
 public:
  Taped(double value = 0) : value_(value) {}  // a constant

  // A number that results can be differentiated with respect to.
  static Taped variable(double value) { return record(value, -1, 0, -1, 0); }

  double value() const { return value_; }

  static void clear() { tape().clear(); }
  // The derivative of L with respect to every recorded number, given those with respect to
  // `results`.
  static std::vector<double> differentiate(const std::vector<Taped>& results,
                                           const std::vector<double>& d) {
    std::vector<double> sums(tape().size(), 0.0);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].index_ >= 0) sums[results[i].index_] += d[i];
    }
    for (std::int64_t i = static_cast<std::int64_t>(sums.size()) - 1; i >= 0; --i) {
      const Entry& entry = tape()[i];
      if (entry.first >= 0) sums[entry.first] += entry.by_first * sums[i];
      if (entry.second >= 0) sums[entry.second] += entry.by_second * sums[i];
    }
    return sums;
  }
  double of(const std::vector<double>& derivatives) const {
    return index_ < 0 ? 0 : derivatives[index_];
  }

  friend Taped operator+(Taped a, Taped b) {
    return record(a.value_ + b.value_, a.index_, 1, b.index_, 1);
  }
  friend Taped operator-(Taped a, Taped b) {
    return record(a.value_ - b.value_, a.index_, 1, b.index_, -1);
  }
  friend Taped operator*(Taped a, Taped b) {
    return record(a.value_ * b.value_, a.index_, b.value_, b.index_, a.value_);
  }
  friend Taped operator/(Taped a, Taped b) {
    const double q = a.value_ / b.value_;
    return record(q, a.index_, 1 / b.value_, b.index_, -q / b.value_);
  }
  Taped& operator+=(Taped other) { return *this = *this + other; }
  friend Taped exp(Taped a) {
    const double e = std::exp(a.value_);
    return record(e, a.index_, e, -1, 0);
  }
  friend Taped sqrt(Taped a) {
    const double root = std::sqrt(a.value_);
    return record(root, a.index_, 0.5 / root, -1, 0);
  }
  friend Taped erf(Taped a) {
    const double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-a.value_ * a.value_);
    return record(std::erf(a.value_), a.index_, slope, -1, 0);
  }

 private:
  struct Entry {
    std::int32_t first, second;  // indices of the operands; -1: none, or a constant
    double by_first, by_second;  // derivatives with respect to the operands
  };
  static std::vector<Entry>& tape() {
    thread_local std::vector<Entry> entries;
    return entries;
  }
  static Taped record(double value, std::int32_t first, double by_first, std::int32_t second,
                      double by_second) {
    Taped result(value);
    result.index_ = static_cast<std::int32_t>(tape().size());
    tape().push_back({first, second, by_first, by_second});
    return result;
  }

  double value_;
  std::int32_t index_ = -1;
};

}  // namespace hotloop::reference
