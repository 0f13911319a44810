#include "algo/common/continuous/critics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <hotloop/rng.hpp>

#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

template <int kWidth>
using Array = Eigen::Array<float, kWidth, 1>;

// Independent streams of initial values: the same critic of neighbouring seeds must differ, and so
// must neighbouring critics of one seed.
std::uint64_t seed_of(std::uint64_t seed, int critic) {
  const auto words =
      philox({static_cast<std::uint32_t>(critic), 0, 0, 0},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return std::uint64_t{words[0]} << 32 | words[1];
}

// rows [first, first + count) of `from`, as lanes; zero beyond them.
void copy_to_lanes(const float* from, int count, float* lanes) {
  std::fill_n(lanes, kLanes, 0.0f);
  std::copy_n(from, count, lanes);
}

}  // namespace

Structure critic_structure(const AgentSpec& spec, const CriticOptions& options,
                           const WorldFacts& world) {
  NetOptions net = spec.net;
  if (!options.hidden.empty()) net.hidden = options.hidden;
  net.layer_norm = net.layer_norm || options.layer_norm;
  return make_mlp(world.spec.obs + world.spec.action_size, options.outputs(), net);
}

std::string_view Critics::name(int k) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int i = 0; i < kMaxCritics; ++i) all.push_back("critic" + std::to_string(i));
    return all;
  }();
  return names[k];
}

CriticShard::CriticShard(Arena& arena, const Structure& critic, const CriticOptions& options,
                         int action_size, int first_row, int row_count)
    : first(first_row), rows(row_count), action_size_(action_size), sums_(options.count) {
  const auto take = [&](int count) {
    return arena.take<float>(static_cast<std::size_t>(block_count(rows)) * count * kLanes);
  };
  for (int k = 0; k < options.count; ++k) {
    at_.emplace_back(critic, rows, Use::input_gradients);
    gradients_.push_back(arena.take<float>(critic.storage));
  }
  pool_size_ = options.quantiles > 0 ? options.in_target * options.quantiles : 1;
  action_ = take(action_size);
  action_gradient_ = take(action_size);
  bonus_ = take(1);
  value_ = take(1);
  share_ = take(1);
  pool_ = take(pool_size_);
  error_ = take(1);
}

Critics::Critics(const Structure& structure, const CriticOptions& options, const AgentSpec& spec,
                 int action_size, std::uint64_t seed, const InputScale* scale)
    : options_(options),
      scale_(scale),
      seed_(seed),
      in_target_(options.in_target),
      errors_(arena_.take<float>(spec.learn.batch)) {
  for (int k = 0; k < options.count; ++k) {
    networks_.push_back(std::make_unique<LearntNetwork>(structure, spec.net.init, spec.optimiser,
                                                        seed_of(seed, k), scale));
    targets_.push_back(arena_.take<float>(structure.storage));
    std::copy(network(k).online().begin(), network(k).online().end(), targets_[k].begin());
  }
  std::iota(in_target_.begin(), in_target_.end(), 0);
  for (int first = 0; first < spec.learn.batch; first += BatchShard::kRows) {
    shards_.emplace_back(arena_, structure, options, action_size, first,
                         std::min(BatchShard::kRows, spec.learn.batch - first));
  }
}

void Critics::choose_targets(std::uint64_t index) {
  if (options_.in_target == options_.count) return;
  Rng rng(seed_, Purpose::policy, 0, index);
  // Selection sampling (Knuth, algorithm S): every subset is equally likely.
  int chosen = 0;
  for (int k = 0; chosen < options_.in_target; ++k) {
    const auto left = static_cast<std::uint32_t>(options_.count - k);
    if (static_cast<int>(rng.below(left)) < options_.in_target - chosen) in_target_[chosen++] = k;
  }
}

// Loads observations and the shard's actions as the inputs of critic k.
void Critics::load(const float* obs, CriticShard& shard, int k) const {
  const int inputs = networks_[0]->structure().inputs, width = inputs - shard.action_size_;
  Workspace& at = shard.at_[k];
  hotloop::load(obs, width, shard.rows, 0, at, scale_);
  for (int block = 0; block < block_count(shard.rows); ++block)
    std::copy_n(shard.action(block), shard.action_size_ * kLanes, at.lanes(width, block));
}

