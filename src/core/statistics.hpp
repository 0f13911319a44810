// Summary statistics: mean, spread, and a confidence interval of the mean.
//
// The 95 % interval of the mean is a percentile bootstrap (Efron 1979): draw as many values with
// replacement and take their mean, 2,000 times; the interval is from the 2.5 % to the 97.5 %
// quantile of these means. The random stream is fixed: the same numbers in the same order give the
// same interval.
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
  int count = 0;  // values that are not NaN; if 0, all of the above are NaN
};

// NaN values are left out. Costs 2,000 draws per value: for reports, never in training.
Summary summarise(std::span<const double> values);

// The quantile `share` of the values, interpolated between neighbours; NaN if empty.
double quantile(std::vector<double> values, double share);

}  // namespace hotloop
