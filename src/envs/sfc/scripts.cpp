// Scripted planners, as baselines for a learnt policy:
//   heuristic  the baseline of the reference, made to work. Requests are ordered by functions
//              placed (fewest first: the baseline places one function per request and pass), then
//              by least time left, then waiting before under way, each in list order. Each request
//              prefers one centre: its source or its destination, by the larger 100 [has a function
//              of it] + share of CPU left, the source on ties. Allocates the next function of the
//              first request that prefers this centre and whose next function has room here, else
//              waits. The world gives the allocation to the request with the most points, which may
//              be another one: that is the price of acting through actions.
//   greedy     the allowed allocation whose request is nearest to completion, the lower function on
//              ties, else wait
#include <tuple>

#include "envs/sfc/world.hpp"

namespace hotloop {
namespace {

constexpr int kWait = 2 * kSfcFunctions;

}  // namespace

int SfcWorld::play_heuristic() const {
  const int at = here();
  const SfcCentre& centre = centres[at];
  const auto worth = [&](const SfcRequest& request, int c) {
    return 100.0 * request.is_at(c) + static_cast<double>(centres[c].cpu) / centres[c].all_cpu;
  };
  const auto preferred = [&](const SfcRequest& request) -> int {
    return worth(request, request.destination) > worth(request, request.source)
               ? request.destination
               : request.source;
  };
  int action = kWait;
  std::tuple<int, double, std::uint32_t> best;
  const auto visit = [&](int slot) {
    const SfcRequest& request = requests[slot];
    const int function = type_of(request).chain[request.placed];
    const std::tuple key(static_cast<int>(request.placed), remaining(request), request.rank);
    if (action != kWait && key >= best) return;
    if (preferred(request) != at || !centre.has_room(function)) return;
    if (request.placed > 0 && !reaches(request, at)) return;
    action = kSfcFunctions + function;
    best = key;
  };
  for (const List& list : waiting) for_each(list, visit);
  for (const List& list : under_way) for_each(list, visit);
  return action;
}

int SfcWorld::play_greedy() const {
  int action = kWait;
  int fewest = kSfcMaxChain + 1;
  for (int f = 0; f < kSfcFunctions; ++f) {
    if (!centres[here()].has_room(f)) continue;
    const int slot = candidate(f);
    if (slot == kNoSfcRequest) continue;
    const int left = type_of(requests[slot]).length - requests[slot].placed;
    if (left >= fewest) continue;
    fewest = left;
    action = kSfcFunctions + f;
  }
  return action;
}

}  // namespace hotloop
