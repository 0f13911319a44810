// The slow twin of src/envs/sfc: one world as lists of requests. Every query scans all of them,
// every observation is made from scratch. It makes the same random draws.
//
// `legacy_tables` adds the look-up tables of the original, which corrupt its allocation: the table
// of waiting requests is never filled; a request that was placed at position j is filed under
// function j of its chain, as if that came next; nothing is ever removed. Allocating a function
// uses its table, and the lists only if the table is empty.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "envs/sfc/rules.hpp"

namespace hotloop::reference {

struct Sfc {
  struct Request {
    int id = 0;
    int type = 0;
    int source = 0, destination = 0;
    double created = 0;
    int kbps = 0;
    double bandwidth = 0;
    std::vector<int> functions;              // placed
    std::vector<int> hosts;                  // their centres
    std::vector<std::vector<int>> reserved;  // paths between different centres

    bool is_at(int centre) const {
      return std::find(hosts.begin(), hosts.end(), centre) != hosts.end();
    }
  };
  struct Centre {
    double x = 0, y = 0;
    int all_cpu = 12, cpu = 12, ram = 256, storage = 2048;
    std::vector<int> installed = std::vector<int>(6), busy = std::vector<int>(6);
  };
  using Shared = std::shared_ptr<Request>;

  SfcRules rules;
  bool legacy_tables = false;
  std::vector<Centre> centres;
  std::vector<Shared> pending, active;  // by arrival, by activation
  std::vector<std::vector<Shared>> table = std::vector<std::vector<Shared>>(6);
  std::vector<std::vector<int>> free_kbps;  // [D, D]
  std::vector<int> order;
  int position = 0, ticks = 0, rounds_done = 0, arrivals = 0;
  double clock = 0;
  std::vector<double> delays;  // of the satisfied requests
  std::vector<int> generated = std::vector<int>(6), satisfied = std::vector<int>(6),
                   dropped = std::vector<int>(6);

  explicit Sfc(const SfcRules& chosen) : rules(chosen) {}

  void set_centres(std::vector<Centre> given) {
    const bool legacy = legacy_tables;
    *this = Sfc(rules);
    legacy_tables = legacy;
    centres = std::move(given);
    free_kbps.assign(centres.size(), std::vector<int>(centres.size(), 1'000'000));
    order = ascending();
  }

  void reset(Rng& rng) {
    std::vector<Centre> drawn(rules.min_centres +
                              rng.below(rules.max_centres - rules.min_centres + 1));
    for (Centre& centre : drawn) {
      centre.x = rng.uniform(0, 1000);
      centre.y = rng.uniform(0, 1000);
      centre.cpu = centre.all_cpu = 12 + static_cast<int>(rng.below(rules.paper ? 109 : 108));
    }
    set_centres(drawn);
  }

  int count() const { return static_cast<int>(centres.size()); }
  int here() const { return order[position]; }
  const SfcType& type_of(const Request& request) const { return rules.types[request.type]; }
  double elapsed(const Request& request) const { return clock - request.created; }
  double remaining(const Request& request) const {
    return type_of(request).limit - elapsed(request);
  }
  int next_function(const Request& request) const {
    return type_of(request).chain[request.functions.size()];
  }

