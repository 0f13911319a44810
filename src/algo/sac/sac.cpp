#include "algo/sac/sac.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <hotloop/rng.hpp>

#include "algo/sac/squashed.hpp"
#include "net/kernels/normals.hpp"

namespace hotloop {
namespace {

constexpr int kNextPass = 0, kActorPass = 1;  // which actions are sampled

// Without what is meant for the weights of networks: CrossQ's momentum too.
OptimiserOptions plain(const OptimiserOptions& of_networks) {
  OptimiserOptions o = of_networks;
  o.beta1 = OptimiserOptions{}.beta1;
  o.weight_decay = 0;
  o.max_grad_norm = 0;
  return o;
}

}  // namespace

Sac::Sac(const Structure& actor, const Structure& critic, const AgentSpec& spec, std::uint64_t seed,
         const InputScale* scale)
    : options_(options_of<SacOptions>(spec)),
      actions_(actor.outputs / 2),
      seed_(seed),
      actor_(actor, spec.net.init, spec.optimiser, seed, scale),
      critics_(critic, options_.critics, spec, actions_, seed, scale),
      learns_temperature_(std::isnan(options_.ent_coef)),
      target_entropy_(std::isnan(options_.target_entropy) ? -actions_ : options_.target_entropy),
      log_temperature_(arena_.take<float>(1)),
      temperature_optimiser_(plain(spec.optimiser), 1),
      split_(actor, spec.learn.batch, spec.max_threads()),
      at_(actor, spec.learn.batch, Use::training, spec.max_threads()),
      actor_gradient_(arena_.take<float>(actor.storage)) {
  log_temperature_[0] = static_cast<float>(
      std::log(learns_temperature_ ? options_.ent_coef_init : options_.ent_coef));
  const auto lanes = static_cast<std::size_t>(block_count(spec.learn.batch)) * kLanes;
  spread_ = arena_.take<float>(lanes * actions_);
  log_probability_ = arena_.take<float>(lanes);
}

double Sac::temperature() const { return std::exp(static_cast<double>(log_temperature_[0])); }

// Samples actions for the states that the actor's workspace has been run on. Each block of the
// batch has its own stream, so the draws do not depend on the threads.
void Sac::sample(int pass, std::uint64_t index, const RowRange& rows) {
  alignas(64) std::array<float, kMaxActionSize * kLanes> noise;
  for_each_block(rows, [&](const BlockPart& at) {
    Rng rng(seed_, Purpose::policy, static_cast<std::uint32_t>(1 + 2 * at.block + pass), index);
    draw_normals(rng, {noise.data(), static_cast<std::size_t>(actions_) * kLanes});
    sample_squashed(actions_, at.width(), at_.outputs(at.block) + at.lane, noise.data() + at.lane,
                    critics_.batch().action(at), spread(at), log_probability(at));
  });
}

SacReport Sac::update(const Batch& batch, const Rates& rates, std::uint64_t index,
                      ThreadTeam& team) {
  critics_.begin_update(index);
  critics_.compute_gradients(batch, reward_factor_, team, [&](const RowRange& rows) {
    choose_next_actions(batch, index, rows);
  });
  const Critics::Report critics = critics_.descend(rates.critics, team);
  report_.loss = critics.loss;
  report_.gradient_norm = critics.gradient_norm;
  report_.mean_q = critics.mean_q;
  if (!critics.is_finite()) return report_;
  if ((index + 1) % options_.policy_delay == 0) update_actor(batch, rates, index, team);
  mark(Phase::learn_sync);
  critics_.sync_targets(team, options_.tau);
  return report_;
}

void Sac::choose_next_actions(const Batch& batch, std::uint64_t index, const RowRange& rows) {
  mark(Phase::learn_target);
  at_.set_evaluation(rows.thread);
  forward(actor_.plan(), actor_.online(), batch.next_obs, rows, at_, actor_.scale());
  sample(kNextPass, index, rows);
  const auto alpha = static_cast<float>(temperature());
  for_each_block(rows, [&](const BlockPart& at) {
    std::transform(log_probability(at), log_probability(at) + at.width(),
                   critics_.batch().bonus(at), [alpha](float p) { return alpha * p; });
  });
}

// L = mean of alpha log pi(a | s) - Q(s, a), and its gradient in the outputs of the actor.
void Sac::compute_actor_loss(const Batch& batch, std::uint64_t index, const RowRange& rows) {
  mark(Phase::learn_actor);
  if (options_.critics.crossq) at_.set_training({});
  forward(actor_.plan(), actor_.online(), batch.obs, rows, at_, actor_.scale());
  sample(kActorPass, index, rows);
  critics_.evaluate_actions(batch.obs, rows);
  const auto alpha = static_cast<float>(temperature());
  const float share = 1.0f / static_cast<float>(batch.size);
  for_each_block(rows, [&](const BlockPart& at) {
    // Lanes beyond the batch have no part in the loss.
    alignas(64) std::array<float, kLanes> d_log_probability{};
    std::fill_n(d_log_probability.begin(), at.count, alpha * share);
    float* d_action = critics_.batch().action_gradient(at);
    for (int i = 0; i < actions_; ++i) {
      for (int lane = 0; lane < at.width(); ++lane)
        d_action[i * kLanes + lane] *= lane < at.count ? -share : 0.0f;
    }
    squashed_gradient(actions_, at.width(), at_.outputs(at.block) + at.lane,
                      critics_.batch().action(at), spread(at), d_action, d_log_probability.data(),
                      at_.output_gradient(at.block) + at.lane);
  });
}

void Sac::update_actor(const Batch& batch, const Rates& rates, std::uint64_t index,
                       ThreadTeam& team) {
  compute_gradient({actor_.plan(), actor_.online(), at_, actor_gradient_}, split_, team,
                   [&](const RowRange& rows) { compute_actor_loss(batch, index, rows); });
  double loss = 0, log_probability = 0, saturated = 0;
  CriticBatch& critics = critics_.batch();
  for_each_block({0, batch.size}, [&](const BlockPart& at) {
    for (int lane = 0; lane < at.count; ++lane) {
      const double log_p = log_probability_[at.row() + lane];
      loss += (temperature() * log_p - critics.value(at)[lane]) / batch.size;
      log_probability += log_p / batch.size;
      for (int i = 0; i < actions_; ++i)
        saturated += std::abs(critics.action(at)[i * kLanes + lane]) > 0.99f ? 1 : 0;
    }
  });
  report_.actor_loss = loss;
  report_.entropy = -log_probability;
  report_.saturated = saturated / batch.size / actions_;
  report_.ent_coef = temperature();
  report_.actor_gradient_norm = actor_.descend(actor_gradient_, loss, rates.actor, team);
  if (options_.critics.crossq) update_statistics(actor_.plan(), at_, actor_.online());
  if (!learns_temperature_ || !std::isfinite(log_probability)) return;
  const auto gradient = static_cast<float>(-(log_probability + target_entropy_));
  temperature_optimiser_.step(log_temperature_, {&gradient, 1},
                              static_cast<float>(rates.temperature), 1, team);
  log_temperature_[0] = std::clamp(log_temperature_[0], -kMaxLogTemperature, kMaxLogTemperature);
}

}  // namespace hotloop
