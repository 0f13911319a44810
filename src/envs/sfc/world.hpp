// One SFC world: data centres, requests that wait or are under way, and counters.
//
// A step is one action on one centre, order[position]:
//   1. requests arrive, if a round is due
//   2. the action: uninstall function 0..5, allocate function 0..5, or wait
//   3. requests older than their limit are dropped
//   4. the next centre; after the last one (in paper mode: always) the clock ticks and the order is
//      made again: the route of the most urgent waiting request first, then the others ascending
// An allocation goes to the request with the most points (see `score`). On ties it goes to the
// first waiting request by arrival, then to the first request under way by activation.
//
// Invariants:
//   0 <= busy <= installed; a centre's free resources + those of its instances = its initial ones
//   the busy instances are the placements of the requests under way
//   needed[f] counts the functions f still to be placed for all requests, waiting or under way
//   a waiting request is in the list of its type, in order of arrival, and so of creation
//   a request under way is in the list of its next function, in any order: `rank` has the order
//   first_here[c][t] is the request of type t with the least rank that has a function at centre c
//   in paper mode free_kbps = kSfcLinkKbps - the reservations of the requests under way
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "envs/sfc/rules.hpp"

namespace hotloop {

inline constexpr std::uint16_t kNoSfcRequest = 0xFFFF;
static_assert(kSfcMaxRequests < kNoSfcRequest);

struct SfcRequest {
  double created = 0;   // ms
  double hops = 0;      // ms of propagation between its functions placed so far
  std::int32_t id = 0;  // counts arrivals in the episode
  // Breaks ties: waiting requests by arrival, then requests under way by activation.
  std::uint32_t rank = 0;
  std::int32_t kbps = 0;
  std::array<std::uint32_t, kSfcMaxChain - 1> links{};  // reserved on the way to each next function
  std::uint8_t type = 0;
  std::uint8_t placed = 0;  // functions placed
  std::uint8_t source = 0;
  std::uint8_t destination = 0;
  std::uint8_t visited = 0;                        // a bit per centre with a function of it
  std::array<std::uint8_t, kSfcMaxChain> hosts{};  // centre of each function placed
  std::uint16_t next = kNoSfcRequest;              // in its list
  std::uint16_t previous = kNoSfcRequest;

  bool is_at(int centre) const { return visited >> centre & 1; }
  int last_host() const { return hosts[placed - 1]; }
};

struct SfcCentre {
  double x = 0, y = 0;  // km
  int all_cpu = 12;
  int cpu = 12;  // left
  int ram = kSfcRam;
  int storage = kSfcStorage;
  std::array<std::int16_t, kSfcFunctions> installed{};
  std::array<std::int16_t, kSfcFunctions> busy{};

  int idle(int function) const { return installed[function] - busy[function]; }
  bool fits(int function) const {
    const SfcFunction& need = kSfcFunction[function];
    return cpu >= need.cpu && ram >= need.ram && storage >= need.storage;
  }
  bool has_room(int function) const { return idle(function) > 0 || fits(function); }
};

// A path between two centres. `count` is 0 if none has enough free bandwidth.
struct SfcRoute {
  double delay = 0;         // ms
  std::uint32_t links = 0;  // a bit per link
  int count = 0;
  std::array<std::uint8_t, kSfcMaxCentres> centres{};  // from first to last
};

// The state that cannot be recomputed. It is saved, with the requests.
struct SfcState {
  double clock = 0;      // ms
  double delay_sum = 0;  // ms, of the satisfied requests
  std::int32_t ticks = 0;
  std::int32_t next_round = 0;  // its tick
  std::int32_t rounds_left = 0;
  std::int32_t arrivals = 0;
  std::int32_t activations = 0;
  std::int32_t pending = 0;  // requests that wait
  std::int32_t active = 0;   // requests under way
  std::int32_t centre_count = 2;
  std::int32_t position = 0;
  std::array<std::uint8_t, kSfcMaxCentres> order = {0, 1, 2, 3, 4, 5, 6, 7};
  std::array<SfcCentre, kSfcMaxCentres> centres{};
  std::array<std::int32_t, 28> free_kbps{};  // by sfc_link
  std::array<std::int32_t, kSfcTypes> generated{};
  std::array<std::int32_t, kSfcTypes> satisfied{};
  std::array<std::int32_t, kSfcTypes> dropped{};
};

// A waiting request that is set up by hand.
struct SfcWaiting {
  int type = 0;
  int source = 0;
  int destination = 1;
  double created = 0;
  int kbps = 1000;  // if the type has no fixed bandwidth
};

struct SfcWorld : SfcState {
  void clear();
  void reset(Rng& rng);
  // Sets up these centres and these requests, in order of creation. No more requests arrive.
  void place(std::span<const SfcCentre> given, std::span<const SfcWaiting> waiting);
  Step step(int action, Rng& rng);
  void observe(float* obs, const std::array<float, 152>* scale) const;
  void mask(std::uint8_t* allowed) const;
  void measure(std::span<float> values) const;
  int play_heuristic() const;
  int play_greedy() const;
  void save(std::byte* to) const;
  bool restore(const std::byte* from);  // false if the bytes are not a saved world
  static std::size_t saved_bytes(const SfcRules& rules);

