// Reads the values of an environment's options in the order of its table, and checks the names.
#pragma once

#include <hotloop/env.hpp>

#include <cassert>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

namespace hotloop {

class OptionReader {
 public:
  // `values` has one number per option, or is empty for the defaults.
  OptionReader(std::span<const EnvOption> options, std::span<const double> values)
      : options_(options), values_(values) {
    assert(values.empty() || values.size() == options.size());
  }

  // `if_not_set` replaces NaN, which marks an option whose default depends on other options.
  double number(std::string_view name,
                double if_not_set = std::numeric_limits<double>::quiet_NaN()) {
    assert(options_[at_].name == name);
    (void)name;
    const double value = values_.empty() ? options_[at_].initial : values_[at_];
    ++at_;
    return std::isnan(value) ? if_not_set : value;
  }
  int integer(std::string_view name, int if_not_set = 0) {
    return static_cast<int>(number(name, if_not_set));
  }
  bool is_second(std::string_view name) { return integer(name) == 1; }  // for options of two words

 private:
  std::span<const EnvOption> options_;
  std::span<const double> values_;
  std::size_t at_ = 0;
};

}  // namespace hotloop
