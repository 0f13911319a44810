// Timings that can be compared: Google Benchmark runs all cases of a measurement interleaved in
// random order, several times; what counts is the median.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "doctor/peak.hpp"

namespace hotloop::bench {

struct Timing {
  double median_us = 0;
  double spread = 0;  // (third quartile - first quartile) / median
};

class Measurement {
 public:
  // `body` does the work once; it is called often enough for a stable time.
  void add(const std::string& name, std::function<void()> body);
  // Runs everything that was added. `seconds` is the time of one repetition of one case.
  std::map<std::string, Timing> run(int repetitions = 9, double seconds = 0.01);

 private:
  std::map<std::string, std::function<void()>> cases_;
};

}  // namespace hotloop::bench
