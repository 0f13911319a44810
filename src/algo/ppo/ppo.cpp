#include "algo/ppo/ppo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <hotloop/error.hpp>

#include "core/cpu/flush_denormals.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

constexpr float kMaxLogRatio = 20;

// One number for each lane.
struct alignas(64) Feature {
  std::array<float, kLanes> values{};
  float* data() { return values.data(); }
};

// Copies `count` rows [features], at `places`, to lanes [features][kLanes].
void gather(const float* rows, int features, const std::int32_t* places, int count, float* lanes) {
  for (int row = 0; row < count; ++row) {
    const float* from = rows + static_cast<std::size_t>(places[row]) * features;
    for (int f = 0; f < features; ++f) lanes[f * kLanes + row] = from[f];
  }
}

Structure policy_part(const Structure& structure, const ActorCriticHead& head) {
  return only_outputs(structure, 0, head.policy.outputs());
}
Structure value_part(const Structure& structure, const ActorCriticHead& head) {
  return only_outputs(structure, head.policy.outputs(), head.values);
}
bool share_nothing(const Structure& a, const Structure& b) {
  return std::none_of(a.places.begin(), a.places.end(), [&](const Place& place) {
    return std::find(b.places.begin(), b.places.end(), place) != b.places.end();
  });
}

}  // namespace

Structure Ppo::acting_part(const Structure& structure, const ActorCriticHead& head) {
  Structure policy = policy_part(structure, head);
  return share_nothing(policy, value_part(structure, head)) ? policy : structure;
}

Ppo::Ppo(const Structure& structure, const ActorCriticHead& head, const AgentSpec& spec,
         std::uint64_t seed, const InputScale* scale)
    : LearntNetwork(structure, spec.net.init, spec.optimiser, seed, scale),
      head_(head),
      options_(options_of<PpoOptions>(spec)),
      seed_(seed),
      batch_(spec.learn.batch),
      weights_(head.values),
      values_are_separate_(
          share_nothing(policy_part(structure, head), value_part(structure, head))),
      acting_plan_(acting_part(structure, head)),
      value_plan_(value_part(structure, head)),
      // Use::training although it has no backward pass: a single row must be computed as in
      // learning, or the ratio would not be exactly 1.
      acting_(acting_plan_.structure(), spec.envs, Use::training),
      value_workspace_(value_plan_.structure(), kValueRows, Use::training),
      split_(structure, batch_, spec.max_threads()),
      workspace_(structure, batch_, Use::training, spec.max_threads()),
      gradient_(arena_.take<float>(structure.storage)),
      rows_(batch_) {
  scratch_floats_ = static_cast<std::size_t>(head.policy.outputs()) * kLanes;
  acting_scratch_ = arena_.take<float>(2 * scratch_floats_ * block_count(spec.envs));
  weights_[0] = 1;
  std::copy(options_.part_weights.begin(), options_.part_weights.end(), weights_.begin() + 1);
  for (int thread = 0; thread < spec.max_threads(); ++thread)
    scratch_.push_back(arena_.take<float>(3 * scratch_floats_));
}

void Ppo::act(std::span<const float> obs, std::span<const std::uint8_t> mask, std::uint64_t step,
              ThreadTeam& team, std::size_t first, OldPolicy& old_policy,
              std::span<std::int32_t> discrete, std::span<float> continuous) {
  const int envs = static_cast<int>(obs.size() / structure().inputs);
  team.run(block_count(envs), [&](int begin, int end, int) {
    const FlushDenormals flush;
    for (int block = begin; block < end; ++block) {
      act_block(block, envs, obs, mask, step, first, old_policy, discrete, continuous);
    }
  });
  for (int env = 0; env < envs; ++env) {
    if (std::isfinite(old_policy.log_probability[first + env])) continue;
    throw RunError(fmt::format(
        "the policy for env {} is not finite at vector step {}, because the outputs of the network "
        "are not. A smaller learning rate or optimiser.max_grad_norm may help",
        env, step));
  }
}

