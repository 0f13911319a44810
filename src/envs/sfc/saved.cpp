// The saved form of an SFC world, and whether bytes from a file are one. The invariants of world.hpp
// are checked, because steps rely on them: a request of an unknown type, a placement at a centre that
// does not exist or a reservation that nobody made would be an index out of bounds later.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "envs/sfc/world.hpp"

namespace hotloop {
namespace {

// Counters of an episode stay far below this; sums of a few cannot overflow.
constexpr std::int32_t kMaxCounter = 1 << 27;
constexpr double kMaxTime = 1e9;  // ms

template <class T>
bool is_within(T value, T low, T high) {
  return value >= low && value <= high;  // false for NaN
}

bool is_state(const SfcState& s, const SfcRules& rules) {
  const int limit = std::max(2, rules.max_centres);
  if (!is_within(s.centre_count, 2, limit) || !is_within(s.position, 0, s.centre_count - 1) ||
      !is_within(s.pending, 0, rules.pending_cap) ||
      !is_within(s.active, 0, kSfcActivePerCentre * rules.max_centres) ||
      !is_within(s.rounds_left, 0, rules.rounds) || !is_within(s.clock, 0.0, kMaxTime) ||
      !is_within(s.delay_sum, 0.0, kMaxTime)) {
    return false;
  }
  for (const std::int32_t counter : {s.ticks, s.next_round, s.arrivals, s.activations}) {
    if (!is_within(counter, 0, kMaxCounter)) return false;
  }
  for (const auto* counters : {&s.generated, &s.satisfied, &s.dropped}) {
    for (const std::int32_t counter : *counters) {
      if (!is_within(counter, 0, kMaxCounter)) return false;
    }
  }
  unsigned seen = 0;  // the order has every centre once
  for (int i = 0; i < s.centre_count; ++i) {
    if (s.order[i] < s.centre_count) seen |= 1u << s.order[i];
  }
  return seen + 1 == 1u << s.centre_count;
}

// Resources that are free and those of the instances are at most what a centre begins with.
bool is_centre(const SfcCentre& centre) {
  constexpr double kFar = 1e6;  // km
  constexpr int kMaxCpu = 1'000'000;
  if (!is_within(centre.x, -kFar, kFar) || !is_within(centre.y, -kFar, kFar)) return false;
  if (!is_within(centre.all_cpu, 0, kMaxCpu) || !is_within(centre.cpu, 0, centre.all_cpu) ||
      !is_within(centre.ram, 0, kSfcRam) || !is_within(centre.storage, 0, kSfcStorage)) {
    return false;
  }
  int cpu = centre.cpu, ram = centre.ram, storage = centre.storage;
  for (int f = 0; f < kSfcFunctions; ++f) {
    const int installed = centre.installed[f];
    if (installed < 0) return false;
    cpu += installed * kSfcFunction[f].cpu;
    ram += installed * kSfcFunction[f].ram;
    storage += installed * kSfcFunction[f].storage;
  }
  return cpu <= centre.all_cpu && ram <= kSfcRam && storage <= kSfcStorage;
}

bool is_request(const SfcRequest& r, const SfcState& s, const SfcRules& rules) {
  if (r.type >= kSfcTypes || r.placed >= rules.types[r.type].length || r.source >= s.centre_count ||
      r.destination >= s.centre_count || r.source == r.destination ||
      !is_within(r.created, -kMaxTime, s.clock) || !is_within(r.hops, 0.0, kMaxTime) ||
      !is_within(r.id, 0, kMaxCounter) || !is_within(r.kbps, 0, kSfcLinkKbps)) {
    return false;
  }
  unsigned visited = 0;
  for (int i = 0; i < r.placed; ++i) {
    if (r.hosts[i] >= s.centre_count) return false;
    visited |= 1u << r.hosts[i];
  }
  return r.visited == visited;
}

}  // namespace

std::size_t SfcWorld::saved_bytes(const SfcRules& rules) {
  return sizeof(SfcState) + sizeof(SfcRequest) * static_cast<std::size_t>(rules.capacity());
}

// The state, then the requests by rank, then zeros. Depends on the state only, not on its history.
void SfcWorld::save(std::byte* to) const {
  detail::save_world<SfcState>(*this, to);
  std::byte* end_of_row = to + saved_bytes(*rules);
  to += sizeof(SfcState);
  std::array<std::uint16_t, kSfcMaxRequests> slots;
  std::size_t count = 0;
  const auto visit = [&](int slot) { slots[count++] = static_cast<std::uint16_t>(slot); };
  for (const List& list : waiting) for_each(list, visit);
  for (const List& list : under_way) for_each(list, visit);
  std::sort(slots.begin(), slots.begin() + count,
            [this](int a, int b) { return requests[a].rank < requests[b].rank; });
  for (std::size_t i = 0; i < count; ++i, to += sizeof(SfcRequest)) {
    SfcRequest request = requests[slots[i]];
    request.next = request.previous = kNoSfcRequest;
    detail::save_world(request, to);
  }
  std::fill(to, end_of_row, std::byte{0});
}

bool SfcWorld::restore(const std::byte* from) {
  SfcState state;
  std::memcpy(static_cast<void*>(&state), from, sizeof(state));
  if (!is_state(state, *rules)) return false;
  for (int c = 0; c < state.centre_count; ++c) {
    if (!is_centre(state.centres[c])) return false;
  }
  std::vector<SfcRequest> saved(static_cast<std::size_t>(state.pending + state.active));
  if (!saved.empty()) {
    std::memcpy(static_cast<void*>(saved.data()), from + sizeof(state),
                saved.size() * sizeof(SfcRequest));
  }
  if (!are_consistent(state, saved)) return false;

  clear_requests();
  static_cast<SfcState&>(*this) = state;
  measure_distances();
  for (const SfcRequest& one : saved) {
    const int slot = take();
    SfcRequest& request = requests[slot];
    request = one;
    const SfcType& type = type_of(request);
    add(request.placed == 0 ? waiting[request.type] : under_way[type.chain[request.placed]], slot);
    for (int k = request.placed; k < type.length; ++k) ++needed[type.chain[k]];
    for (int c = 0; c < centre_count; ++c) {
      if (request.is_at(c)) note_first(slot, c);
    }
  }
  find_earliest_end();
  return true;
}

// The requests by rank: those that wait, then those under way. Their placements are the busy
// instances, and their reservations what is missing from the links.
bool SfcWorld::are_consistent(const SfcState& state, std::span<const SfcRequest> saved) const {
  std::array<std::array<int, kSfcFunctions>, kSfcMaxCentres> busy{};
  std::array<std::int64_t, 28> free;
  free.fill(kSfcLinkKbps);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const SfcRequest& request = saved[i];
    if (!is_request(request, state, *rules)) return false;
    if (i > 0 && request.rank <= saved[i - 1].rank) return false;
    if ((request.placed == 0) != (i < static_cast<std::size_t>(state.pending))) return false;
    const SfcType& type = rules->types[request.type];
    for (int k = 0; k < request.placed; ++k) ++busy[request.hosts[k]][type.chain[k]];
    for (const std::uint32_t links : request.links) {
      if (links >> free.size() != 0) return false;
      for (std::uint32_t left = links; left != 0; left &= left - 1) {
        free[__builtin_ctz(left)] -= request.kbps;
      }
    }
  }
  for (int c = 0; c < state.centre_count; ++c) {
    for (int f = 0; f < kSfcFunctions; ++f) {
      const SfcCentre& centre = state.centres[c];
      if (centre.busy[f] != busy[c][f] || centre.busy[f] > centre.installed[f]) return false;
    }
  }
  return std::equal(free.begin(), free.end(), state.free_kbps.begin());
}

}  // namespace hotloop
