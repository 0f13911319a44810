#include "algo/dqn/dqn.hpp"

#include <algorithm>
#include <cmath>

namespace hotloop {

Dqn::Dqn(const Structure& structure, const AgentSpec& spec, std::uint64_t seed,
         const InputScale* scale)
    : options_(options_of<DqnOptions>(spec)),
      munchausen_{static_cast<float>(options_.munchausen.alpha),
                  static_cast<float>(options_.munchausen.temperature),
                  static_cast<float>(options_.munchausen.clip)},
      network_(structure,
               make_head(options_.head, structure.outputs / make_head(options_.head, 1).atoms),
               spec.net.init, spec.optimiser, seed, spec.envs, scale),
      online_noise_(network_.make_noisy()),
      target_noise_(network_.make_noisy()),
      split_(structure, spec.learn.batch, spec.max_threads()),
      s_(structure, spec.learn.batch, Use::training, spec.max_threads()),
      next_(structure, spec.learn.batch, Use::inference, spec.max_threads()),
      losses_(arena_.take<float>(spec.learn.batch)),
      values_(arena_.take<float>(spec.learn.batch)),
      gradient_(arena_.take<float>(structure.storage)),
      errors_(
          arena_.take<float>(static_cast<std::size_t>(spec.learn.accumulate) * spec.learn.batch)) {
  if (has_target()) {
    target_ = arena_.take<float>(structure.storage);
    std::copy(online().begin(), online().end(), target_.begin());
  }
  const auto lanes = static_cast<std::size_t>(block_count(spec.learn.batch)) * kLanes;
  next_actions_ = arena_.take<std::int32_t>(lanes);
  if (options_.munchausen.alpha > 0) {
    next_values_ = arena_.take<float>(lanes);
    bonus_ = arena_.take<float>(lanes);
  }
  const std::size_t scratch =
      std::max(values_scratch(network_.head()), loss_scratch(network_.head()));
  for (int thread = 0; thread < spec.max_threads(); ++thread)
    scratch_.push_back(arena_.take<float>(scratch));
  if (spec.learn.accumulate > 1) accumulated_ = arena_.take<float>(structure.storage);
}

std::size_t Dqn::bytes_needed(const Structure& structure, const AgentSpec& spec) {
  constexpr std::size_t kCopies = 5;  // online, target, two moments, gradient
  const int batch = spec.learn.batch;
  return kCopies * structure.storage * sizeof(float) +
         Workspace::bytes_needed(structure, batch, Use::training, spec.max_threads()) +
         Workspace::bytes_needed(structure, batch, Use::inference, spec.max_threads());
}

QReport Dqn::update(std::span<const Batch> batches, double learning_rate, std::uint64_t index,
                    ThreadTeam& team, const Hints& hints) {
  const bool fixed_targets = has_target() && !options_.double_q && !network_.is_noisy();
  const bool keep_next = hints.same_targets && fixed_targets && batches.size() == 1;
  if (network_.is_noisy()) mark(Phase::learn_noise);
  online_now_ = network_.with_noise(online(), 1, index, online_noise_);
  target_now_ = has_target() ? network_.with_noise(target_, 2, index, target_noise_) : online_now_;
  const std::span<float> gradient = accumulated_.empty() ? gradient_ : accumulated_;
  const auto share = 1.0f / static_cast<float>(batches.size());
  std::fill(accumulated_.begin(), accumulated_.end(), 0.0f);

  QReport report;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const Batch& batch = batches[b];
    const std::span<float> errors = errors_.subspan(b * batch.size, batch.size);
    compute_gradient({network_.plan(), online_now_, s_, gradient_}, split_, team,
                     [&](const RowRange& rows) {
                       if (!keep_next) evaluate_next_states(batch, rows);
                       compute_loss(batch, rows, errors);
                     });
    double loss = 0, q = 0;
    for (int row = 0; row < batch.size; ++row) loss += losses_[row], q += values_[row];
    report.loss += share * loss / batch.size;
    report.mean_q += share * q / batch.size;
    if (!accumulated_.empty()) add_scaled(gradient_, share, accumulated_, team);
  }
  if (network_.is_noisy()) noise_gradient(network_.structure(), online_noise_.noise, gradient);
  report.gradient_norm = network_.descend(gradient, report.loss, learning_rate, team);
  return report;
}

