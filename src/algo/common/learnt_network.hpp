// A trained network with its optimiser, as every algorithm has it, whatever its outputs mean.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "core/arena.hpp"
#include "core/phase_clock.hpp"
#include "core/thread_team.hpp"
#include "net/network.hpp"
#include "net/optimiser.hpp"

namespace hotloop {

// sum += weight * values
inline void add_scaled(std::span<const float> values, float weight, std::span<float> sum,
                       ThreadTeam& team) {
  share_parameters(sum.size(), team, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) sum[i] += weight * values[i];
  });
}

// target <- weight * online + (1 - weight) * target
inline void blend(std::span<const float> online, float weight, std::span<float> target,
                  ThreadTeam& team) {
  share_parameters(target.size(), team, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) target[i] += weight * (online[i] - target[i]);
  });
}

class LearntNetwork {
 public:
  // `scale` normalises observations; null = no normalisation.
  LearntNetwork(const Structure& structure, Initialiser init, const OptimiserOptions& optimiser,
                std::uint64_t seed, const InputScale* scale)
      : plan_(structure),
        online_(arena_.take<float>(structure.storage)),
        optimiser_(optimiser, structure.trainable),
        scale_(scale) {
    initialise(structure, init, seed, online_);
  }

  const Structure& structure() const { return plan_.structure(); }
  const Plan& plan() const { return plan_; }
  const InputScale* scale() const { return scale_; }
  std::span<float> online() { return online_; }
  std::span<const float> online() const { return online_; }
  Optimiser& optimiser() { return optimiser_; }

  // One optimiser step along `gradient`. The parameters change only if loss and gradient are
  // finite; running statistics never do. Returns the gradient's norm before clipping.
  double descend(std::span<const float> gradient, double loss, double learning_rate,
                 ThreadTeam& team) {
    mark(Phase::learn_clip);
    gradient = gradient.first(structure().trainable);
    const float norm = euclidean_norm(gradient);
    mark(Phase::learn_optimiser);
    if (std::isfinite(loss) && std::isfinite(norm)) {
      optimiser_.step(online_.first(gradient.size()), gradient, static_cast<float>(learning_rate),
                      clip_factor(norm, optimiser_.options().max_grad_norm), team);
    }
    return norm;
  }

 private:
  Plan plan_;
  Arena arena_;
  std::span<float> online_;  // flat parameters
  Optimiser optimiser_;
  const InputScale* scale_;
};

}  // namespace hotloop
