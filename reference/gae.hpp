// Generalised advantage estimation on growing lists: the slow twin of src/algo/common/returns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hotloop::reference {

struct GaeStep {
  double reward, value, next_value;
  bool terminated, truncated;
};

// A_t = delta_t + gamma lambda A_{t+1}, delta_t = r_t + gamma V_{t+1} - V_t, for one environment.
inline std::vector<double> gae(const std::vector<GaeStep>& steps, double gamma, double lambda) {
  std::vector<double> backwards;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const double next = step->terminated ? 0 : step->next_value;
    const double delta = step->reward + gamma * next - step->value;
    const bool ends = step->terminated || step->truncated || backwards.empty();
    backwards.push_back(ends ? delta : delta + gamma * lambda * backwards.back());
  }
  std::reverse(backwards.begin(), backwards.end());
  return backwards;
}

}  // namespace hotloop::reference
