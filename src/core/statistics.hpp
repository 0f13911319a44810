// What is said of several numbers: mean, spread, and how sure the mean is.
//
// The 95 % interval of the mean is a percentile bootstrap (Efron 1979): the mean of as many values drawn
// with replacement, 2,000 times over, and of these means the quantiles 2.5 % and 97.5 %. The draws come
// from one fixed stream: the same numbers in the same order give the same interval.
#pragma once

#include <limits>
#include <span>
#include <vector>

namespace hotloop {

// A number that was never measured, or does not apply.
inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Summary {
  double mean = 0;
  double std = 0;  // divided by count
  double low = 0;  // 95 % interval of the mean
  double high = 0;
  double largest = 0;
  int count = 0;  // values that are not NaN; without any, all of the above are NaN
};

// NaN values are left out. Costs 2,000 draws per value: for reports, never in training.
Summary summarise(std::span<const double> values);

// The value below which this share of the values lies, interpolated between neighbours; NaN if empty.
double quantile(std::vector<double> values, double share);

}  // namespace hotloop