void Ppo::act_block(int block, int envs, std::span<const float> obs,
                    std::span<const std::uint8_t> mask, std::uint64_t step, std::size_t first,
                    OldPolicy& old_policy, std::span<std::int32_t> discrete,
                    std::span<float> continuous) {
  const PolicyHead& policy = head_.policy;
  const int begin = block * kLanes, rows = std::min(envs - begin, kLanes);
  const std::size_t place = first + begin;
  mark(Phase::act_forward);
  forward(acting_plan_, online(), obs.data(), envs, block, block + 1, acting_, scale());
  mark(Phase::act_choose);
  const PolicyLanes lanes{
      .outputs = acting_.outputs(block),
      .width = block_width(envs, block),
      .mask = mask.empty() ? nullptr : &mask[static_cast<std::size_t>(begin) * policy.actions],
      .rows = rows};
  float* d = acting_scratch_.data() + 2 * scratch_floats_ * block;
  float* raw = d + scratch_floats_;
  Feature log_p;
  distribution(policy, lanes, d);
  for (int row = 0; row < rows; ++row) {
    Rng rng(seed_, Purpose::exploration, static_cast<std::uint32_t>(begin + row), step);
    sample(policy, d, row, rng, raw + row);
  }
  log_probability(policy, d, lanes.width, raw, log_p.data());

  std::copy_n(log_p.data(), rows, &old_policy.log_probability[place]);
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < policy.raw_size(); ++i)
      old_policy.raw[(place + row) * policy.raw_size() + i] = raw[i * kLanes + row];
    for (int i = 0; i < policy.outputs(); ++i)
      old_policy.distribution[(place + row) * policy.outputs() + i] = d[i * kLanes + row];
    if (policy.is_continuous()) {
      squash(policy, raw + row, kLanes,
             &continuous[static_cast<std::size_t>(begin + row) * policy.actions]);
    } else {
      discrete[begin + row] = static_cast<std::int32_t>(raw[row]);
    }
  }
  for (int h = 0; !values_are_separate_ && h < head_.values; ++h) {
    std::copy_n(lanes.outputs + (policy.outputs() + h) * kLanes, rows,
                &old_policy.values[h * old_policy.value_stride + place]);
  }
}

void Ppo::values(const float* rows, int count, float* values, std::size_t stride,
                 ThreadTeam& team) {
  team.run(block_count(count), [&](int first, int last, int) {
    const FlushDenormals flush;
    forward(value_plan_, online(), rows, count, first, last, value_workspace_, scale());
  });
  for (int row = 0; row < count; ++row) {
    const float* outputs = value_workspace_.outputs(row / kLanes) + row % kLanes;
    for (int h = 0; h < head_.values; ++h) {
      values[h * stride + row] = outputs[h * kLanes];
    }
  }
}

PpoReport Ppo::update(const UpdateInput& input, std::span<const std::int32_t> places,
                      ThreadTeam& team) {
  const Moments moments = advantage_moments(input, places);
  compute_gradient({plan(), online(), workspace_, gradient_}, split_, team,
                   [&](const RowRange& rows) { learn(input, places, moments, rows); });
  PpoReport report;
  for (const RowReport& row : rows_) {
    report.loss += static_cast<double>(row.loss);
    report.mean_value += static_cast<double>(row.value);
    report.entropy += static_cast<double>(row.entropy);
    report.kl += static_cast<double>(row.divergence);
    report.clipped += static_cast<double>(row.clipped);
  }
  for (double PpoReport::*mean :
       {&PpoReport::mean_value, &PpoReport::entropy, &PpoReport::kl, &PpoReport::clipped})
    report.*mean /= batch_;
  report.loss /= batch_;
  report.gradient_norm = descend(gradient_, report.loss, input.learning_rate, team);
  return report;
}

// Mean and 1 / std of the advantages of the minibatch, if they are normalised per minibatch.
Ppo::Moments Ppo::advantage_moments(const UpdateInput& input,
                                    std::span<const std::int32_t> places) const {
  if (options_.advantages != Standardise::batch) return {0, 1};
  double sum = 0, squares = 0;
  for (const std::int32_t place : places) sum += static_cast<double>(input.advantages[place]);
  const double count = static_cast<double>(places.size()), mean = sum / count;
  for (const std::int32_t place : places) {
    const double off = static_cast<double>(input.advantages[place]) - mean;
    squares += off * off;
  }
  return {static_cast<float>(mean),
          static_cast<float>(1 / std::max(std::sqrt(squares / count), 1e-8))};
}

void Ppo::learn(const UpdateInput& input, std::span<const std::int32_t> places,
                const Moments& moments, const RowRange& rows) {
  mark(Phase::learn_forward);
  forward(plan(), online(), {input.rollout.obs().data(), places.data()}, rows, workspace_, scale());
  mark(Phase::learn_loss);
  for_each_block(rows, [&](const BlockPart& at) {
    learn_block(input, &places[at.row()], moments, at, scratch_[rows.thread].data());
  });
  mark(Phase::learn_backward);
}

