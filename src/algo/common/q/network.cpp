#include "algo/common/q/network.hpp"

#include <hotloop/rng.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/cpu/flush_denormals.hpp"

namespace hotloop {
namespace {

constexpr int kGreedy = -1;

int random_action(int actions, const std::uint8_t* mask, bool kept, Rng& rng) {
  if (mask == nullptr) return static_cast<int>(rng.below(actions));
  if (kept) {  // the first allowed action in an order that does not depend on the mask
    while (true) {
      const auto action = static_cast<int>(rng.below(actions));
      if (mask[action] != 0) return action;
    }
  }
  const int allowed =
      static_cast<int>(std::count_if(mask, mask + actions, [](auto m) { return m != 0; }));
  int skip = static_cast<int>(rng.below(allowed));
  int action = 0;
  while (mask[action] == 0 || skip-- > 0) ++action;
  return action;
}

// The Boltzmann probability of action `a` up to a constant factor. `q` is one lane, `best` the
// greedy action, whose weight is 1.
double boltzmann_weight(const float* q, int a, const std::uint8_t* mask, int best,
                        double temperature) {
  if (mask != nullptr && mask[a] == 0) return 0.0;
  return std::exp((q[a * kLanes] - q[best * kLanes]) / temperature);
}

// Samples an action with probability proportional to its weight.
int boltzmann_action(const float* q, int actions, const std::uint8_t* mask, int best,
                     double temperature, Rng& rng) {
  const auto weight = [&](int a) { return boltzmann_weight(q, a, mask, best, temperature); };
  double total = 0;
  for (int a = 0; a < actions; ++a) total += weight(a);
  double left = rng.uniform() * total;
  for (int a = 0; a < actions; ++a) {
    left -= weight(a);
    if (left < 0) return a;
  }
  return best;  // reached only by rounding
}

}  // namespace

float expected_q(const float* q, int actions, const std::uint8_t* mask, int best,
                 const Exploration& exploration) {
  const float largest = q[best * kLanes];
  const bool boltzmann = exploration.kind == Explore::boltzmann;
  if (!boltzmann && exploration.epsilon == 0) return largest;
  double sum = 0, total = 0;
  for (int a = 0; a < actions; ++a) {
    const double weight = boltzmann ? boltzmann_weight(q, a, mask, best, exploration.temperature)
                                    : (mask == nullptr || mask[a] != 0 ? 1.0 : 0.0);
    sum += weight * static_cast<double>(q[a * kLanes]);
    total += weight;
  }
  const double explored = sum / total, epsilon = boltzmann ? 1 : exploration.epsilon;
  return static_cast<float>(epsilon * explored + (1 - epsilon) * static_cast<double>(largest));
}

QNetwork::QNetwork(const Structure& structure, const QHead& head, Initialiser init,
                   const OptimiserOptions& optimiser, std::uint64_t seed, int envs,
                   const InputScale* scale)
    : LearntNetwork(structure, init, optimiser, seed, scale),
      head_(head),
      seed_(seed),
      acting_(structure, envs, Use::inference),
      probing_(structure, kProbeRows, Use::inference),
      acting_noise_(make_noisy()),
      scratch_(arena_.take<float>(values_scratch(head) * block_count(envs))) {}

QNetwork::Noisy QNetwork::make_noisy() {
  const std::size_t size = noise_size(structure());
  return {arena_.take<float>(size), arena_.take<float>(size > 0 ? structure().storage : 0)};
}

std::span<const float> QNetwork::with_noise(std::span<const float> parameters, std::uint32_t lane,
                                            std::uint64_t step, Noisy& noisy) const {
  if (noisy.noise.empty()) return parameters;
  draw_noise(structure(), seed_, lane, step, noisy.noise);
  perturb(structure(), parameters, noisy.noise, noisy.effective);
  return noisy.effective;
}

void QNetwork::act(std::span<const float> obs, std::span<const std::uint8_t> mask,
                   const Exploration& exploration, std::uint64_t step, ThreadTeam& team,
                   std::span<std::int32_t> actions, const ActionValues& values) {
  const int envs = static_cast<int>(actions.size());
  if (is_noisy()) mark(Phase::act_noise);
  const std::span<const float> policy = frozen_.empty() ? online() : frozen_;
  const std::span<const float> parameters = with_noise(policy, 0, step, acting_noise_);
  team.run(block_count(envs), [&](int first, int last, int) {
    const FlushDenormals flush;
    for (int block = first; block < last; ++block) {
      act_block(block, envs, obs, mask, exploration, step, actions, values, parameters);
    }
  });
}

void QNetwork::freeze() {
  if (frozen_.empty()) frozen_ = arena_.take<float>(online().size());
  std::copy(online().begin(), online().end(), frozen_.begin());
}

void QNetwork::act_block(int block, int envs, std::span<const float> obs,
                         std::span<const std::uint8_t> mask, const Exploration& exploration,
                         std::uint64_t step, std::span<std::int32_t> actions,
                         const ActionValues& values, std::span<const float> parameters) {
  mark(Phase::act_choose);
  const int begin = block * kLanes;
  const int rows = std::min(envs - begin, kLanes);
  const std::uint8_t* masks =
      mask.empty() ? nullptr : mask.data() + static_cast<std::size_t>(begin) * head_.actions;
  const auto mask_of = [&](int row) {
    return masks == nullptr ? nullptr : masks + static_cast<std::size_t>(row) * head_.actions;
  };
  const bool boltzmann = exploration.kind == Explore::boltzmann;
  std::int32_t* chosen = actions.data() + begin;

  bool needs_values = boltzmann || !values.best.empty() || !values.taken.empty();
  for (int row = 0; row < rows; ++row) {
    if (boltzmann) break;
    Rng rng(seed_, Purpose::exploration, static_cast<std::uint32_t>(begin + row),
            step / exploration.steps);
    const bool explore = rng.uniform() < exploration.epsilon;
    chosen[row] =
        explore ? random_action(head_.actions, mask_of(row), exploration.steps > 1, rng) : kGreedy;
    needs_values |= !explore;
  }
  if (!needs_values) return;

  mark(Phase::act_forward);
  forward(plan(), parameters, obs.data(), envs, block, block + 1, acting_, scale());
  mark(Phase::act_choose);
  const float* q = action_values(head_, acting_.outputs(block), block_width(envs, block),
                                 scratch_.data() + values_scratch(head_) * block);
  std::array<std::int32_t, kLanes> greedy;
  greedy_actions(q, head_.actions, rows, masks, greedy.data());
  for (int row = 0; row < rows; ++row) {
    if (boltzmann) {
      Rng rng(seed_, Purpose::exploration, static_cast<std::uint32_t>(begin + row), step);
      chosen[row] = boltzmann_action(q + row, head_.actions, mask_of(row), greedy[row],
                                     exploration.temperature, rng);
    } else if (chosen[row] == kGreedy) {
      chosen[row] = greedy[row];
    }
    if (!values.best.empty()) values.best[begin + row] = q[greedy[row] * kLanes + row];
    if (!values.taken.empty()) values.taken[begin + row] = q[chosen[row] * kLanes + row];
  }
}

Probe QNetwork::probe(const float* rows, int count, const std::uint8_t* mask) {
  count = std::min(count, kProbeRows);
  forward(plan(), online(), rows, count, probing_, scale());
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  Probe result;
  int choices = 0;  // rows with two actions or more
  const float* q = nullptr;
  for (int row = 0; row < count; ++row) {
    const int lane = row % kLanes;
    if (lane == 0) {
      q = action_values(head_, probing_.outputs(row / kLanes), block_width(count, row / kLanes),
                        scratch_.data());
    }
    float best = kLowest, second = kLowest;
    for (int a = 0; a < head_.actions; ++a) {
      if (mask != nullptr && mask[row * head_.actions + a] == 0) continue;
      const float value = q[a * kLanes + lane];
      result.largest_q = std::max(result.largest_q, std::abs(static_cast<double>(value)));
      second = std::max(second, std::min(best, value));
      best = std::max(best, value);
    }
    result.best_q += static_cast<double>(best) / count;
    if (second == kLowest) continue;
    result.action_gap += static_cast<double>(best - second);
    ++choices;
  }
  if (choices > 0) result.action_gap /= choices;
  return result;
}

}  // namespace hotloop