// Computes Q_target(s', .) into next_, and a* = argmax_a Q(s', a) with the selecting network.
void Dqn::evaluate_next_states(const Batch& batch, const RowRange& rows) {
  mark(Phase::learn_target);
  if (options_.munchausen.alpha > 0) return compute_munchausen(batch, rows);
  const Plan& plan = network_.plan();
  const QHead& head = network_.head();
  const std::span<const float> selecting = options_.double_q ? online_now_ : target_now_;

  forward(plan, selecting, batch.next_obs, rows, next_, network_.scale());
  for_each_block(rows, [&](const BlockPart& at) {
    const float* q =
        action_values(head, next_.outputs(at.block) + at.lane, at.width(), scratch(rows));
    greedy_actions(q, head.actions, at.count,
                   batch.next_mask == nullptr
                       ? nullptr
                       : batch.next_mask + static_cast<std::size_t>(at.row()) * head.actions,
                   &next_actions_[at.row()]);
  });
  if (options_.double_q) forward_loaded(plan, target_now_, rows, next_);
}

// Computes the Munchausen bonus of the rewards, and the soft values V(s').
void Dqn::compute_munchausen(const Batch& batch, const RowRange& rows) {
  const int actions = network_.head().actions;
  // Computes Q_target of `obs` over the allowed actions, and calls `use` for each block.
  const auto for_each_block_of = [&](const float* obs, const std::uint8_t* masks, auto&& use) {
    forward(network_.plan(), target_now_, obs, rows, next_, network_.scale());
    for_each_block(rows, [&](const BlockPart& at) {
      const std::uint8_t* mask =
          masks == nullptr ? nullptr : masks + static_cast<std::size_t>(at.row()) * actions;
      use(allowed_values(next_.outputs(at.block) + at.lane, actions, at.count, mask, scratch(rows)),
          at);
    });
  };
  for_each_block_of(batch.obs, batch.mask, [&](const float* q, const BlockPart& at) {
    munchausen_bonus(munchausen_, actions, at.count, at.width(), q, batch.actions + at.row(),
                     &bonus_[at.row()]);
  });
  for_each_block_of(batch.next_obs, batch.next_mask, [&](const float* q, const BlockPart& at) {
    soft_values(actions, at.width(), munchausen_.temperature, q, &next_values_[at.row()]);
  });
}

void Dqn::compute_loss(const Batch& batch, const RowRange& rows, std::span<float> errors) {
  mark(Phase::learn_forward);
  forward(network_.plan(), online_now_, batch.obs, rows, s_, network_.scale());

  mark(Phase::learn_loss);
  const bool soft = !bonus_.empty();
  for_each_block(rows, [&](const BlockPart& at) {
    const int row = at.row();
    q_loss(network_.head(), options_.loss,
           {.rows = at.count,
            .width = at.width(),
            .actions = batch.actions + row,
            .rewards = batch.rewards + row,
            .discounts = batch.discounts + row,
            .weights = batch.weights == nullptr ? nullptr : batch.weights + row,
            .next_actions = &next_actions_[row],
            .next = next_.outputs(at.block) + at.lane,
            .next_values = soft ? &next_values_[row] : nullptr,
            .bonus = soft ? &bonus_[row] : nullptr,
            .outputs = s_.outputs(at.block) + at.lane,
            .reward_factor = reward_factor_,
            .share = 1.0f / static_cast<float>(batch.size),
            .gradient = s_.output_gradient(at.block) + at.lane,
            .errors = &errors[row],
            .losses = &losses_[row],
            .values = &values_[row]},
           scratch(rows));
  });
  mark(Phase::learn_backward);
}

void Dqn::sync_target(std::int64_t times) {
  const double once = options_.target.tau;
  const auto blend =
      static_cast<float>(times == 1 ? once : 1 - std::pow(1 - once, static_cast<double>(times)));
  if (blend == 1) {
    std::copy(online().begin(), online().end(), target_.begin());
    return;
  }
  const std::span<const float> from = online();
  for (std::size_t i = 0; i < target_.size(); ++i) target_[i] += blend * (from[i] - target_[i]);
}

}  // namespace hotloop
