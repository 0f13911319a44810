#include "algo/dqn/dqn.hpp"

#include <algorithm>
#include <cmath>

#include "core/cpu/flush_denormals.hpp"

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
      errors_(
          arena_.take<float>(static_cast<std::size_t>(spec.learn.accumulate) * spec.learn.batch)) {
  if (has_target()) {
    target_ = arena_.take<float>(structure.storage);
    std::copy(online().begin(), online().end(), target_.begin());
  }
  const std::size_t scratch =
      std::max(values_scratch(network_.head()), loss_scratch(network_.head()));
  for (int first = 0; first < spec.learn.batch; first += Shard::kRows) {
    const int rows = std::min(Shard::kRows, spec.learn.batch - first);
    const auto lanes = static_cast<std::size_t>(block_count(rows)) * kLanes;
    const std::size_t soft = options_.munchausen.alpha > 0 ? lanes : 0;
    shards_.push_back(
        {{.first = first, .rows = rows, .gradient = arena_.take<float>(structure.storage)},
         LossSums{},
         Workspace(structure, rows, Use::training),
         Workspace(structure, rows, Use::inference),
         arena_.take<std::int32_t>(lanes),
         arena_.take<float>(soft),
         arena_.take<float>(soft),
         arena_.take<float>(scratch)});
  }
  if (spec.learn.accumulate > 1) accumulated_ = arena_.take<float>(structure.storage);
}

std::size_t Dqn::bytes_needed(const Structure& structure, const LearningOptions& options) {
  constexpr std::size_t kCopies = 4;  // online, target, two moments
  const std::size_t parameters = structure.storage * sizeof(float);
  const auto shards = static_cast<std::size_t>((options.batch + Shard::kRows - 1) / Shard::kRows);
  const int rows = std::min(Shard::kRows, options.batch);
  return kCopies * parameters +
         shards * (parameters + Workspace::bytes_needed(structure, rows, Use::training) +
                   Workspace::bytes_needed(structure, rows, Use::inference));
}

QReport Dqn::update(std::span<const Batch> batches, double learning_rate, std::uint64_t index,
                    ThreadTeam& team, const Hints& hints) {
  const bool fixed_targets = has_target() && !options_.double_q && !network_.is_noisy();
  const bool keep_next = hints.same_targets && fixed_targets && batches.size() == 1;
  if (network_.is_noisy()) mark(Phase::learn_noise);
  online_now_ = network_.with_noise(online(), 1, index, online_noise_);
  target_now_ = has_target() ? network_.with_noise(target_, 2, index, target_noise_) : online_now_;
  const std::span<float> gradient = accumulated_.empty() ? shards_[0].gradient : accumulated_;
  const auto share = 1.0f / static_cast<float>(batches.size());
  std::fill(accumulated_.begin(), accumulated_.end(), 0.0f);

  QReport report;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const Batch& batch = batches[b];
    const std::span<float> errors = errors_.subspan(b * batch.size, batch.size);
    const int shards = static_cast<int>(shards_.size());
    team.run(shards, [&](int first, int last, int) {
      const FlushDenormals flush;
      for (int i = first; i < last; ++i) {
        compute_loss(batch, shards_[i], keep_next, errors);
        mark(Phase::learn_backward);
        backward(network_.plan(), online_now_, shards_[i].rows, shards_[i].s, shards_[i].gradient);
      }
    });
    for (const Shard& shard : shards_) {
      report.loss += share * shard.sums.loss / batch.size;
      report.mean_q += share * shard.sums.q / batch.size;
    }
    add_gradients(shards_, share, gradient, team);
  }
  if (network_.is_noisy()) noise_gradient(network_.structure(), online_noise_.noise, gradient);
  report.gradient_norm = network_.descend(gradient, report.loss, learning_rate, team);
  return report;
}

