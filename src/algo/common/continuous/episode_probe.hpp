// Compares what the critics predict with what was observed: for the first transition of each
// episode, the discounted rewards that followed. An episode that was cut counts if what it lacks
// weighs little.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/arena.hpp"
#include "core/limits.hpp"
#include "memory/transitions.hpp"

namespace hotloop {

class EpisodeProbe {
 public:
  static constexpr int kRows = 64;  // the latest episodes that are kept

  EpisodeProbe(int envs, int obs, int action_size);

  // The observations [N, D] of the first states.
  void begin(std::span<const float> obs);
  // One vector step. Rewards are multiplied by `factor`; `bonus` is what a soft critic also counts
  // in each state that its target bootstraps from: in every n-th after the first.
  void add(const Transitions& step, double factor, double bonus, int n_step, double gamma);

  int count() const { return static_cast<int>(std::min<std::int64_t>(finished_[0], kRows)); }
  const float* obs() const { return kept_obs_.data(); }          // [kRows, D]
  const float* actions() const { return kept_actions_.data(); }  // [kRows, A]
  std::span<const double> returns() const { return kept_returns_; }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("finished", finished_, Limits::count());
    v("first_obs", first_obs_, Limits::finite());
    v("first_actions", first_actions_, Limits::between(-1, 1));
    v("lengths", lengths_, Limits::count());
    v("sums", sums_, Limits::finite());
    v("weights", weights_, Limits::between(0, 1));
    v("obs", kept_obs_, Limits::finite());
    v("actions", kept_actions_, Limits::between(-1, 1));
    v("returns", kept_returns_, Limits::finite());
  }

 private:
  Arena arena_;
  int width_, action_size_;
  std::span<std::int64_t> finished_;            // [1] episodes ever kept
  std::span<float> first_obs_, first_actions_;  // [N, D], [N, A] of the running episodes
  std::span<std::int64_t> lengths_;             // [N] steps so far
  std::span<double> sums_, weights_;            // [N] discounted rewards so far; gamma^length
  std::span<float> kept_obs_, kept_actions_;    // [kRows, D], [kRows, A]
  std::span<double> kept_returns_;              // [kRows]
};

}  // namespace hotloop
