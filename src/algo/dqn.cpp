#include "algo/dqn.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hotloop {
namespace {

// Rows of the batch per shard. A shard costs one more pass over the gradient, which is small
// against the work of 128 rows; below that, a second thread would not pay anyway.
constexpr int kShardRows = 128;

bool is_allowed(const std::uint8_t* mask, int action) {
  return mask == nullptr || mask[action] != 0;
}

int random_action(int actions, const std::uint8_t* mask, Rng& rng) {
  if (mask == nullptr) return static_cast<int>(rng.below(actions));
  const int allowed =
      static_cast<int>(std::count_if(mask, mask + actions, [](auto m) { return m != 0; }));
  int skip = static_cast<int>(rng.below(allowed));
  int action = 0;
  while (mask[action] == 0 || skip-- > 0) ++action;
  return action;
}

// max_a' Q(s', a') over the allowed actions of one lane.
float best_value(const float* q, int actions, const std::uint8_t* mask) {
  float best = -std::numeric_limits<float>::infinity();
  for (int a = 0; a < actions; ++a) {
    if (is_allowed(mask, a)) best = std::max(best, q[a * kLanes]);
  }
  return best;
}

}  // namespace

int greedy_action(const float* q, int actions, const std::uint8_t* mask) {
  int best = -1;
  for (int a = 0; a < actions; ++a) {
    if (is_allowed(mask, a) && (best < 0 || q[a * kLanes] > q[best * kLanes])) best = a;
  }
  return best;
}

LossTerm td_loss(Loss loss, float error) {
  if (loss == Loss::mse) return {error * error, -2 * error};
  const float size = std::abs(error);  // Huber with threshold 1
  return {size <= 1 ? 0.5f * error * error : size - 0.5f, -std::clamp(error, -1.0f, 1.0f)};
}

Dqn::Dqn(const Structure& structure, Initialiser init, const DqnOptions& options,
         const OptimiserOptions& optimiser, std::uint64_t seed, int envs)
    : options_(options),
      seed_(seed),
      plan_(structure),
      online_(arena_.take<float>(structure.storage)),
      target_(arena_.take<float>(structure.storage)),
      optimiser_(optimiser, structure.storage),
      acting_(structure, envs, Use::inference) {
  initialise(structure, init, seed, online_);
  std::copy(online_.begin(), online_.end(), target_.begin());
  for (int first = 0; first < options.batch; first += kShardRows) {
    const int rows = std::min(kShardRows, options.batch - first);
    shards_.push_back({.first = first,
                       .rows = rows,
                       .online = Workspace(structure, rows, Use::training),
                       .target = Workspace(structure, rows, Use::inference),
                       .gradient = arena_.take<float>(structure.storage)});
  }
}

void Dqn::act(std::span<const float> obs, std::span<const std::uint8_t> mask, double epsilon,
              std::uint64_t step, ThreadTeam& team, std::span<std::int32_t> actions) {
  const int envs = static_cast<int>(actions.size());
  const int action_count = structure().outputs;
  const auto mask_of = [&](std::size_t row) {
    return mask.empty() ? nullptr : &mask[row * action_count];
  };

  team.run(block_count(envs), [&](int first, int last, int) {
    constexpr int kGreedy = -1;
    for (int block = first; block < last; ++block) {
      const int begin = block * kLanes;
      const int end = std::min(envs, begin + kLanes);
      bool any_greedy = false;
      for (int row = begin; row < end; ++row) {
        Rng rng(seed_, Purpose::exploration, row, step);
        const bool explore = rng.uniform() < epsilon;
        actions[row] = explore ? random_action(action_count, mask_of(row), rng) : kGreedy;
        any_greedy |= !explore;
      }
      if (!any_greedy) continue;
      forward(plan_, online_, obs.data(), envs, block, block + 1, acting_);
      for (int row = begin; row < end; ++row) {
        if (actions[row] != kGreedy) continue;
        actions[row] =
            greedy_action(acting_.outputs(block) + row - begin, action_count, mask_of(row));
      }
    }
  });
}

UpdateReport Dqn::update(const Batch& batch, double learning_rate, ThreadTeam& team) {
  const int shard_count = static_cast<int>(shards_.size());
  team.run(shard_count, [&](int first, int last, int) {
    for (int i = first; i < last; ++i) learn(batch, shards_[i]);
  });

  const std::span<float> gradient = shards_[0].gradient;
  UpdateReport report;
  for (const Shard& shard : shards_) {
    report.loss += shard.loss / batch.size;
    report.mean_q += shard.q / batch.size;
    if (&shard == shards_.data()) continue;
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += shard.gradient[i];
  }
  const float norm = euclidean_norm(gradient);
  report.gradient_norm = norm;
  if (std::isfinite(report.loss) && std::isfinite(norm)) {
    optimiser_.step(online_, gradient, static_cast<float>(learning_rate),
                    clip_factor(norm, optimiser_.options().clip_norm));
  }
  return report;
}

void Dqn::learn(const Batch& batch, Shard& shard) const {
  const int actions = structure().outputs;
  const auto obs_rows = [&](const float* rows) {
    return rows + static_cast<std::size_t>(shard.first) * structure().inputs;
  };
  const float share = 1.0f / static_cast<float>(batch.size);
  shard.loss = shard.q = 0;

  forward(plan_, target_, obs_rows(batch.next_obs), shard.rows, shard.target);
  forward(plan_, online_, obs_rows(batch.obs), shard.rows, shard.online);

  for (int block = 0; block < block_count(shard.rows); ++block) {
    const float* next_q = shard.target.outputs(block);
    const float* q = shard.online.outputs(block);
    float* dq = shard.online.output_gradient(block);
    std::fill_n(dq, actions * kLanes, 0.0f);
    const int rows = std::min(kLanes, shard.rows - block * kLanes);
    for (int lane = 0; lane < rows; ++lane) {
      const int i = shard.first + block * kLanes + lane;
      const std::uint8_t* mask =
          batch.next_mask == nullptr ? nullptr : batch.next_mask + std::size_t(i) * actions;
      float y = batch.rewards[i];
      if (batch.discounts[i] != 0)
        y += batch.discounts[i] * best_value(next_q + lane, actions, mask);
      const int taken = batch.actions[i] * kLanes + lane;
      const LossTerm term = td_loss(options_.loss, y - q[taken]);
      dq[taken] = term.slope * share;
      shard.loss += term.value;
      shard.q += q[taken];
    }
  }
  backward(plan_, online_, shard.rows, shard.online, shard.gradient);
}

void Dqn::update_target() {
  const auto blend = static_cast<float>(options_.target_blend);
  if (blend == 1) {
    std::copy(online_.begin(), online_.end(), target_.begin());
    return;
  }
  for (std::size_t i = 0; i < target_.size(); ++i) target_[i] += blend * (online_[i] - target_[i]);
}

}  // namespace hotloop
