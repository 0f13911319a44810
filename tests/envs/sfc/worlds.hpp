// Helpers for the tests of SFC: worlds made from options as text, stepped one at a time.
#pragma once

#include <array>
#include <vector>

#include "env/options.hpp"
#include "env/registry.hpp"
#include "envs/sfc/sfc.hpp"

namespace hotloop {

// Actions and types by name.
inline constexpr int kNat = 0, kFw = 1, kVoc = 2, kTm = 3, kWo = 4, kIdps = 5;
inline constexpr int kUninstall = 0, kAllocate = 6, kWait = 12;
inline constexpr int kCg = 0, kAr = 1, kVoip = 2, kVs = 3, kMiot = 4, kInd = 5;

inline std::vector<double> sfc_values(const EnvOptions& options) {
  return option_values(find_env("sfc"), options);
}

inline SfcRules sfc_rules_of(const EnvOptions& options) { return sfc_rules(sfc_values(options)); }

// A centre at (x, 0) km.
inline SfcCentre centre_at(double x, int cpu = 119) {
  SfcCentre centre;
  centre.x = x;
  centre.all_cpu = centre.cpu = cpu;
  return centre;
}

// One world.
struct OneSfc {
  SfcArray array;
  std::uint64_t steps = 0;

  explicit OneSfc(const EnvOptions& options = {}) : array(1, sfc_rules_of(options)) {}
  explicit OneSfc(const SfcRules& rules) : array(1, rules) {}

  const SfcWorld& world() const { return array.world(0); }
  void place(std::vector<SfcCentre> centres, std::vector<SfcWaiting> waiting) {
    array.place(0, centres, waiting);
  }
  void reset(std::uint64_t seed) {
    Rng rng(seed, Purpose::test, 0, 0);
    array.reset(0, rng);
  }
  Step step(int action) {
    std::array<std::int32_t, 1> actions = {action};
    std::array<float, 1> reward;
    std::array<std::uint8_t, 1> terminated;
    array.step(0, 1, actions, 11, Purpose::test, ++steps, reward, terminated);
    return {reward[0], terminated[0] != 0};
  }
  // Waits until it is this centre's turn.
  void go_to(int centre) {
    while (world().here() != centre) step(kWait);
  }
  std::vector<float> observe() const {
    std::vector<float> obs(array.spec().obs);
    array.observe(0, 1, obs);
    return obs;
  }
  std::vector<int> mask() const {
    std::vector<std::uint8_t> allowed(array.spec().actions);
    array.mask(0, 1, allowed);
    return {allowed.begin(), allowed.end()};
  }
  float measure(std::string_view name) const {
    std::array<float, kMaxMeasures> values{};
    array.measure(0, values);
    for (int i = 0; i < array.spec().measure_count(); ++i) {
      if (array.spec().measures[i] == name) return values[i];
    }
    return -1;
  }
  // The id of the request that would get an allocation, or -1.
  int chosen(int function) const {
    const int slot = world().candidate(function);
    return slot == kNoSfcRequest ? -1 : world().requests[slot].id;
  }
};

}  // namespace hotloop