void Critics::compute_targets(const Batch& batch, float reward_factor, CriticShard& shard) const {
  const Plan& plan = networks_[0]->plan();
  const int obs = plan.structure().inputs - shard.action_size_;
  const int outputs = options_.outputs(), pool_size = shard.pool_size_;
  const bool quantiles = options_.quantiles > 0;
  load(batch.next_obs + static_cast<std::size_t>(shard.first) * obs, shard, 0);
  for (int i = 0; i < options_.in_target; ++i) {
    forward_loaded(plan, targets_[in_target_[i]], shard.rows, shard.at_[0]);
    for (int block = 0; block < block_count(shard.rows); ++block) {
      const float* q = shard.at_[0].outputs(block);
      float* pool = shard.lanes(shard.pool_, pool_size, block);
      if (quantiles || i == 0) {
        std::copy_n(q, outputs * kLanes, pool + i * outputs * kLanes);
      } else {
        for (int lane = 0; lane < kLanes; ++lane) pool[lane] = std::min(pool[lane], q[lane]);
      }
    }
  }
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const int row = shard.first + block * kLanes;
    const int count = std::min(kLanes, shard.rows - block * kLanes);
    float* pool = shard.lanes(shard.pool_, pool_size, block);
    if (quantiles) sort_lanes(pool, pool_size, block_width(shard.rows, block));
    alignas(64) std::array<float, kLanes> reward, discount;
    copy_to_lanes(batch.rewards + row, count, reward.data());
    copy_to_lanes(batch.discounts + row, count, discount.data());
    const float* bonus = shard.bonus(block);
    for (int j = 0; j < options_.targets(); ++j) {
      float* y = pool + j * kLanes;
      for (int lane = 0; lane < kLanes; ++lane) {
        const float future = discount[lane] * (y[lane] - bonus[lane]);
        // A terminal state has no value, whatever the network says of it.
        y[lane] = reward_factor * reward[lane] + (discount[lane] == 0 ? 0 : future);
      }
    }
  }
}

void Critics::compute_gradients(const Batch& batch, CriticShard& shard) const {
  const Plan& plan = networks_[0]->plan();
  const int actions = shard.action_size_, obs = plan.structure().inputs - actions;
  const std::size_t first = shard.first;
  Workspace& at = shard.at_[0];
  mark(Phase::learn_forward);
  hotloop::load(batch.obs + first * obs, obs, shard.rows, 0, at, scale_);
  hotloop::load(batch.continuous_actions + first * actions, actions, shard.rows, obs, at);
  std::fill(shard.error_.begin(), shard.error_.end(), 0.0f);
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const int row = block * kLanes, count = std::min(kLanes, shard.rows - row);
    float* share = shard.share(block);
    std::fill_n(share, kLanes, 0.0f);
    for (int i = 0; i < count; ++i) {
      const float weight = batch.weights == nullptr ? 1.0f : batch.weights[first + row + i];
      share[i] = weight / static_cast<float>(batch.size);
    }
  }
  for (int k = 0; k < options_.count; ++k) {
    const std::span<const float> online = networks_[k]->online();
    if (k > 0) mark(Phase::learn_forward);
    forward_loaded(plan, online, shard.rows, at);
    mark(Phase::learn_loss);
    shard.sums_[k] = {};
    for (int block = 0; block < block_count(shard.rows); ++block) {
      const CriticSums sums =
          critic_loss({.width = block_width(shard.rows, block),
                       .outputs = options_.outputs(),
                       .targets = options_.targets(),
                       .quantiles = options_.quantiles > 0,
                       .output = at.outputs(block),
                       .target = shard.lanes(shard.pool_, shard.pool_size_, block),
                       .share = shard.share(block),
                       .gradient = at.output_gradient(block),
                       .error = shard.lanes(shard.error_, 1, block)});
      shard.sums_[k].loss += sums.loss;
      shard.sums_[k].q += sums.q;
    }
    mark(Phase::learn_backward);
    backward(plan, online, shard.rows, at, shard.gradients_[k]);
  }
}

Critics::Report Critics::descend(double learning_rate, ThreadTeam& team) {
  Report report;
  double squares = 0;
  for (int k = 0; k < options_.count; ++k) {
    double loss = 0;
    for (const CriticShard& shard : shards_) {
      loss += shard.sums_[k].loss;
      report.mean_q += shard.sums_[k].q / options_.count;
    }
    const std::span<float> sum = shards_[0].gradients_[k];
    for (std::size_t s = 1; s < shards_.size(); ++s) {
      share_parameters(sum.size(), team, [&](std::size_t begin, std::size_t end) {
        const float* part = shards_[s].gradients_[k].data();
        for (std::size_t i = begin; i < end; ++i) sum[i] += part[i];
      });
    }
    const double norm = network(k).descend(sum, loss, learning_rate, team);
    squares += norm * norm;
    report.loss += loss / options_.count;
  }
  report.gradient_norm = std::sqrt(squares);
  for (CriticShard& shard : shards_) {
    for (int row = 0; row < shard.rows; ++row) {
      const float sum = shard.lanes(shard.error_, 1, row / kLanes)[row % kLanes];
      errors_[shard.first + row] = sum / static_cast<float>(options_.count);
    }
  }
  return report;
}

