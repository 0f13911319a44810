#include "envs/sfc/world.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

namespace hotloop {
namespace {

constexpr double kSide = 1000;    // km: centres lie in a square of this side
constexpr double kKmPerMs = 300;  // speed of light, as in the reference
constexpr int kMinCpu = 12;
constexpr int kMinKbps = 1000;  // drawn if the type has no fixed bandwidth
constexpr int kMaxKbps = 50000;
constexpr std::uint32_t kUnderWay = 1u << 31;  // the first rank of requests under way
// Subtracted from expiry times, for rounding: far more than the clock error, far less than a tick.
constexpr double kSlack = 1e-6;
constexpr double kNever = std::numeric_limits<double>::infinity();

constexpr double kSatisfied = 2;
constexpr double kTooLate = -1.5;
constexpr double kInvalid = -1;
constexpr double kStillNeeded = -0.5;

}  // namespace

void SfcWorld::clear_requests() {
  waiting.fill({});
  under_way.fill({});
  unused = {};
  used = 0;
  needed.fill(0);
  for (auto& types : first_here) types.fill(kNoSfcRequest);
  earliest_end = kNever;
}

void SfcWorld::measure_distances() {
  for (int a = 0; a < centre_count; ++a) {
    for (int b = 0; b < centre_count; ++b) {
      const double x = centres[a].x - centres[b].x;
      const double y = centres[a].y - centres[b].y;
      hop[a][b] = std::sqrt(x * x + y * y) / kKmPerMs;
    }
  }
}

void SfcWorld::clear() {
  static_cast<SfcState&>(*this) = {};
  rounds_left = rules->rounds;
  free_kbps.fill(kSfcLinkKbps);
  clear_requests();
  measure_distances();
}

void SfcWorld::reset(Rng& rng) {
  clear();
  const auto sizes = static_cast<std::uint32_t>(rules->max_centres - rules->min_centres + 1);
  centre_count = rules->min_centres + static_cast<int>(rng.below(sizes));
  for (int i = 0; i < centre_count; ++i) {
    SfcCentre& centre = centres[i];
    centre.x = rng.uniform(0, kSide);
    centre.y = rng.uniform(0, kSide);
    const auto choices = static_cast<std::uint32_t>(rules->max_cpu - kMinCpu + 1);
    centre.all_cpu = centre.cpu = kMinCpu + static_cast<int>(rng.below(choices));
  }
  measure_distances();
}

void SfcWorld::place(std::span<const SfcCentre> given, std::span<const SfcWaiting> requests_given) {
  clear();
  rounds_left = 0;
  centre_count = static_cast<int>(given.size());
  std::copy(given.begin(), given.end(), centres.begin());
  measure_distances();
  for (const SfcWaiting& one : requests_given) {
    assert(pending < rules->pending_cap);
    assert(waiting[one.type].size == 0 || requests[waiting[one.type].last].created <= one.created);
    arrive(one.type, one.source, one.destination, one.created, one.kbps);
  }
}

// If the list is full the round is lost: it counts, but no request arrives.
void SfcWorld::generate(Rng& rng) {
  --rounds_left;
  next_round += rules->interval * kSfcTicksPerMs;
  if (pending >= rules->pending_cap) return;
  std::array<int, kSfcTypes> types;
  std::iota(types.begin(), types.end(), 0);
  const int chosen = 1 + static_cast<int>(rng.below(kSfcTypes));
  for (int i = 0; i < chosen && pending < rules->pending_cap; ++i) {
    std::swap(types[i], types[i + rng.below(kSfcTypes - i)]);
    const SfcType& type = rules->types[types[i]];
    const int drawn =
        type.min_bundle + static_cast<int>(rng.below(type.max_bundle - type.min_bundle + 1));
    const int bundle = std::max(1, static_cast<int>(drawn * rules->traffic));
    const int size = std::min(bundle, rules->pending_cap - pending);
    for (int k = 0; k < size; ++k) {
      const auto source = static_cast<int>(rng.below(centre_count));
      const auto other = static_cast<int>(rng.below(centre_count - 1));
      const int kbps = type.bandwidth > 0
                           ? 0  // fixed by the type
                           : kMinKbps + static_cast<int>(rng.below(kMaxKbps - kMinKbps + 1));
      arrive(types[i], source, other + (other >= source), clock, kbps);
    }
  }
}

void SfcWorld::arrive(int type, int source, int destination, double created, int kbps) {
  const SfcType& kind = rules->types[type];
  const int slot = take();
  SfcRequest& request = requests[slot];
  request = {};
  request.created = created;
  request.id = arrivals++;
  request.rank = static_cast<std::uint32_t>(request.id);
  request.kbps = kind.bandwidth > 0 ? static_cast<int>(std::lround(kind.bandwidth * 1000)) : kbps;
  request.type = static_cast<std::uint8_t>(type);
  request.source = static_cast<std::uint8_t>(source);
  request.destination = static_cast<std::uint8_t>(destination);
  add(waiting[type], slot);
  ++pending;
  ++generated[type];
  for (int f = 0; f < kSfcFunctions; ++f) needed[f] += kind.uses[f];
  earliest_end = std::min(earliest_end, created + kind.limit - kSlack);
}

Step SfcWorld::step(int action, Rng& rng) {
  // In reference mode a tick starts at the first centre of the order, so a round does too.
  if (ticks == next_round && rounds_left > 0) generate(rng);
  double reward = 0;
  if (action < kSfcFunctions) {
    reward = uninstall(action);
  } else if (action < 2 * kSfcFunctions) {
    reward = allocate(action - kSfcFunctions);
  }
  if (clock >= earliest_end) reward += rules->timeout_reward * drop_expired();
  advance();
  return {static_cast<float>(reward), pending + active == 0 && rounds_left == 0};
}

double SfcWorld::uninstall(int function) {
  SfcCentre& centre = centres[here()];
  if (needed[function] > 0) return kStillNeeded;
  if (centre.idle(function) == 0) return kInvalid;
  const SfcFunction& need = kSfcFunction[function];
  --centre.installed[function];
  centre.cpu += need.cpu;
  centre.ram += need.ram;
  centre.storage += need.storage;
  return 0;
}

double SfcWorld::allocate(int function) {
  if (!centres[here()].has_room(function)) return kInvalid;
  const int slot = candidate(function);
  return slot == kNoSfcRequest ? kInvalid : put(slot, function);
}

// The function is the next one of the request, and there is room for it here.
double SfcWorld::put(int slot, int function) {
  const int at = here();
  SfcCentre& centre = centres[at];
  if (centre.idle(function) == 0) {
    const SfcFunction& need = kSfcFunction[function];
    ++centre.installed[function];
    centre.cpu -= need.cpu;
    centre.ram -= need.ram;
    centre.storage -= need.storage;
  }
  ++centre.busy[function];
  --needed[function];

  SfcRequest& request = requests[slot];
  if (request.placed == 0) {
    remove(waiting[request.type], slot);
    --pending;
    ++active;
    request.rank = kUnderWay | static_cast<std::uint32_t>(activations++);
  } else {
    remove(under_way[function], slot);
    if (request.last_host() != at) {
      const SfcRoute path = route(request.last_host(), at, request.kbps);
      request.hops += path.delay;
      if (rules->paper) {
        request.links[request.placed - 1] = path.links;
        for (int i = 1; i < path.count; ++i) {
          free_kbps[sfc_link(path.centres[i - 1], path.centres[i])] -= request.kbps;
        }
      }
    }
  }
  request.hosts[request.placed++] = static_cast<std::uint8_t>(at);
  request.visited |= static_cast<std::uint8_t>(1u << at);
  note_first(slot, at);

  const SfcType& type = type_of(request);
  if (request.placed < type.length) {
    add(under_way[type.chain[request.placed]], slot);
    return rules->placement_reward;
  }
  // The paths from the source and to the destination do not count.
  const double delay = request.hops + type.processing;
  const bool in_time = delay <= remaining(request);
  if (in_time) delay_sum += delay;
  end(slot, in_time);
  return in_time ? kSatisfied : kTooLate;
}

// The request has left its list. Its instances stay installed, idle.
void SfcWorld::end(int slot, bool is_satisfied) {
  const SfcRequest request = requests[slot];
  const SfcType& type = type_of(request);
  for (int i = 0; i < type.length; ++i) {
    if (i < request.placed) {
      --centres[request.hosts[i]].busy[type.chain[i]];
    } else {
      --needed[type.chain[i]];
    }
  }
  for (const std::uint32_t links : request.links) {
    for (std::uint32_t left = links; left != 0; left &= left - 1) {
      free_kbps[__builtin_ctz(left)] += request.kbps;
    }
  }
  --(request.placed == 0 ? pending : active);
  ++(is_satisfied ? satisfied : dropped)[request.type];
  add(unused, slot);
  for (int c = 0; c < centre_count; ++c) {
    if (first_here[c][request.type] == slot) find_first(request.type, c);
  }
}

int SfcWorld::drop_expired() {
  int count = 0;
  const auto drop_from = [&](List& list) {
    for_each(list, [&](int slot) {
      if (!is_expired(requests[slot])) return;
      remove(list, slot);
      end(slot, false);
      ++count;
    });
  };
  for (List& list : waiting) drop_from(list);
  for (List& list : under_way) drop_from(list);
  find_earliest_end();
  return count;
}

void SfcWorld::find_earliest_end() {
  earliest_end = kNever;
  const auto visit = [&](int slot) {
    const double end_of_it = requests[slot].created + type_of(requests[slot]).limit - kSlack;
    earliest_end = std::min(earliest_end, end_of_it);
  };
  for (const List& list : waiting) {
    if (list.size > 0) visit(list.first);  // the oldest of its type
  }
  for (const List& list : under_way) for_each(list, visit);
}

void SfcWorld::advance() {
  const bool wraps = ++position == centre_count;
  if (wraps) position = 0;
  if (!wraps && !rules->paper) return;
  ++ticks;
  // The reference adds up its ticks, so its clock has the rounding errors of the sum.
  clock = rules->paper ? ticks * kSfcTick : clock + kSfcTick;
  refresh_order();
}

// The most urgent waiting request is the first one with the least time left. In paper mode it may
// have no route. Then the order is ascending, as without any request.
void SfcWorld::refresh_order() {
  const SfcRequest* urgent = nullptr;
  double least = kNever;
  for (const List& list : waiting) {
    if (list.size == 0) continue;
    const SfcRequest& first = requests[list.first];
    const double left = remaining(first);
    if (left < least || (left == least && first.rank < urgent->rank)) {
      urgent = &first;
      least = left;
    }
  }
  int count = 0;
  unsigned taken = 0;
  if (urgent != nullptr) {
    const SfcRoute path = route(urgent->source, urgent->destination, urgent->kbps);
    for (; count < path.count; ++count) {
      order[count] = path.centres[count];
      taken |= 1u << path.centres[count];
    }
  }
  for (int c = 0; c < centre_count; ++c) {
    if ((taken >> c & 1) == 0) order[count++] = static_cast<std::uint8_t>(c);
  }
}

void SfcWorld::note_first(int slot, int centre) {
  std::uint16_t& first = first_here[centre][requests[slot].type];
  if (first == kNoSfcRequest || requests[slot].rank < requests[first].rank) {
    first = static_cast<std::uint16_t>(slot);
  }
}

void SfcWorld::find_first(int type, int centre) {
  first_here[centre][type] = kNoSfcRequest;
  for (const List& list : under_way) {
    for_each(list, [&](int slot) {
      if (requests[slot].type == type && requests[slot].is_at(centre)) note_first(slot, centre);
    });
  }
}

int SfcWorld::take() {
  if (unused.size == 0) {
    assert(used < rules->capacity());
    return used++;
  }
  const int slot = unused.first;
  remove(unused, slot);
  return slot;
}

void SfcWorld::add(List& list, int slot) {
  const auto number = static_cast<std::uint16_t>(slot);
  requests[slot].next = kNoSfcRequest;
  requests[slot].previous = list.last;
  (list.last == kNoSfcRequest ? list.first : requests[list.last].next) = number;
  list.last = number;
  ++list.size;
}

void SfcWorld::remove(List& list, int slot) {
  const SfcRequest& request = requests[slot];
  (request.previous == kNoSfcRequest ? list.first : requests[request.previous].next) = request.next;
  (request.next == kNoSfcRequest ? list.last : requests[request.next].previous) = request.previous;
  --list.size;
}

}  // namespace hotloop