// The loss and its gradient with respect to the outputs, lane by lane.
void Ppo::learn_block(const UpdateInput& input, const std::int32_t* places, const Moments& moments,
                      const BlockPart& at, float* scratch) {
  const PolicyHead& policy = head_.policy;
  const int count = at.count;
  const float* outputs = workspace_.outputs(at.block) + at.lane;
  float* gradient = workspace_.output_gradient(at.block) + at.lane;
  RowReport* reports = &rows_[at.row()];
  const std::span<const std::uint8_t> mask = input.rollout.mask();
  const PolicyLanes lanes{.outputs = outputs,
                          .width = at.width(),
                          .mask = mask.empty() ? nullptr : mask.data(),
                          .mask_at = places,
                          .rows = count};
  float* d = scratch;
  float* raw = d + scratch_floats_;
  float* old = raw + scratch_floats_;
  Feature log_p, h, kl, old_log_p, advantage, d_log_p, d_h;
  gather(input.old_policy.raw.data(), policy.raw_size(), places, count, raw);
  gather(input.old_policy.distribution.data(), policy.outputs(), places, count, old);
  gather(input.old_policy.log_probability.data(), 1, places, count, old_log_p.data());
  gather(input.advantages.data(), 1, places, count, advantage.data());
  distribution(policy, lanes, d);
  log_probability(policy, d, lanes.width, raw, log_p.data());
  entropy(policy, d, lanes.width, h.data());
  divergence(policy, old, d, lanes.width, kl.data());

  const float share = 1.0f / static_cast<float>(batch_);
  const auto clip = static_cast<float>(input.clip);
  const auto entropy_weight = static_cast<float>(input.entropy_weight);
  const auto floor = static_cast<float>(options_.entropy_floor);  // NaN = off: H < NaN is false
  const auto floor_weight = static_cast<float>(options_.entropy_floor_coef);
  for (int row = 0; row < count; ++row) {
    const float a = (advantage.values[row] - moments.mean) * moments.inverse_std;
    const float log_ratio =
        std::clamp(log_p.values[row] - old_log_p.values[row], -kMaxLogRatio, kMaxLogRatio);
    const float ratio = std::exp(log_ratio);
    const float surrogate = ratio * a;
    const float clipped_surrogate = std::clamp(ratio, 1 - clip, 1 + clip) * a;
    const bool is_unclipped = surrogate <= clipped_surrogate;
    const bool below_floor = h.values[row] < floor;
    d_log_p.values[row] = is_unclipped ? -surrogate * share : 0.0f;
    d_h.values[row] = -(entropy_weight + (below_floor ? floor_weight : 0.0f)) * share;
    reports[row] = {
        .loss = -std::min(surrogate, clipped_surrogate) - entropy_weight * h.values[row],
        .value = outputs[policy.outputs() * kLanes + row],
        .entropy = h.values[row],
        .divergence = kl.values[row],
        .clipped = std::abs(ratio - 1) > clip ? 1.0f : 0.0f};
    if (below_floor) reports[row].loss += floor_weight * (floor - h.values[row]);
  }
  policy_gradient(policy, lanes, d, raw, h.data(), d_log_p.data(), d_h.data(), gradient);

  const auto value_clip = static_cast<float>(options_.clip_range_vf);
  const std::size_t all = input.advantages.size();
  for (int head = 0; head < head_.values; ++head) {
    const int first = (policy.outputs() + head) * kLanes;
    const float weight = static_cast<float>(options_.vf_coef) * weights_[head];
    std::fill_n(gradient + first, at.width(), 0.0f);
    for (int row = 0; row < count; ++row) {
      const float value = outputs[first + row];
      const float target = input.returns[head * all + places[row]];
      float error = value - target;
      float slope = 2 * error;
      if (value_clip > 0) {
        const float old_value =
            input.old_policy.values[head * input.old_policy.value_stride + places[row]];
        const float clipped_error =
            old_value + std::clamp(value - old_value, -value_clip, value_clip) - target;
        // Outside the clip range the clipped error does not depend on the value.
        const bool is_clipped = std::abs(value - old_value) > value_clip;
        if (is_clipped && clipped_error * clipped_error > error * error) {
          error = clipped_error, slope = 0;
        }
      }
      gradient[first + row] = weight * slope * share;
      reports[row].loss += weight * error * error;
    }
  }
}

}  // namespace hotloop