  int here() const { return order[position]; }  // the centre to act on
  // The request that an allocation of the function here would go to, or kNoSfcRequest.
  int candidate(int function) const;
  double score(const SfcRequest& request, int centre) const;
  // The shortest path over links with enough free bandwidth.
  SfcRoute route(int from, int to, int kbps) const;
  double bandwidth(const SfcRequest& request) const;
  const SfcType& type_of(const SfcRequest& request) const { return rules->types[request.type]; }
  double remaining(const SfcRequest& request) const {
    return type_of(request).limit - (clock - request.created);
  }
  bool is_expired(const SfcRequest& request) const {
    return clock - request.created > type_of(request).limit;
  }

  struct List {
    std::uint16_t first = kNoSfcRequest;
    std::uint16_t last = kNoSfcRequest;
    std::int32_t size = 0;
  };
  // Calls `visit(slot)` for each request of a list. `visit` may remove that request from the list.
  template <class Visit>
  void for_each(const List& list, Visit&& visit) const {
    for (int slot = list.first; slot != kNoSfcRequest;) {
      const int next = requests[slot].next;
      visit(slot);
      slot = next;
    }
  }

  const SfcRules* rules = nullptr;
  SfcRequest* requests = nullptr;  // [rules->capacity()]

  // Derived from the above.
  std::array<List, kSfcTypes> waiting{};        // by type, in order of arrival
  std::array<List, kSfcFunctions> under_way{};  // by next function
  List unused{};
  int used = 0;  // requests from this index on were never used in this episode
  std::array<std::int32_t, kSfcFunctions> needed{};
  std::array<std::array<std::uint16_t, kSfcTypes>, kSfcMaxCentres> first_here{};
  double earliest_end = 0;  // no request exceeds its limit before this
  std::array<std::array<double, kSfcMaxCentres>, kSfcMaxCentres> hop{};  // ms

 private:
  bool are_consistent(const SfcState& state, std::span<const SfcRequest> saved) const;
  void clear_requests();
  void measure_distances();
  void generate(Rng& rng);
  void arrive(int type, int source, int destination, double created, int kbps);
  double uninstall(int function);
  double allocate(int function);
  double put(int slot, int function);
  void end(int slot, bool is_satisfied);
  int drop_expired();
  void find_earliest_end();
  void advance();
  void refresh_order();
  bool reaches(const SfcRequest& request, int centre) const;
  bool has_candidate(int function) const;
  void note_first(int slot, int centre);
  void find_first(int type, int centre);
  int take();
  void add(List& list, int slot);
  void remove(List& list, int slot);
};

constexpr int sfc_link(int a, int b) { return a < b ? b * (b - 1) / 2 + a : a * (a - 1) / 2 + b; }

}  // namespace hotloop