  std::vector<int> ascending() const {
    std::vector<int> all(centres.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  void arrive(int type, int source, int destination, double created, int kbps) {
    auto request = std::make_shared<Request>();
    request->id = arrivals++;
    request->type = type;
    request->source = source;
    request->destination = destination;
    request->created = created;
    const double fixed = rules.types[type].bandwidth;
    request->bandwidth = fixed > 0 ? fixed : kbps / 1000.0;
    request->kbps = fixed > 0 ? static_cast<int>(std::lround(fixed * 1000)) : kbps;
    pending.push_back(request);
    ++generated[type];
  }

  bool is_full() const { return static_cast<int>(pending.size()) >= rules.pending_cap; }

  void generate(Rng& rng) {
    ++rounds_done;
    if (is_full()) return;
    std::vector<int> left = {0, 1, 2, 3, 4, 5};
    const int chosen = 1 + static_cast<int>(rng.below(6));
    for (int i = 0; i < chosen && !is_full(); ++i) {
      std::swap(left[i], left[i + rng.below(6 - i)]);
      const int type = left[i];
      const int low = rules.types[type].min_bundle, high = rules.types[type].max_bundle;
      const int drawn = low + static_cast<int>(rng.below(high - low + 1));
      const int size = std::max(1, static_cast<int>(std::floor(drawn * rules.traffic)));
      for (int k = 0; k < size && !is_full(); ++k) {
        const int source = static_cast<int>(rng.below(count()));
        std::vector<int> others = ascending();
        others.erase(others.begin() + source);
        const int destination = others[rng.below(count() - 1)];
        const int kbps = type == 4 ? 1000 + static_cast<int>(rng.below(49001)) : 0;
        arrive(type, source, destination, clock, kbps);
      }
    }
  }

  double distance(int a, int b) const {
    const double x = centres[a].x - centres[b].x, y = centres[a].y - centres[b].y;
    return std::sqrt(x * x + y * y);
  }

  double length(const std::vector<int>& path) const {  // ms
    double sum = 0;
    for (std::size_t i = 1; i < path.size(); ++i) sum += distance(path[i - 1], path[i]) / 300;
    return sum;
  }

  bool is_free(int a, int b, int kbps) const {
    return a != b && (!rules.paper || free_kbps[a][b] >= kbps);
  }

  // Bellman-Ford: a path to each centre, shortened until nothing changes; empty if there is none.
  std::vector<int> shortest(int from, int to, int kbps) const {
    std::vector<std::vector<int>> paths(centres.size());
    paths[from] = {from};
    for (bool changes = true; changes;) {
      changes = false;
      for (int a = 0; a < count(); ++a) {
        for (int b = 0; b < count(); ++b) {
          if (paths[a].empty() || !is_free(a, b, kbps)) continue;
          std::vector<int> path = paths[a];
          path.push_back(b);
          if (!paths[b].empty() && length(path) >= length(paths[b])) continue;
          paths[b] = path;
          changes = true;
        }
      }
    }
    return paths[to];
  }

  bool is_connected(int from, int to, int kbps) const {
    std::vector<int> reached = {from};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (int c = 0; c < count(); ++c) {
        const bool is_new = std::find(reached.begin(), reached.end(), c) == reached.end();
        if (is_new && is_free(reached[i], c, kbps)) reached.push_back(c);
      }
    }
    return std::find(reached.begin(), reached.end(), to) != reached.end();
  }

  double score(const Request& request, int centre) const {
    const double e = elapsed(request), limit = type_of(request).limit, r = limit - e;
    const double p1 = e - limit;
    const double p2 = request.hosts.empty() ? 0 : request.is_at(centre) ? 10 : -5;
    const double p3 = r < 10 ? 100 / (r + 1e-6) : 0;
    return p1 + p2 + p3;
  }

  bool is_candidate(const Request& request, int function, int centre) const {
    if (next_function(request) != function) return false;
    if (request.hosts.empty()) return true;
    return is_connected(request.hosts.back(), centre, request.kbps);
  }

  Shared candidate(int function) const {
    const int centre = here();
    std::vector<Shared> all;
    if (legacy_tables) all = table[function];
    if (all.empty()) {
      for (const auto* list : {&pending, &active}) {
        for (const Shared& request : *list) {
          if (is_candidate(*request, function, centre)) all.push_back(request);
        }
      }
    }
    Shared best;
    for (const Shared& request : all) {
      if (!best || score(*request, centre) > score(*best, centre)) best = request;
    }
    return best;
  }

  bool fits(const Centre& centre, int function) const {
    const SfcFunction& need = kSfcFunction[function];
    return centre.cpu >= need.cpu && centre.ram >= need.ram && centre.storage >= need.storage;
  }
  bool has_room(const Centre& centre, int function) const {
    return centre.installed[function] > centre.busy[function] || fits(centre, function);
  }

  bool is_needed(int function) const {
    for (const auto* list : {&pending, &active}) {
      for (const Shared& request : *list) {
        const SfcType& type = type_of(*request);
        for (int i = static_cast<int>(request->functions.size()); i < type.length; ++i) {
          if (type.chain[i] == function) return true;
        }
      }
    }
    return false;
  }

  static void erase(std::vector<Shared>& list, const Shared& request) {
    const auto found = std::find(list.begin(), list.end(), request);
    if (found != list.end()) list.erase(found);
  }

  void reserve(const std::vector<int>& path, int kbps) {
    for (std::size_t i = 1; i < path.size(); ++i) {
      free_kbps[path[i - 1]][path[i]] -= kbps;
      free_kbps[path[i]][path[i - 1]] -= kbps;
    }
  }

  void end(const Shared& request, bool is_satisfied) {
    for (std::size_t i = 0; i < request->hosts.size(); ++i) {
      --centres[request->hosts[i]].busy[request->functions[i]];
    }
    for (const auto& path : request->reserved) reserve(path, -request->kbps);
    erase(pending, request);
    erase(active, request);
    ++(is_satisfied ? satisfied : dropped)[request->type];
  }

  double put(const Shared& request, int function, int at) {
    Centre& centre = centres[at];
    if (centre.installed[function] == centre.busy[function]) {
      ++centre.installed[function];
      centre.cpu -= kSfcFunction[function].cpu;
      centre.ram -= kSfcFunction[function].ram;
      centre.storage -= kSfcFunction[function].storage;
    }
    ++centre.busy[function];
    if (request->hosts.empty()) {
      erase(pending, request);
      active.push_back(request);
    } else if (rules.paper && request->hosts.back() != at) {
      request->reserved.push_back(shortest(request->hosts.back(), at, request->kbps));
      reserve(request->reserved.back(), request->kbps);
    }
    const SfcType& type = type_of(*request);
    const int j = static_cast<int>(request->functions.size());
    if (legacy_tables && j < type.length) table[type.chain[j]].push_back(request);
    request->functions.push_back(function);
    request->hosts.push_back(at);
    if (static_cast<int>(request->functions.size()) != type.length) return rules.placement_reward;

    double hops = 0, processing = 0;
    if (rules.paper) {
      for (const auto& path : request->reserved) hops += length(path);
    } else {
      for (std::size_t i = 1; i < request->hosts.size(); ++i) {
        const int from = request->hosts[i - 1], to = request->hosts[i];
        if (from != to) hops += length(shortest(from, to, request->kbps));
      }
    }
    for (const int placed : request->functions) processing += kSfcFunction[placed].processing;
    const bool in_time = hops + processing <= remaining(*request);
    if (in_time) delays.push_back(hops + processing);
    end(request, in_time);
    return in_time ? 2 : -1.5;
  }

  double apply(int action) {
    if (action == 12) return 0;
    Centre& centre = centres[here()];
    const int function = action % 6;
    if (action < 6) {
      if (is_needed(function)) return -0.5;
      if (centre.installed[function] == centre.busy[function]) return -1;
      --centre.installed[function];
      centre.cpu += kSfcFunction[function].cpu;
      centre.ram += kSfcFunction[function].ram;
      centre.storage += kSfcFunction[function].storage;
      return 0;
    }
    const Shared request = candidate(function);
    if (!request || !has_room(centre, function)) return -1;
    return put(request, function, here());
  }

  int drop_expired() {
    std::vector<Shared> expired;
    for (const auto* list : {&pending, &active}) {
      for (const Shared& request : *list) {
        if (elapsed(*request) > type_of(*request).limit) expired.push_back(request);
      }
    }
    for (const Shared& request : expired) end(request, false);
    return static_cast<int>(expired.size());
  }

  void refresh_order() {
    Shared urgent;
    for (const Shared& request : pending) {
      if (!urgent || remaining(*request) < remaining(*urgent)) urgent = request;
    }
    std::vector<int> first;
    if (urgent) first = shortest(urgent->source, urgent->destination, urgent->kbps);
    order = first;
    for (const int c : ascending()) {
      if (std::find(first.begin(), first.end(), c) == first.end()) order.push_back(c);
    }
  }

  Step step(int action, Rng& rng) {
    const bool is_due = rules.paper || position == 0;
    if (is_due && rounds_done < rules.rounds && ticks == rounds_done * rules.interval * 100) {
      generate(rng);
    }
    double reward = apply(action);
    reward += rules.timeout_reward * drop_expired();
    position = (position + 1) % count();
    if (rules.paper) {
      clock = ++ticks * 0.01;
      refresh_order();
    } else if (position == 0) {
      ++ticks;
      clock += 0.01;
      refresh_order();
    }
    const bool is_over = pending.empty() && active.empty() && rounds_done == rules.rounds;
    return {static_cast<float>(reward), is_over};
  }

  std::vector<float> observe() const {
    const Centre& centre = centres[here()];
    std::vector<double> obs;
    for (int f = 0; f < 6; ++f) {
      obs.push_back(centre.installed[f]);
      obs.push_back(centre.installed[f] - centre.busy[f]);
    }
    obs.push_back(centre.storage);
    obs.push_back(centre.cpu);
    for (int t = 0; t < 6; ++t) {
      std::vector<double> row(13);
      for (const Shared& request : active) {
        if (request->type != t || !request->is_at(here())) continue;
        row[0] = 1;
        for (int i = 0; i < rules.types[t].length; ++i) {
          const bool is_placed = i < static_cast<int>(request->functions.size());
          row[1 + (is_placed ? 0 : 6) + rules.types[t].chain[i]] = 1;
        }
        break;
      }
      obs.insert(obs.end(), row.begin(), row.end());
    }
    for (int t = 0; t < 6; ++t) {
      std::vector<double> row(10);
      for (const Shared& request : pending) {
        if (request->type != t) continue;
        const double left = std::max(0.0, remaining(*request));
        row[2] = row[0] == 0 ? left : std::min(row[2], left);
        if (row[0] == 0) row[3] = request->bandwidth;
        row[0] = 1;
        ++row[1];
        for (int i = 0; i < rules.types[t].length; ++i) ++row[4 + rules.types[t].chain[i]];
      }
      obs.insert(obs.end(), row.begin(), row.end());
    }
    std::vector<float> shown(obs.begin(), obs.end());
    if (rules.scale) {
      const auto factors = sfc_scale(rules);
      for (std::size_t i = 0; i < shown.size(); ++i) shown[i] *= factors[i];
    }
    return shown;
  }

  // An action is allowed if it would neither fail nor uninstall a needed function.
  std::vector<int> mask() const {
    std::vector<int> allowed;
    for (int action = 0; action < 13; ++action) {
      const int function = action % 6;
      const Centre& centre = centres[here()];
      const bool uninstalls =
          !is_needed(function) && centre.installed[function] > centre.busy[function];
      const bool allocates = candidate(function) && has_room(centre, function);
      allowed.push_back(action == 12 || (action < 6 ? uninstalls : allocates));
    }
    return allowed;
  }

  std::vector<float> measure() const {
    const auto sum = [](const std::vector<int>& of) {
      return std::accumulate(of.begin(), of.end(), 0);
    };
    const auto share = [](double part, double whole) {
      return whole == 0 ? std::numeric_limits<float>::quiet_NaN()
                        : static_cast<float>(part / whole);
    };
    const double delay = std::accumulate(delays.begin(), delays.end(), 0.0);
    const int all = sum(generated), won = sum(satisfied), lost = sum(dropped);
    int cpu = 0, all_cpu = 0;
    for (const Centre& centre : centres) {
      cpu += centre.cpu;
      all_cpu += centre.all_cpu;
    }
    std::vector<float> values = {share(won, all),         share(won, won + lost),
                                 share(delay, won),       share(all_cpu - cpu, all_cpu),
                                 static_cast<float>(all), static_cast<float>(won),
                                 static_cast<float>(lost)};
    for (int t = 0; t < 6; ++t) values.push_back(share(satisfied[t], generated[t]));
    return values;
  }
};

// The baseline of the reference as it was meant, acting on all centres at once. In a pass each
// request, by least time left, gets its next function on the better of its two ends (see
// src/envs/sfc/scripts.cpp) if that has room. A pass takes a tick. After the last round it ends
// when no request is left or a pass has placed nothing.
inline void place_by_heuristic(Sfc& sfc, Rng& rng, int passes) {
  for (int pass = 0; pass < passes; ++pass) {
    const bool is_last = sfc.rounds_done == sfc.rules.rounds;
    if (is_last && sfc.pending.size() + sfc.active.size() == 0) return;
    if (!is_last && sfc.ticks == sfc.rounds_done * sfc.rules.interval * 100) sfc.generate(rng);
    std::vector<Sfc::Shared> all = sfc.pending;
    all.insert(all.end(), sfc.active.begin(), sfc.active.end());
    std::stable_sort(all.begin(), all.end(), [&](const Sfc::Shared& a, const Sfc::Shared& b) {
      return sfc.remaining(*a) < sfc.remaining(*b);
    });
    bool any = false;
    for (const Sfc::Shared& request : all) {
      const auto worth = [&](int c) {
        const Sfc::Centre& centre = sfc.centres[c];
        return 100.0 * request->is_at(c) + static_cast<double>(centre.cpu) / centre.all_cpu;
      };
      const bool at_source = worth(request->source) >= worth(request->destination);
      const int centre = at_source ? request->source : request->destination;
      const int function = sfc.next_function(*request);
      if (!sfc.has_room(sfc.centres[centre], function)) continue;
      if (!sfc.is_candidate(*request, function, centre)) continue;
      sfc.put(request, function, centre);
      any = true;
    }
    sfc.drop_expired();
    sfc.clock = ++sfc.ticks * 0.01;
    if (!any && is_last) return;
  }
}

}  // namespace hotloop::reference