// Computes Q_target(s', .) into shard.next, and a* = argmax_a Q(s', a) with the selecting network.
void Dqn::evaluate_next_states(const Batch& batch, Shard& shard) const {
  mark(Phase::learn_target);
  if (options_.munchausen.alpha > 0) return compute_munchausen(batch, shard);
  const Plan& plan = network_.plan();
  const QHead& head = network_.head();
  const float* rows =
      batch.next_obs + static_cast<std::size_t>(shard.first) * plan.structure().inputs;
  const std::span<const float> selecting = options_.double_q ? online_now_ : target_now_;

  forward(plan, selecting, rows, shard.rows, shard.next, network_.scale());
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const std::size_t row = shard.first + block * kLanes;
    const float* q = action_values(head, shard.next.outputs(block), block_width(shard.rows, block),
                                   shard.scratch.data());
    greedy_actions(q, head.actions, std::min(kLanes, shard.rows - block * kLanes),
                   batch.next_mask == nullptr ? nullptr : batch.next_mask + row * head.actions,
                   &shard.next_actions[static_cast<std::size_t>(block) * kLanes]);
  }
  if (options_.double_q) forward_loaded(plan, target_now_, shard.rows, shard.next);
}

// Computes the Munchausen bonus of the rewards, and the soft values V(s').
void Dqn::compute_munchausen(const Batch& batch, Shard& shard) const {
  const Plan& plan = network_.plan();
  const int actions = network_.head().actions;
  // Computes Q_target of `rows` over the allowed actions, and calls `use` for each block.
  const auto for_each_block = [&](const float* rows, const std::uint8_t* masks, auto&& use) {
    rows += static_cast<std::size_t>(shard.first) * plan.structure().inputs;
    forward(plan, target_now_, rows, shard.rows, shard.next, network_.scale());
    for (int block = 0; block < block_count(shard.rows); ++block) {
      const int lane = block * kLanes, count = std::min(kLanes, shard.rows - lane);
      const std::size_t row = static_cast<std::size_t>(shard.first) + lane;
      const float* q =
          allowed_values(shard.next.outputs(block), actions, count,
                         masks == nullptr ? nullptr : masks + row * actions, shard.scratch.data());
      use(q, lane, count, block_width(shard.rows, block));
    }
  };
  for_each_block(batch.obs, batch.mask, [&](const float* q, int lane, int count, int width) {
    munchausen_bonus(munchausen_, actions, count, width, q, batch.actions + shard.first + lane,
                     &shard.bonus[lane]);
  });
  for_each_block(batch.next_obs, batch.next_mask, [&](const float* q, int lane, int, int width) {
    soft_values(actions, width, munchausen_.temperature, q, &shard.next_values[lane]);
  });
}

void Dqn::compute_loss(const Batch& batch, Shard& shard, bool keep_next,
                       std::span<float> errors) const {
  const Plan& plan = network_.plan();
  if (!keep_next) evaluate_next_states(batch, shard);
  mark(Phase::learn_forward);
  forward(plan, online_now_,
          batch.obs + static_cast<std::size_t>(shard.first) * plan.structure().inputs, shard.rows,
          shard.s, network_.scale());

  mark(Phase::learn_loss);
  shard.sums = {};
  const bool soft = !shard.bonus.empty();
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const int lane = block * kLanes, row = shard.first + lane;
    const LossSums sums =
        q_loss(network_.head(), options_.loss,
               {.rows = std::min(kLanes, shard.rows - block * kLanes),
                .width = block_width(shard.rows, block),
                .actions = batch.actions + row,
                .rewards = batch.rewards + row,
                .discounts = batch.discounts + row,
                .weights = batch.weights == nullptr ? nullptr : batch.weights + row,
                .next_actions = &shard.next_actions[lane],
                .next = shard.next.outputs(block),
                .next_values = soft ? &shard.next_values[lane] : nullptr,
                .bonus = soft ? &shard.bonus[lane] : nullptr,
                .outputs = shard.s.outputs(block),
                .reward_factor = reward_factor_,
                .share = 1.0f / static_cast<float>(batch.size),
                .gradient = shard.s.output_gradient(block),
                .errors = errors.data() + row},
               shard.scratch.data());
    shard.sums.loss += sums.loss;
    shard.sums.q += sums.q;
  }
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
