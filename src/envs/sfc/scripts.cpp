// Planners that place by rule, to compare a learnt policy with:
//   heuristic  the baseline of the reference, made to work. Requests in the order of functions placed
//              (fewest first, as it places one function per request and pass), then least time left,
//              then those waiting before those under way, each in list order. Each request wants one
//              centre: of its source and destination the one with more of 100 [has a function of it] +
//              share of CPU left, the source on ties. The first request that wants this centre, and
//              whose next function finds room here, has that function allocated; else wait. As the
//              world gives what is allocated to the request with most points, it may go to another
//              one: that is the price of acting through actions.
//   greedy     of the allocations that are allowed here the one whose request is nearest to its end,
//              the lower function on ties; else wait
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
  const auto wanted = [&](const SfcRequest& request) -> int {
    return worth(request, request.destination) > worth(request, request.source)
               ? request.destination
               : request.source;
  };
  int action = kWait;
  std::tuple<int, double, std::uint32_t> best;
  const auto see = [&](int slot) {
    const SfcRequest& request = requests[slot];
    const int function = type_of(request).chain[request.placed];
    const std::tuple key(static_cast<int>(request.placed), remaining(request), request.rank);
    if (action != kWait && key >= best) return;
    if (wanted(request) != at || !centre.has_room(function)) return;
    if (request.placed > 0 && !reaches(request, at)) return;
    action = kSfcFunctions + function;
    best = key;
  };
  for (const List& list : waiting) for_each(list, see);
  for (const List& list : under_way) for_each(list, see);
  return action;
}

int SfcWorld::play_greedy() const {
  int action = kWait;
  int fewest = kSfcLongestChain + 1;
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
