// Which request is next: points, the candidate of an allocation, routes through the network, masks.
//
//   points = (e - L) + P2 + P3   with age e, limit L, time left r = L - e
//   P2 = 10 if the centre has a function of the request, -5 if only others have one, 0 if none has
//   P3 = 100 / (r + 1e-6) if r < 10, else 0
//
// `candidate` looks at few requests, and finds the same one as a scan of all. Only the first
// function of a chain can be next for a waiting request. For waiting requests of a type, P2 is 0
// and the points do not fall with age up to the limit, so the oldest, the first in the list, has
// the most. Beyond the limit P3 changes its sign. This can last for one step, between the tick that
// makes a request too old and its drop. Then the whole list is scanned.
#include <limits>

#include "envs/sfc/world.hpp"

namespace hotloop {

double SfcWorld::score(const SfcRequest& request, int centre) const {
  const double limit = type_of(request).limit;
  const double age = clock - request.created;
  const double left = limit - age;
  double points = age - limit;
  if (request.placed > 0) points += request.is_at(centre) ? 10 : -5;
  if (left < 10) points += 100 / (left + 1e-6);
  return points;
}

int SfcWorld::candidate(int function) const {
  const int centre = here();
  int best = kNoSfcRequest;
  double best_points = 0;
  const auto offer = [&](int slot) {
    const double points = score(requests[slot], centre);
    const bool wins = best == kNoSfcRequest || points > best_points ||
                      (points == best_points && requests[slot].rank < requests[best].rank);
    if (!wins) return;
    best = slot;
    best_points = points;
  };
  if (function == kSfcFirstFunction) {
    for (const List& list : waiting) {
      if (list.size == 0) continue;
      if (is_expired(requests[list.first])) [[unlikely]] {
        for_each(list, offer);
      } else {
        offer(list.first);
      }
    }
  }
  for_each(under_way[function], [&](int slot) {
    if (reaches(requests[slot], centre)) offer(slot);
  });
  return best;
}

bool SfcWorld::has_candidate(int function) const {
  if (function == kSfcFirstFunction && pending > 0) return true;
  if (!rules->paper) return under_way[function].size > 0;
  return candidate(function) != kNoSfcRequest;
}

// Whether the next function of a request under way can be here: a path needs enough bandwidth.
bool SfcWorld::reaches(const SfcRequest& request, int centre) const {
  if (!rules->paper || request.last_host() == centre) return true;
  return route(request.last_host(), centre, request.kbps).count > 0;
}

// The direct link is never longer than a detour. If it is full: Dijkstra.
SfcRoute SfcWorld::route(int from, int to, int kbps) const {
  const auto is_free = [&](int a, int b) {
    return !rules->paper || free_kbps[sfc_link(a, b)] >= kbps;
  };
  SfcRoute path;
  if (is_free(from, to)) {
    path.delay = hop[from][to];
    path.links = 1u << sfc_link(from, to);
    path.count = 2;
    path.centres = {static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)};
    return path;
  }
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::array<double, kSfcMaxCentres> distance;
  std::array<std::uint8_t, kSfcMaxCentres> before{};
  distance.fill(kFar);
  distance[from] = 0;
  unsigned seen = 0;
  for (;;) {
    int nearest = -1;
    for (int c = 0; c < centre_count; ++c) {
      if ((seen >> c & 1) == 0 && distance[c] < kFar &&
          (nearest < 0 || distance[c] < distance[nearest])) {
        nearest = c;
      }
    }
    if (nearest < 0) return path;  // there is none
    if (nearest == to) break;
    seen |= 1u << nearest;
    for (int c = 0; c < centre_count; ++c) {
      if ((seen >> c & 1) != 0 || !is_free(nearest, c)) continue;
      const double along = distance[nearest] + hop[nearest][c];
      if (along >= distance[c]) continue;
      distance[c] = along;
      before[c] = static_cast<std::uint8_t>(nearest);
    }
  }
  path.delay = distance[to];
  for (int c = to; c != from; c = before[c]) ++path.count;
  int at = path.count++;
  for (int c = to; at >= 0; c = before[c]) {
    path.centres[at--] = static_cast<std::uint8_t>(c);
    if (c != from) path.links |= 1u << sfc_link(before[c], c);
  }
  return path;
}

// An action is allowed if, in the observed state, its reward would not be -1 or -0.5. (Before the
// first step there are no requests, so only waiting is allowed.)
void SfcWorld::mask(std::uint8_t* allowed) const {
  const SfcCentre& centre = centres[here()];
  for (int f = 0; f < kSfcFunctions; ++f) {
    allowed[f] = needed[f] == 0 && centre.idle(f) > 0;
    allowed[kSfcFunctions + f] = centre.has_room(f) && has_candidate(f);
  }
  allowed[2 * kSfcFunctions] = 1;
}

}  // namespace hotloop
