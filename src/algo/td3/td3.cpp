#include "algo/td3/td3.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <hotloop/rng.hpp>

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
      actor_target_(arena_.take<float>(options_.critics.crossq ? 0 : actor.storage)),
      split_(actor, spec.learn.batch, spec.max_threads()),
      at_(actor, spec.learn.batch, Use::training, spec.max_threads()),
      actor_gradient_(arena_.take<float>(actor.storage)) {
  std::copy_n(actor_.online().begin(), actor_target_.size(), actor_target_.begin());
}

Td3Report Td3::update(const Batch& batch, const Rates& rates, std::uint64_t index,
                      ThreadTeam& team) {
  critics_.begin_update(index);
  critics_.compute_gradients(batch, reward_factor_, team, [&](const RowRange& rows) {
    choose_next_actions(batch, index, rows);
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

void Td3::choose_next_actions(const Batch& batch, std::uint64_t index, const RowRange& rows) {
  mark(Phase::learn_target);
  at_.set_evaluation(rows.thread);
  forward(actor_.plan(), actor_target_.empty() ? actor_.online() : actor_target_, batch.next_obs,
          rows, at_, actor_.scale());
  for_each_block(rows, [&](const BlockPart& at) {
    float* action = critics_.batch().action(at);
    squash_lanes(at_.outputs(at.block) + at.lane, actions_, at.width(), action);
    if (options_.target_noise > 0) smooth(at, index, action);
    std::fill_n(critics_.batch().bonus(at), at.width(), 0.0f);
  });
}

// Target policy smoothing. Each block of the batch has its own stream, so the draws do not depend
// on the threads.
void Td3::smooth(const BlockPart& at, std::uint64_t index, float* action) const {
  alignas(64) std::array<float, kMaxActionSize * kLanes> noise;
  Rng rng(seed_, Purpose::policy, static_cast<std::uint32_t>(1 + at.block), index);
  const int count = actions_ * kLanes;
  draw_normals(rng, {noise.data(), static_cast<std::size_t>(count)});
  const auto std = static_cast<float>(options_.target_noise);
  const auto clip = static_cast<float>(options_.target_noise_clip);
  for (int i = 0; i < count; i += kLanes) {
    for (int lane = i; lane < i + at.width(); ++lane) {
      const float off = std::clamp(std * noise[lane + at.lane], -clip, clip);
      action[lane] = std::clamp(action[lane] + off, -1.0f, 1.0f);
    }
  }
}

// L = mean of -Q(s, a), and its gradient in the outputs of the actor.
void Td3::compute_actor_loss(const Batch& batch, const RowRange& rows) {
  mark(Phase::learn_actor);
  if (options_.critics.crossq) at_.set_training({});
  forward(actor_.plan(), actor_.online(), batch.obs, rows, at_, actor_.scale());
  CriticBatch& critics = critics_.batch();
  for_each_block(rows, [&](const BlockPart& at) {
    squash_lanes(at_.outputs(at.block) + at.lane, actions_, at.width(), critics.action(at));
  });
  critics_.evaluate_actions(batch.obs, rows);
  const float share = 1.0f / static_cast<float>(batch.size);
  for_each_block(rows, [&](const BlockPart& at) {
    const float* action = critics.action(at);
    const float* d_action = critics.action_gradient(at);
    float* d_output = at_.output_gradient(at.block) + at.lane;
    for (int i = 0; i < actions_ * kLanes; i += kLanes) {
      std::fill_n(d_output + i, at.width(), 0.0f);  // lanes beyond the batch have no part
      for (int lane = i; lane < i + at.count; ++lane)
        d_output[lane] = -share * d_action[lane] * (1 - action[lane] * action[lane]);
    }
  });
}

void Td3::update_actor(const Batch& batch, const Rates& rates, ThreadTeam& team) {
  compute_gradient({actor_.plan(), actor_.online(), at_, actor_gradient_}, split_, team,
                   [&](const RowRange& rows) { compute_actor_loss(batch, rows); });
  double value = 0, saturated = 0;
  CriticBatch& critics = critics_.batch();
  for_each_block({0, batch.size}, [&](const BlockPart& at) {
    for (int lane = 0; lane < at.count; ++lane) {
      value += static_cast<double>(critics.value(at)[lane]);
      for (int i = 0; i < actions_; ++i)
        saturated += std::abs(critics.action(at)[i * kLanes + lane]) > 0.99f ? 1 : 0;
    }
  });
  report_.actor_loss = -value / batch.size;
  report_.saturated = saturated / batch.size / actions_;
  report_.actor_gradient_norm =
      actor_.descend(actor_gradient_, report_.actor_loss, rates.actor, team);
  if (options_.critics.crossq) update_statistics(actor_.plan(), at_, actor_.online());
}

}  // namespace hotloop
