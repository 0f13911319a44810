// Comparable timings: Google Benchmark runs all cases of a measurement in every turn, in random
// order, each case warm. The result is the median over the turns. A comparison of cases is the
// median of their ratios within a turn, because other load on the machine affects the whole turn.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "profile/peak.hpp"

namespace hotloop::bench {

struct Timing {
  double median_us = 0;
  double spread = 0;             // (third quartile - first quartile) / median
  std::vector<double> turns_us;  // one time per turn, in order
};

// Medians over the turns of one measurement.
double ratio(const Timing& of, const Timing& to);
double difference(const Timing& of, const Timing& from, const Timing& unit);  // in units

class Measurement {
 public:
  // `body` does the work once; it is repeated for a stable time.
  void add(const std::string& name, std::function<void()> body);
  // Runs all added cases. `seconds` is the time per case and turn.
  std::map<std::string, Timing> run(int turns = 9, double seconds = 0.01);

 private:
  std::map<std::string, std::function<void()>> cases_;
};

}  // namespace hotloop::bench
