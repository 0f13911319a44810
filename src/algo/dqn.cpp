#include "algo/dqn.hpp"

#include <algorithm>
#include <array>

namespace hotloop {

Dqn::Dqn(const Structure& structure, Initialiser init, const QOptions& options,
         const OptimiserOptions& optimiser, std::uint64_t seed, int envs, const InputScale* scale)
    : options_(options),
      network_(structure, make_head(options, structure.outputs / make_head(options, 1).atoms), init,
               optimiser, seed, envs, scale),
      online_noise_(network_.make_noisy()),
      target_noise_(network_.make_noisy()),
      errors_(arena_.take<float>(static_cast<std::size_t>(options.accumulate) * options.batch)) {
  if (has_target()) {
    target_ = arena_.take<float>(structure.storage);
    std::copy(online().begin(), online().end(), target_.begin());
  }
  const std::size_t scratch = std::max(values_scratch(network_.head()), loss_scratch(network_.head()));
  for (int first = 0; first < options.batch; first += Shard::kRows) {
    const int rows = std::min(Shard::kRows, options.batch - first);
    shards_.push_back({{.first = first,
                        .rows = rows,
                        .gradient = arena_.take<float>(structure.storage),
                        .sums = {}},
                       Workspace(structure, rows, Use::training),
                       Workspace(structure, rows, Use::inference),
                       Workspace(structure, options.double_q ? rows : 1, Use::inference),
                       arena_.take<float>(scratch)});
  }
  if (options.accumulate > 1) accumulated_ = arena_.take<float>(structure.storage);
}

UpdateReport Dqn::update(std::span<const Batch> batches, double learning_rate, std::uint64_t index,
                         ThreadTeam& team) {
  online_now_ = network_.with_noise(online(), 1, index, online_noise_);
  target_now_ = has_target() ? network_.with_noise(target_, 2, index, target_noise_)
                             : online_now_;
  const std::span<float> gradient = accumulated_.empty() ? shards_[0].gradient : accumulated_;
  const auto share = 1.0f / static_cast<float>(batches.size());
  std::fill(accumulated_.begin(), accumulated_.end(), 0.0f);

  UpdateReport report;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const Batch& batch = batches[b];
    const std::span<float> errors = errors_.subspan(b * batch.size, batch.size);
    team.run(static_cast<int>(shards_.size()), [&](int first, int last, int) {
      for (int i = first; i < last; ++i) learn(batch, shards_[i], errors);
    });
    for (const Learner& shard : shards_) {
      report.loss += share * shard.sums.loss / batch.size;
      report.mean_q += share * shard.sums.q / batch.size;
      if (shard.gradient.data() == gradient.data()) continue;
      for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += share * shard.gradient[i];
    }
  }
  if (network_.is_noisy()) noise_gradient(network_.structure(), online_noise_.noise, gradient);
  report.gradient_norm = network_.descend(gradient, report.loss, learning_rate);
  return report;
}

void Dqn::learn(const Batch& batch, Learner& shard, std::span<float> errors) const {
  const Plan& plan = network_.plan();
  const QHead& head = network_.head();
  const std::size_t first_obs = static_cast<std::size_t>(shard.first) * plan.structure().inputs;

  forward(plan, target_now_, batch.next_obs + first_obs, shard.rows, shard.next, network_.scale());
  forward(plan, online_now_, batch.obs + first_obs, shard.rows, shard.s, network_.scale());
  if (options_.double_q) {
    forward(plan, online_now_, batch.next_obs + first_obs, shard.rows, shard.chooser,
            network_.scale());
  }

  shard.sums = {};
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const int row = shard.first + block * kLanes;
    const int rows = std::min(kLanes, shard.rows - block * kLanes);
    const int width = block_width(shard.rows, block);

    // a* = argmax_a Q(s', a), by the network that chooses
    const Workspace& chooser = options_.double_q ? shard.chooser : shard.next;
    const float* next_q =
        action_values(head, chooser.outputs(block), width, shard.scratch.data());
    const std::uint8_t* masks =
        batch.next_mask == nullptr
            ? nullptr
            : batch.next_mask + static_cast<std::size_t>(row) * head.actions;
    std::array<std::int32_t, kLanes> next_actions;
    greedy_actions(next_q, head.actions, rows, masks, next_actions.data());

    const LossSums sums = q_loss(
        head, options_.loss,
        {.rows = rows,
         .width = width,
         .actions = batch.actions + row,
         .rewards = batch.rewards + row,
         .discounts = batch.discounts + row,
         .weights = batch.weights == nullptr ? nullptr : batch.weights + row,
         .next_actions = next_actions.data(),
         .next = shard.next.outputs(block),
         .outputs = shard.s.outputs(block),
         .reward_factor = reward_factor_,
         .share = 1.0f / static_cast<float>(batch.size),
         .gradient = shard.s.output_gradient(block),
         .errors = errors.data() + row},
        shard.scratch.data());
    shard.sums.loss += sums.loss;
    shard.sums.q += sums.q;
  }
  backward(plan, online_now_, shard.rows, shard.s, shard.gradient);
}

void Dqn::update_target() {
  const auto blend = static_cast<float>(options_.target_blend);
  if (blend == 1) {
    std::copy(online().begin(), online().end(), target_.begin());
    return;
  }
  const std::span<const float> from = online();
  for (std::size_t i = 0; i < target_.size(); ++i) target_[i] += blend * (from[i] - target_[i]);
}

}  // namespace hotloop
