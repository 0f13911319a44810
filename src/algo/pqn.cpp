#include "algo/pqn.hpp"

#include <algorithm>
#include <array>

namespace hotloop {

void lambda_returns(int steps, int lanes, double gamma, double lambda,
                    std::span<const float> rewards, float reward_factor,
                    std::span<const std::uint8_t> terminated,
                    std::span<const std::uint8_t> truncated, std::span<const float> next_values,
                    std::span<float> returns) {
  const auto discount = static_cast<float>(gamma);
  const auto mix = static_cast<float>(lambda);
  for (int t = steps - 1; t >= 0; --t) {
    const std::size_t row = static_cast<std::size_t>(t) * lanes;
    for (std::size_t i = row; i < row + lanes; ++i) {
      const bool cut = t == steps - 1 || truncated[i] != 0;
      float next = next_values[i];
      if (!cut) next = mix * returns[i + lanes] + (1 - mix) * next;
      returns[i] = rewards[i] * reward_factor + (terminated[i] != 0 ? 0.0f : discount * next);
    }
  }
}

Pqn::Pqn(const Structure& structure, Initialiser init, const QOptions& options,
         const OptimiserOptions& optimiser, std::uint64_t seed, int envs, const InputScale* scale)
    : options_(options),
      network_(structure, {.actions = structure.outputs}, init, optimiser, seed, envs, scale),
      noise_(network_.make_noisy()),
      valuing_(structure, envs, Use::inference),
      obs_(arena_.take<float>(static_cast<std::size_t>(options.batch) * structure.inputs)),
      returns_(arena_.take<float>(options.batch)),
      actions_(arena_.take<std::int32_t>(options.batch)) {
  for (int first = 0; first < options.batch; first += Shard::kRows) {
    const int rows = std::min(Shard::kRows, options.batch - first);
    shards_.push_back({{.first = first,
                        .rows = rows,
                        .gradient = arena_.take<float>(structure.storage),
                        .sums = {}},
                       Workspace(structure, rows, Use::training)});
  }
}

UpdateReport Pqn::update(const Rollout& rollout, std::span<const std::int32_t> places,
                         std::span<const float> returns, double learning_rate, std::uint64_t index,
                         ThreadTeam& team) {
  const std::size_t inputs = network_.structure().inputs;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<std::size_t>(places[i]);
    std::copy_n(rollout.obs().data() + place * inputs, inputs, obs_.data() + i * inputs);
    actions_[i] = rollout.actions()[place];
    returns_[i] = returns[place];
  }
  const std::span<const float> parameters =
      network_.with_noise(network_.online(), 1, index, noise_);
  team.run(static_cast<int>(shards_.size()), [&](int first, int last, int) {
    for (int i = first; i < last; ++i) learn(parameters, shards_[i]);
  });

  const std::span<float> gradient = shards_[0].gradient;
  UpdateReport report;
  for (const Learner& shard : shards_) {
    report.loss += shard.sums.loss / options_.batch;
    report.mean_q += shard.sums.q / options_.batch;
    if (&shard == shards_.data()) continue;
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += shard.gradient[i];
  }
  if (network_.is_noisy()) noise_gradient(network_.structure(), noise_.noise, gradient);
  report.gradient_norm = network_.descend(gradient, report.loss, learning_rate);
  return report;
}

void Pqn::learn(std::span<const float> parameters, Learner& shard) const {
  const Plan& plan = network_.plan();
  const int actions = network_.head().actions;
  const float share = 1.0f / static_cast<float>(options_.batch);
  const std::size_t first_obs = static_cast<std::size_t>(shard.first) * plan.structure().inputs;
  forward(plan, parameters, obs_.data() + first_obs, shard.rows, shard.s, network_.scale());
  shard.sums = {};
  for (int row = 0; row < shard.rows; ++row) {
    const int block = row / kLanes;
    float* gradient = shard.s.output_gradient(block);
    if (row % kLanes == 0) std::fill_n(gradient, actions * kLanes, 0.0f);
    const int taken = actions_[shard.first + row] * kLanes + row % kLanes;
    const float q = shard.s.outputs(block)[taken];
    const LossTerm term = td_loss(options_.loss, returns_[shard.first + row] - q);
    gradient[taken] = term.slope * share;
    shard.sums.loss += term.value;
    shard.sums.q += q;
  }
  backward(plan, parameters, shard.rows, shard.s, shard.gradient);
}

void Pqn::values(const float* rows, const std::uint8_t* masks, int count, std::span<float> best) {
  const int actions = network_.head().actions;
  forward(network_.plan(), network_.online(), rows, count, valuing_, network_.scale());
  for (int block = 0; block < block_count(count); ++block) {
    const int begin = block * kLanes;
    const float* q = valuing_.outputs(block);
    std::array<std::int32_t, kLanes> greedy;
    greedy_actions(q, actions, std::min(kLanes, count - begin),
                   masks == nullptr ? nullptr : masks + static_cast<std::size_t>(begin) * actions,
                   greedy.data());
    for (int row = begin; row < std::min(count, begin + kLanes); ++row) {
      best[row] = q[greedy[row - begin] * kLanes + row - begin];
    }
  }
}

}  // namespace hotloop
