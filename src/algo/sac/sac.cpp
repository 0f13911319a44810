#include "algo/sac/sac.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <hotloop/rng.hpp>

#include "algo/sac/squashed.hpp"
#include "core/cpu/flush_denormals.hpp"
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
      temperature_optimiser_(plain(spec.optimiser), 1) {
  log_temperature_[0] = static_cast<float>(
      std::log(learns_temperature_ ? options_.ent_coef_init : options_.ent_coef));
  const int size = CriticShard::rows_of(options_.critics, spec.learn.batch);
  for (int first = 0; first < spec.learn.batch; first += size) {
    const int rows = std::min(size, spec.learn.batch - first);
    const auto lanes = static_cast<std::size_t>(block_count(rows)) * kLanes;
    shards_.push_back(
        {{.first = first, .rows = rows, .gradient = arena_.take<float>(actor.storage)},
         &critics_.shard(first / size),
         Workspace(actor, rows, Use::training),
         arena_.take<float>(lanes * actions_),
         arena_.take<float>(lanes)});
  }
}

double Sac::temperature() const { return std::exp(static_cast<double>(log_temperature_[0])); }

// Samples actions for the states that the actor's workspace has been run on. Each block of the
// batch has its own stream, so the draws do not depend on the threads.
void Sac::sample(Shard& shard, int pass, std::uint64_t index) const {
  alignas(64) std::array<float, kMaxActionSize * kLanes> noise;
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const int of_batch = shard.first / kLanes + block;
    Rng rng(seed_, Purpose::policy, static_cast<std::uint32_t>(1 + 2 * of_batch + pass), index);
    draw_normals(rng, {noise.data(), static_cast<std::size_t>(actions_) * kLanes});
    sample_squashed(actions_, block_width(shard.rows, block), shard.actor.outputs(block),
                    noise.data(), shard.critics->action(block),
                    &shard.spread[static_cast<std::size_t>(block) * actions_ * kLanes],
                    &shard.log_probability[static_cast<std::size_t>(block) * kLanes]);
  }
}

SacReport Sac::update(const Batch& batch, const Rates& rates, std::uint64_t index,
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
  if (!critics.is_finite()) return report_;
  if ((index + 1) % options_.policy_delay == 0) update_actor(batch, rates, index, team);
  mark(Phase::learn_sync);
  critics_.sync_targets(team, options_.tau);
  return report_;
}

void Sac::choose_next_actions(const Batch& batch, std::uint64_t index, Shard& shard) const {
  mark(Phase::learn_target);
  shard.actor.set_evaluation();
  const Plan& plan = actor_.plan();
  forward(plan, actor_.online(),
          batch.next_obs + static_cast<std::size_t>(shard.first) * plan.structure().inputs,
          shard.rows, shard.actor, actor_.scale());
  sample(shard, kNextPass, index);
  const auto alpha = static_cast<float>(temperature());
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const float* log_probability = &shard.log_probability[static_cast<std::size_t>(block) * kLanes];
    std::transform(log_probability, log_probability + kLanes, shard.critics->bonus(block),
                   [alpha](float p) { return alpha * p; });
  }
}

void Sac::compute_actor_gradient(const Batch& batch, std::uint64_t index, Shard& shard) const {
  mark(Phase::learn_actor);
  const Plan& plan = actor_.plan();
  const float* obs = batch.obs + static_cast<std::size_t>(shard.first) * plan.structure().inputs;
  if (options_.critics.crossq) shard.actor.set_training({});
  forward(plan, actor_.online(), obs, shard.rows, shard.actor, actor_.scale());
  sample(shard, kActorPass, index);
  critics_.evaluate_actions(obs, *shard.critics);
  const auto alpha = static_cast<float>(temperature());
  const float share = 1.0f / static_cast<float>(batch.size);
  shard.loss = shard.log_probabilities = shard.saturated = 0;
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const std::size_t lane = static_cast<std::size_t>(block) * kLanes;
    const int rows = std::min(kLanes, shard.rows - block * kLanes);
    const float* log_probability = &shard.log_probability[lane];
    const float* action = shard.critics->action(block);
    for (int row = 0; row < rows; ++row) {
      shard.loss += alpha * log_probability[row] - shard.critics->value(block)[row];
      shard.log_probabilities += log_probability[row];
      for (int i = 0; i < actions_; ++i)
        shard.saturated += std::abs(action[i * kLanes + row]) > 0.99f ? 1 : 0;
    }
    // Lanes beyond the batch have no part in the loss.
    alignas(64) std::array<float, kLanes> d_log_probability{};
    std::fill_n(d_log_probability.begin(), rows, alpha * share);
    float* d_action = shard.critics->action_gradient(block);
    for (int i = 0; i < actions_; ++i) {
      for (int row = 0; row < kLanes; ++row)
        d_action[i * kLanes + row] *= row < rows ? -share : 0.0f;
    }
    squashed_gradient(actions_, block_width(shard.rows, block), shard.actor.outputs(block), action,
                      &shard.spread[lane * actions_], d_action, d_log_probability.data(),
                      shard.actor.output_gradient(block));
  }
  backward(plan, actor_.online(), shard.rows, shard.actor, shard.gradient);
}

void Sac::update_actor(const Batch& batch, const Rates& rates, std::uint64_t index,
                       ThreadTeam& team) {
  team.run(static_cast<int>(shards_.size()), [&](int first, int last, int) {
    const FlushDenormals flush;
    for (int i = first; i < last; ++i) compute_actor_gradient(batch, index, shards_[i]);
  });
  double loss = 0, log_probability = 0, saturated = 0;
  for (const Shard& shard : shards_) {
    loss += shard.loss / batch.size;
    log_probability += shard.log_probabilities / batch.size;
    saturated += shard.saturated / batch.size / actions_;
  }
  report_.actor_loss = loss;
  report_.entropy = -log_probability;
  report_.saturated = saturated;
  report_.ent_coef = temperature();
  add_gradients(shards_, 1, shards_[0].gradient, team);
  report_.actor_gradient_norm = actor_.descend(shards_[0].gradient, loss, rates.actor, team);
  if (options_.critics.crossq) update_statistics(actor_.plan(), shards_[0].actor, actor_.online());
  if (!learns_temperature_ || !std::isfinite(log_probability)) return;
  const auto gradient = static_cast<float>(-(log_probability + target_entropy_));
  temperature_optimiser_.step(log_temperature_, {&gradient, 1},
                              static_cast<float>(rates.temperature), 1, team);
  log_temperature_[0] = std::clamp(log_temperature_[0], -kMaxLogTemperature, kMaxLogTemperature);
}

}  // namespace hotloop
