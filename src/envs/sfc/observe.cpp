// Observations and measures of an SFC world.
//
//   dc [14]        this centre: installed and idle instances per function, storage and CPU left
//   dc_sfc [6,13]  per type, the first request under way with a function at this centre: 1, a bit
//                  per function placed, a bit per function to come (by position: for a function
//                  that is twice in the chain, both bits can be 1)
//   global [6,10]  per type, the waiting requests: 1, their number, least time left (or 0),
//                  bandwidth of the first, how many of each function they need in total
// Rows without such a request are zeros.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "envs/sfc/world.hpp"

namespace hotloop {

double SfcWorld::bandwidth(const SfcRequest& request) const {
  const double fixed = type_of(request).bandwidth;
  return fixed > 0 ? fixed : request.kbps / 1000.0;
}

void SfcWorld::observe(float* obs, const std::array<float, 152>* scale) const {
  const int at = here();
  const SfcCentre& centre = centres[at];
  float* to = obs;
  for (int f = 0; f < kSfcFunctions; ++f) {
    *to++ = static_cast<float>(centre.installed[f]);
    *to++ = static_cast<float>(centre.idle(f));
  }
  *to++ = static_cast<float>(centre.storage);
  *to++ = static_cast<float>(centre.cpu);

  constexpr int kRequestFeatures = 1 + 2 * kSfcFunctions;
  for (int t = 0; t < kSfcTypes; ++t, to += kRequestFeatures) {
    const int slot = first_here[at][t];
    if (slot == kNoSfcRequest) {
      std::fill_n(to, kRequestFeatures, 0.0f);
    } else {
      std::copy_n(rules->types[t].progress[requests[slot].placed].data(), kRequestFeatures, to);
    }
  }

  constexpr int kTypeFeatures = 4 + kSfcFunctions;
  for (int t = 0; t < kSfcTypes; ++t, to += kTypeFeatures) {
    const List& list = waiting[t];
    if (list.size == 0) {
      std::fill_n(to, kTypeFeatures, 0.0f);
      continue;
    }
    const SfcRequest& first = requests[list.first];  // the oldest of its type
    to[0] = 1;
    to[1] = static_cast<float>(list.size);
    to[2] = static_cast<float>(std::max(0.0, remaining(first)));
    to[3] = static_cast<float>(bandwidth(first));
    for (int f = 0; f < kSfcFunctions; ++f) {
      to[4 + f] = static_cast<float>(list.size * rules->types[t].uses[f]);
    }
  }
  if (scale == nullptr) return;
  for (int i = 0; i < 152; ++i) obs[i] *= (*scale)[i];
}

void SfcWorld::measure(std::span<float> values) const {
  const auto share = [](double part, double whole) {
    return whole > 0 ? static_cast<float>(part / whole) : std::numeric_limits<float>::quiet_NaN();
  };
  const int all = std::accumulate(generated.begin(), generated.end(), 0);
  const int won = std::accumulate(satisfied.begin(), satisfied.end(), 0);
  const int lost = std::accumulate(dropped.begin(), dropped.end(), 0);
  int cpu = 0, all_cpu = 0;
  for (int c = 0; c < centre_count; ++c) {
    cpu += centres[c].cpu;
    all_cpu += centres[c].all_cpu;
  }
  values[0] = share(won, all);
  values[1] = share(won, won + lost);
  values[2] = share(delay_sum, won);
  values[3] = share(all_cpu - cpu, all_cpu);
  values[4] = static_cast<float>(all);
  values[5] = static_cast<float>(won);
  values[6] = static_cast<float>(lost);
  for (int t = 0; t < kSfcTypes; ++t) values[7 + t] = share(satisfied[t], generated[t]);
}

}  // namespace hotloop
