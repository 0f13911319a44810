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
      value_workspace_(structure, std::max(spec.envs, FinalStates::kRows), Use::inference),
      split_(structure, batch_, spec.max_threads()),
      s_(structure, batch_, Use::training, spec.max_threads()),
      losses_(arena_.take<float>(batch_)),
      values_(arena_.take<float>(batch_)),
      gradient_(arena_.take<float>(structure.storage)) {}

QReport Pqn::update(const Rollout& rollout, std::span<const std::int32_t> places,
                    std::span<const float> returns, double learning_rate, std::uint64_t index,
                    ThreadTeam& team) {
  if (network_.is_noisy()) mark(Phase::learn_noise);
  const std::span<const float> parameters =
      network_.with_noise(network_.online(), 1, index, noise_);
  compute_gradient(
      {network_.plan(), parameters, s_, gradient_}, split_, team,
      [&](const RowRange& rows) { learn(rollout, places, returns, parameters, rows); });
  QReport report;
  for (int row = 0; row < batch_; ++row) {
    report.loss += static_cast<double>(losses_[row]) / batch_;
    report.mean_q += static_cast<double>(values_[row]) / batch_;
  }
  if (network_.is_noisy()) noise_gradient(network_.structure(), noise_.noise, gradient_);
  report.gradient_norm = network_.descend(gradient_, report.loss, learning_rate, team);
  return report;
}

void Pqn::learn(const Rollout& rollout, std::span<const std::int32_t> places,
                std::span<const float> returns, std::span<const float> parameters,
                const RowRange& rows) {
  const int actions = network_.head().actions;
  const float share = 1.0f / static_cast<float>(batch_);
  mark(Phase::learn_forward);
  forward(network_.plan(), parameters, {rollout.obs().data(), places.data()}, rows, s_,
          network_.scale());
  mark(Phase::learn_loss);
  for_each_block(rows, [&](const BlockPart& at) {
    float* gradient = s_.output_gradient(at.block) + at.lane;
    for (int action = 0; action < actions; ++action)
      std::fill_n(gradient + action * kLanes, at.width(), 0.0f);
    for (int lane = 0; lane < at.count; ++lane) {
      const int row = at.row() + lane, place = places[row];
      const int taken = rollout.actions()[place] * kLanes + lane;
      const float q = (s_.outputs(at.block) + at.lane)[taken];
      const LossTerm term = td_loss(options_.loss, returns[place] - q);
      gradient[taken] = term.slope * share;
      losses_[row] = term.value;
      values_[row] = q;
    }
  });
  mark(Phase::learn_backward);
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
