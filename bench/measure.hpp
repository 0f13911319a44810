// Timings that can be compared: Google Benchmark runs all cases of a measurement turn by turn, each turn
// in another random order, each case warm. What counts is the median over the turns; where cases are
// compared, that of their ratios within a turn, because a machine that is loud for a while is so for all.
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
  std::vector<double> turns_us;  // in their order
};

// Medians over the turns of one measurement.
double ratio(const Timing& of, const Timing& to);
double difference(const Timing& of, const Timing& from, const Timing& unit);  // in units

class Measurement {
 public:
  // `body` does the work once; it is called often enough for a stable time.
  void add(const std::string& name, std::function<void()> body);
  // Runs everything that was added. `seconds` is the time of one case's turn.
  std::map<std::string, Timing> run(int turns = 9, double seconds = 0.01);

 private:
  std::map<std::string, std::function<void()>> cases_;
};

}  // namespace hotloop::bench
