// The options of SFC provisioning, and the rules that follow from them.
//
// A planner places chains of network functions (a service function chain: SFC) on the data centres
// of a network. It acts on one centre at a time. The environment follows a public trainer, DRL-NFV:
// `mode: reference` has its numbers and quirks, `mode: paper` those of the paper that it builds on
// (Onsu et al., "Unlocking Reconfigurability for Deep Reinforcement Learning in SFC Provisioning",
// 2024), as far as they are known:
//
//                     reference                          paper
//   bandwidth         Gbps, MIoT in Mbps; unlimited      Mbps; 1000 per link, reserved while served
//   MIoT limit        0.005 ms: cannot be met            5 ms
//   VoIP              three functions                    five, two of them twice
//   clock             0.01 ms per round of the centres   0.01 ms per action
//   order of centres  new after each round               new after each action
//   requests          once                               every 4 ms, five times
//   time-out          costs nothing                      -1.5
// Where the paper is not known to differ, paper mode keeps the rule of the reference. Both modes
// omit one rule: the time that a request waits for an earlier function of its own, of the same kind
// at the same centre. It cannot occur in chains without repetition, and its size is not known.
#pragma once

#include <hotloop/env.hpp>

#include <array>
#include <span>

namespace hotloop {

inline constexpr int kSfcFunctions = 6;  // NAT, FW, VOC, TM, WO, IDPS
inline constexpr int kSfcTypes = 6;      // CG, AR, VoIP, VS, MIoT, Ind4.0
inline constexpr int kSfcMaxCentres = 8;
inline constexpr int kSfcMaxChain = 5;
inline constexpr int kSfcRam = 256;  // per centre
inline constexpr int kSfcStorage = 2048;
inline constexpr double kSfcTick = 0.01;        // ms
inline constexpr int kSfcTicksPerMs = 100;      // 1 / kSfcTick
inline constexpr int kSfcLinkKbps = 1'000'000;  // per link, in paper mode
// Every chain begins with function 0, NAT. So it is the only function that can be placed for a
// waiting request. And every request under way holds a NAT instance, so RAM bounds their number.
inline constexpr int kSfcFirstFunction = 0;

struct SfcFunction {
  int cpu, ram, storage;
  double processing;  // ms
};
inline constexpr std::array<SfcFunction, kSfcFunctions> kSfcFunction = {{
    {1, 4, 7, 0.06},    // NAT
    {9, 5, 1, 0.03},    // FW
    {5, 11, 13, 0.11},  // VOC
    {13, 7, 7, 0.07},   // TM
    {5, 2, 5, 0.08},    // WO
    {11, 15, 2, 0.02},  // IDPS
}};
inline constexpr int kSfcActivePerCentre = kSfcRam / kSfcFunction[kSfcFirstFunction].ram;
inline constexpr int kSfcMaxPending = 8000;
inline constexpr int kSfcMaxRequests = kSfcMaxPending + kSfcActivePerCentre * kSfcMaxCentres;

struct SfcType {
  std::array<std::uint8_t, kSfcMaxChain> chain{};
  int length = 0;
  double bandwidth = 0;  // 0 = drawn per request, 1 to 50 in steps of 0.001
  double limit = 0;      // ms from creation to the end
  int min_bundle = 0;    // requests in a bundle
  int max_bundle = 0;    // inclusive

  double processing = 0;                  // of the whole chain, summed in order
  std::array<int, kSfcFunctions> uses{};  // how often each function is in the chain
  // The observation of a request, by number of placements: 1, the functions placed, the functions
  // to come. [length + 1, 13]
  std::array<std::array<float, 1 + 2 * kSfcFunctions>, kSfcMaxChain + 1> progress{};
};

struct SfcRules {
  bool paper = false;
  int min_centres = 2;  // the number of centres is drawn for each episode
  int max_centres = 8;
  int pending_cap = 50;
  int rounds = 1;    // generations of requests per episode
  int interval = 4;  // ms between them
  double traffic = 1;
  double timeout_reward = 0;
  double placement_reward = 0;
  bool mask = false;
  bool scale = false;
  int max_steps = 10050;
  int max_cpu = 119;  // the CPU of a centre is drawn from 12 to this
  std::array<SfcType, kSfcTypes> types{};

  // Requests that can be waiting or under way at the same time.
  int capacity() const { return pending_cap + kSfcActivePerCentre * max_centres; }
};

std::span<const EnvOption> sfc_options();

// `values` has one number per option, or is empty for the defaults. Throws UsageError if two
// options contradict each other.
SfcRules sfc_rules(std::span<const double> values);

EnvSpec sfc_spec(const SfcRules& rules);

// The factors that `scale` multiplies an observation by. Most values then lie within 1. Counts of
// waiting requests reach 5 when all five rounds of the paper wait, instances of a small function 8.
std::array<float, 152> sfc_scale(const SfcRules& rules);

}  // namespace hotloop
