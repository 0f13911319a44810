#include "algo/td3/td3.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <hotloop/rng.hpp>

#include "core/cpu/flush_denormals.hpp"
#include "net/kernels/normals.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

// a = tanh(outputs), [count][kLanes].
void squash_lanes(const float* outputs, int count, int width, float* a) {
  with_width(width, [&]<int kWidth>() {
    for (int i = 0; i < count; ++i)
      Lanes<kWidth>(a + i * kLanes) = ConstLanes<kWidth>(outputs + i * kLanes).tanh();
  });
}

}  // namespace

Td3::Td3(const Structure& actor, const Structure& critic, const AgentSpec& spec, std::uint64_t seed,
         const InputScale* scale)
    : options_(options_of<Td3Options>(spec)),
      actions_(actor.outputs),
      seed_(seed),
      actor_(actor, spec.net.init, spec.optimiser, seed, scale),
      critics_(critic, options_.critics, spec, actions_, seed, scale),
      actor_target_(arena_.take<float>(options_.critics.crossq ? 0 : actor.storage)) {
  std::copy_n(actor_.online().begin(), actor_target_.size(), actor_target_.begin());
  const int size = CriticShard::rows_of(options_.critics, spec.learn.batch);
  for (int first = 0; first < spec.learn.batch; first += size) {
    const int rows = std::min(size, spec.learn.batch - first);
    shards_.push_back(
        {{.first = first, .rows = rows, .gradient = arena_.take<float>(actor.storage)},
         &critics_.shard(first / size),
         Workspace(actor, rows, Use::training)});
  }
}

Td3Report Td3::update(const Batch& batch, const Rates& rates, std::uint64_t index,
                      ThreadTeam& team) {
  critics_.begin_update(index);
  team.run(static_cast<int>(shards_.size()), [&](int first, int last, int) {
    const FlushDenormals flush;
    for (int i = first; i < last; ++i) {
      choose_next_actions(batch, index, shards_[i]);
      critics_.compute_gradients(batch, reward_factor_, critics_.shard(i));
    }
  });
  const Critics::Report critics = critics_.descend(rates.critics, team);
  report_.loss = critics.loss;
  report_.gradient_norm = critics.gradient_norm;
  report_.mean_q = critics.mean_q;
  if (!critics.is_finite() || !updates_actor(index)) return report_;
  update_actor(batch, rates, team);
  mark(Phase::learn_sync);
  critics_.sync_targets(team, options_.tau);
  blend(actor_.online(), static_cast<float>(options_.tau), actor_target_, team);
  return report_;
}

void Td3::choose_next_actions(const Batch& batch, std::uint64_t index, Shard& shard) const {
  mark(Phase::learn_target);
  shard.actor.set_evaluation();
  const Plan& plan = actor_.plan();
  forward(plan, actor_target_.empty() ? actor_.online() : actor_target_,
          batch.next_obs + static_cast<std::size_t>(shard.first) * plan.structure().inputs,
          shard.rows, shard.actor, actor_.scale());
  for (int block = 0; block < block_count(shard.rows); ++block) {
    float* action = shard.critics->action(block);
    squash_lanes(shard.actor.outputs(block), actions_, block_width(shard.rows, block), action);
    if (options_.target_noise > 0) smooth(shard.first / kLanes + block, index, action);
    std::fill_n(shard.critics->bonus(block), kLanes, 0.0f);
  }
}

// Target policy smoothing. Each block of the batch has its own stream, so the draws do not depend
// on the threads.
void Td3::smooth(int block_of_batch, std::uint64_t index, float* action) const {
  alignas(64) std::array<float, kMaxActionSize * kLanes> noise;
  Rng rng(seed_, Purpose::policy, static_cast<std::uint32_t>(1 + block_of_batch), index);
  const int count = actions_ * kLanes;
  draw_normals(rng, {noise.data(), static_cast<std::size_t>(count)});
  const auto std = static_cast<float>(options_.target_noise);
  const auto clip = static_cast<float>(options_.target_noise_clip);
  for (int i = 0; i < count; ++i)
    action[i] = std::clamp(action[i] + std::clamp(std * noise[i], -clip, clip), -1.0f, 1.0f);
}

void Td3::compute_actor_gradient(const Batch& batch, Shard& shard) const {
  mark(Phase::learn_actor);
  const Plan& plan = actor_.plan();
  const float* obs = batch.obs + static_cast<std::size_t>(shard.first) * plan.structure().inputs;
  if (options_.critics.crossq) shard.actor.set_training({});
  forward(plan, actor_.online(), obs, shard.rows, shard.actor, actor_.scale());
  for (int block = 0; block < block_count(shard.rows); ++block) {
    squash_lanes(shard.actor.outputs(block), actions_, block_width(shard.rows, block),
                 shard.critics->action(block));
  }
  critics_.evaluate_actions(obs, *shard.critics);
  const float share = 1.0f / static_cast<float>(batch.size);
  shard.value = shard.saturated = 0;
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const int rows = std::min(kLanes, shard.rows - block * kLanes);
    const float* action = shard.critics->action(block);
    const float* d_action = shard.critics->action_gradient(block);
    float* d_output = shard.actor.output_gradient(block);
    std::fill_n(d_output, actions_ * kLanes, 0.0f);  // lanes beyond the batch have no part
    for (int row = 0; row < rows; ++row) shard.value += shard.critics->value(block)[row];
    for (int i = 0; i < actions_; ++i) {
      for (int at = i * kLanes; at < i * kLanes + rows; ++at) {
        d_output[at] = -share * d_action[at] * (1 - action[at] * action[at]);
        shard.saturated += std::abs(action[at]) > 0.99f ? 1 : 0;
      }
    }
  }
  backward(plan, actor_.online(), shard.rows, shard.actor, shard.gradient);
}

void Td3::update_actor(const Batch& batch, const Rates& rates, ThreadTeam& team) {
  team.run(static_cast<int>(shards_.size()), [&](int first, int last, int) {
    const FlushDenormals flush;
    for (int i = first; i < last; ++i) compute_actor_gradient(batch, shards_[i]);
  });
  report_.actor_loss = report_.saturated = 0;
  for (const Shard& shard : shards_) {
    report_.actor_loss -= shard.value / batch.size;
    report_.saturated += shard.saturated / batch.size / actions_;
  }
  add_gradients(shards_, 1, shards_[0].gradient, team);
  report_.actor_gradient_norm =
      actor_.descend(shards_[0].gradient, report_.actor_loss, rates.actor, team);
  if (options_.critics.crossq) update_statistics(actor_.plan(), shards_[0].actor, actor_.online());
}

}  // namespace hotloop