void Critics::evaluate_actions(const float* obs, CriticShard& shard) const {
  const Plan& plan = networks_[0]->plan();
  const int actions = shard.action_size_, width = plan.structure().inputs - actions;
  const int asked = options_.actor_value == ActorValue::first ? 1 : options_.count;
  for (int k = 0; k < asked; ++k) {
    load(obs, shard, k);
    forward_loaded(plan, networks_[k]->online(), shard.rows, shard.at_[k]);
  }
  for (int block = 0; block < block_count(shard.rows); ++block) choose_value(shard, block);
  for (int k = 0; k < asked; ++k) {
    backward_to_inputs(plan, networks_[k]->online(), shard.rows, shard.at_[k]);
    for (int block = 0; block < block_count(shard.rows); ++block) {
      const float* from = shard.at_[k].input_gradient(block) + width * kLanes;
      float* to = shard.action_gradient(block);
      for (int i = 0; i < actions * kLanes; ++i) to[i] = k == 0 ? from[i] : to[i] + from[i];
    }
  }
}

// Sets the actor value of a block, and its derivative with respect to the outputs of each critic.
void Critics::choose_value(CriticShard& shard, int block) const {
  const int outputs = options_.outputs(), width = block_width(shard.rows, block);
  const int asked = options_.actor_value == ActorValue::first ? 1 : options_.count;
  float* value = shard.value(block);
  alignas(64) std::array<float, kMaxCritics * kLanes> q{};
  for (int k = 0; k < asked; ++k)
    mean_of_lanes(shard.at_[k].outputs(block), outputs, width, q.data() + k * kLanes);
  with_width(width, [&]<int kWidth>() {
    Array<kWidth> best = ConstLanes<kWidth>(q.data()), sum = best;
    for (int k = 1; k < asked; ++k) {
      best = best.min(ConstLanes<kWidth>(q.data() + k * kLanes));
      sum += ConstLanes<kWidth>(q.data() + k * kLanes);
    }
    const bool minimum = options_.actor_value == ActorValue::min;
    const float equal = 1.0f / static_cast<float>(asked * outputs);
    Lanes<kWidth>{value} = minimum ? best : Array<kWidth>(sum / static_cast<float>(asked));
    Array<kWidth> left = Array<kWidth>::Constant(1.0f / static_cast<float>(outputs));
    for (int k = 0; k < asked; ++k) {
      Array<kWidth> slope = Array<kWidth>::Constant(equal);
      if (minimum) {  // the first critic with the smallest value
        slope = (ConstLanes<kWidth>(q.data() + k * kLanes) <= best).select(left, 0.0f);
        left -= slope;
      }
      float* gradient = shard.at_[k].output_gradient(block);
      for (int i = 0; i < outputs; ++i) Lanes<kWidth>(gradient + i * kLanes) = slope;
    }
  });
}

void Critics::sync_targets(ThreadTeam& team, double tau) {
  for (int k = 0; k < options_.count; ++k)
    blend(network(k).online(), static_cast<float>(tau), targets_[k], team);
}

void Critics::evaluate(const float* obs, const float* actions, CriticShard& shard) const {
  const Plan& plan = networks_[0]->plan();
  const int width = plan.structure().inputs - shard.action_size_;
  Workspace& at = shard.at_[0];
  hotloop::load(obs, width, shard.rows, 0, at, scale_);
  hotloop::load(actions, shard.action_size_, shard.rows, width, at);
  std::fill(shard.value_.begin(), shard.value_.end(), 0.0f);
  const float share = 1.0f / static_cast<float>(options_.count * options_.outputs());
  for (const auto& critic : networks_) {
    forward_loaded(plan, critic->online(), shard.rows, at);
    for (int block = 0; block < block_count(shard.rows); ++block) {
      const float* q = at.outputs(block);
      for (int i = 0; i < options_.outputs() * kLanes; ++i)
        shard.value(block)[i % kLanes] += share * q[i];
    }
  }
}

std::size_t Critics::bytes_needed(const Structure& structure, const CriticOptions& options,
                                  int batch) {
  constexpr std::size_t kCopies = 4;  // online, target, two moments
  const std::size_t parameters = structure.storage * sizeof(float);
  const auto shards = static_cast<std::size_t>((batch + BatchShard::kRows - 1) / BatchShard::kRows);
  const int rows = std::min(BatchShard::kRows, batch);
  return options.count *
         (kCopies * parameters +
          shards * (parameters + Workspace::bytes_needed(structure, rows, Use::input_gradients)));
}

}  // namespace hotloop
