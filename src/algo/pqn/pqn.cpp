#include "algo/pqn/pqn.hpp"

#include <algorithm>
#include <array>

#include "core/cpu/flush_denormals.hpp"

namespace hotloop {

Pqn::Pqn(const Structure& structure, const AgentSpec& spec, std::uint64_t seed,
         const InputScale* scale)
    : options_(options_of<PqnOptions>(spec)),
      batch_(spec.learn.batch),
      network_(structure, {.actions = structure.outputs}, spec.net.init, spec.optimiser, seed,
               spec.envs, scale),
      noise_(network_.make_noisy()),
      value_workspace_(structure, std::max(spec.envs, FinalStates::kRows), Use::inference) {
  for (int first = 0; first < batch_; first += Shard::kRows) {
    const int rows = std::min(Shard::kRows, batch_ - first);
    shards_.push_back(
        {{.first = first, .rows = rows, .gradient = arena_.take<float>(structure.storage)},
         LossSums{},
         Workspace(structure, rows, Use::training)});
  }
}

QReport Pqn::update(const Rollout& rollout, std::span<const std::int32_t> places,
                    std::span<const float> returns, double learning_rate, std::uint64_t index,
                    ThreadTeam& team) {
  if (network_.is_noisy()) mark(Phase::learn_noise);
  const std::span<const float> parameters =
      network_.with_noise(network_.online(), 1, index, noise_);
  team.run(static_cast<int>(shards_.size()), [&](int first, int last, int) {
    const FlushDenormals flush;
    for (int i = first; i < last; ++i) learn(rollout, places, returns, parameters, shards_[i]);
  });

  const std::span<float> gradient = shards_[0].gradient;
  QReport report;
  for (const Shard& shard : shards_) {
    report.loss += shard.sums.loss / batch_;
    report.mean_q += shard.sums.q / batch_;
  }
  add_gradients(shards_, 1, gradient, team);
  if (network_.is_noisy()) noise_gradient(network_.structure(), noise_.noise, gradient);
  report.gradient_norm = network_.descend(gradient, report.loss, learning_rate, team);
  return report;
}

void Pqn::learn(const Rollout& rollout, std::span<const std::int32_t> places,
                std::span<const float> returns, std::span<const float> parameters,
                Shard& shard) const {
  const Plan& plan = network_.plan();
  const int actions = network_.head().actions;
  const float share = 1.0f / static_cast<float>(batch_);
  const std::int32_t* first = places.data() + shard.first;
  mark(Phase::learn_forward);
  forward(plan, parameters, {rollout.obs().data(), first}, shard.rows, shard.s, network_.scale());
  mark(Phase::learn_loss);
  shard.sums = {};
  for (int row = 0; row < shard.rows; ++row) {
    const int block = row / kLanes;
    float* gradient = shard.s.output_gradient(block);
    if (row % kLanes == 0) std::fill_n(gradient, actions * kLanes, 0.0f);
    const int taken = rollout.actions()[first[row]] * kLanes + row % kLanes;
    const float q = shard.s.outputs(block)[taken];
    const LossTerm term = td_loss(options_.loss, returns[first[row]] - q);
    gradient[taken] = term.slope * share;
    shard.sums.loss += term.value;
    shard.sums.q += q;
  }
  mark(Phase::learn_backward);
  backward(plan, parameters, shard.rows, shard.s, shard.gradient);
}

void Pqn::values(const float* rows, const std::uint8_t* masks, int count, const Exploration& policy,
                 std::span<float> values, ThreadTeam& team) {
  const int actions = network_.head().actions;
  team.run(block_count(count), [&](int first, int last, int) {
    const FlushDenormals flush;
    forward(network_.plan(), network_.online(), rows, count, first, last, value_workspace_,
            network_.scale());
    for (int block = first; block < last; ++block) {
      const int begin = block * kLanes;
      const int lanes = std::min(kLanes, count - begin);
      const float* q = value_workspace_.outputs(block);
      const auto mask_of = [&](int lane) {
        return masks == nullptr ? nullptr
                                : masks + static_cast<std::size_t>(begin + lane) * actions;
      };
      std::array<std::int32_t, kLanes> greedy;
      greedy_actions(q, actions, lanes, mask_of(0), greedy.data());
      for (int lane = 0; lane < lanes; ++lane) {
        values[begin + lane] = expected_q(q + lane, actions, mask_of(lane), greedy[lane], policy);
      }
    }
  });
}

}  // namespace hotloop
