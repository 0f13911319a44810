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
  net.dropout = options.dropout;
  net.batch_norm = options.crossq;
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
    at_.emplace_back(critic, rows * (options.crossq ? 2 : 1), Use::input_gradients);
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
    targets_.push_back(arena_.take<float>(options.crossq ? 0 : structure.storage));
    std::copy_n(network(k).online().begin(), targets_[k].size(), targets_[k].begin());
  }
  std::iota(in_target_.begin(), in_target_.end(), 0);
  const int rows = CriticShard::rows_of(options, spec.learn.batch);
  for (int first = 0; first < spec.learn.batch; first += rows) {
    shards_.emplace_back(arena_, structure, options, action_size, first,
                         std::min(rows, spec.learn.batch - first));
  }
}

void Critics::begin_update(std::uint64_t index) {
  index_ = index;
  if (options_.in_target == options_.count) return;
  Rng rng(seed_, Purpose::policy, 0, index);
  // Selection sampling (Knuth, algorithm S): every subset is equally likely.
  int chosen = 0;
  for (int k = 0; chosen < options_.in_target; ++k) {
    const auto left = static_cast<std::uint32_t>(options_.count - k);
    if (static_cast<int>(rng.below(left)) < options_.in_target - chosen) in_target_[chosen++] = k;
  }
}

// Whether the coming passes of a workspace, with critic k, train or evaluate: only dropout and batch
// renormalisation differ.
void Critics::begin_pass(Pass pass, int k, const CriticShard& shard, Workspace& at) const {
  const bool trains = options_.crossq ? pass == kOnlinePass : options_.dropout > 0;
  if (!trains) return at.set_evaluation();
  constexpr int kPasses = 3;
  static_assert(kPasses * kMaxCritics <= 256);
  at.set_training({.seed = seed_,
                   .step = index_,
                   .stream = static_cast<std::uint32_t>(kPasses * k + pass),
                   .first_row = shard.first});
}

// Loads observations and the shard's actions as inputs, from a block of the workspace on.
void Critics::load(const float* obs, CriticShard& shard, Workspace& at, int first_block) const {
  const int width = networks_[0]->structure().inputs - shard.action_size_;
  hotloop::load(obs, width, shard.rows, 0, at, scale_, first_block);
  for (int block = 0; block < block_count(shard.rows); ++block) {
    std::copy_n(shard.action(block), shard.action_size_ * kLanes,
                at.lanes(width, first_block + block));
  }
}

// Loads the observations and actions of the batch.
void Critics::load_taken(const Batch& batch, CriticShard& shard, Workspace& at) const {
  const int actions = shard.action_size_, width = networks_[0]->structure().inputs - actions;
  const std::size_t first = shard.first;
  hotloop::load(batch.obs + first * width, width, shard.rows, 0, at, scale_);
  hotloop::load(batch.continuous_actions + first * actions, actions, shard.rows, width, at);
}

const float* Critics::next_rows(const Batch& batch, const CriticShard& shard) const {
  const int width = networks_[0]->structure().inputs - shard.action_size_;
  return batch.next_obs + static_cast<std::size_t>(shard.first) * width;
}

void Critics::compute_gradients(const Batch& batch, float reward_factor, CriticShard& shard) const {
  std::fill(shard.error_.begin(), shard.error_.end(), 0.0f);
  compute_shares(batch, shard);
  options_.crossq ? compute_joint(batch, reward_factor, shard)
                  : compute_separate(batch, reward_factor, shard);
}

void Critics::compute_separate(const Batch& batch, float reward_factor, CriticShard& shard) const {
  const Plan& plan = networks_[0]->plan();
  Workspace& at = shard.at_[0];
  load(next_rows(batch, shard), shard, at, 0);
  for (int i = 0; i < options_.in_target; ++i) {
    const int k = in_target_[i];
    begin_pass(kTargetPass, k, shard, at);
    forward_loaded(plan, targets_[k], shard.rows, at);
    pool_values(i, at, 0, shard);
  }
  finish_targets(batch, reward_factor, shard);
  mark(Phase::learn_forward);
  load_taken(batch, shard, at);
  for (int k = 0; k < options_.count; ++k) {
    const std::span<const float> online = networks_[k]->online();
    if (k > 0) mark(Phase::learn_forward);
    begin_pass(kOnlinePass, k, shard, at);
    forward_loaded(plan, online, shard.rows, at);
    compute_loss(k, at, shard);
    mark(Phase::learn_backward);
    backward(plan, online, shard.rows, at, shard.gradients_[k]);
  }
}

// CrossQ: the blocks of (s, a), then those of (s', a'), in one training pass of each critic.
void Critics::compute_joint(const Batch& batch, float reward_factor, CriticShard& shard) const {
  const Plan& plan = networks_[0]->plan();
  const int blocks = block_count(shard.rows);
  for (int k = 0; k < options_.count; ++k) {
    mark(Phase::learn_forward);
    Workspace& at = shard.at_[k];
    load_taken(batch, shard, at);
    load(next_rows(batch, shard), shard, at, blocks);
    begin_pass(kOnlinePass, k, shard, at);
    forward_loaded(plan, networks_[k]->online(), 2 * shard.rows, at);
  }
  for (int i = 0; i < options_.in_target; ++i)
    pool_values(i, shard.at_[in_target_[i]], blocks, shard);
  finish_targets(batch, reward_factor, shard);
  for (int k = 0; k < options_.count; ++k) {
    Workspace& at = shard.at_[k];
    compute_loss(k, at, shard);
    for (int block = blocks; block < 2 * blocks; ++block)
      std::fill_n(at.output_gradient(block), options_.outputs() * kLanes, 0.0f);
    mark(Phase::learn_backward);
    backward(plan, networks_[k]->online(), 2 * shard.rows, at, shard.gradients_[k]);
  }
}

// Adds the values of s' that the i-th critic of the target gives, which begin at `first_block` of
// its outputs: to the minimum, or to the pool of quantiles.
void Critics::pool_values(int i, const Workspace& at, int first_block, CriticShard& shard) const {
  const int outputs = options_.outputs();
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const float* q = at.outputs(first_block + block);
    float* pool = shard.lanes(shard.pool_, shard.pool_size_, block);
    if (options_.quantiles > 0 || i == 0) {
      std::copy_n(q, outputs * kLanes, pool + i * outputs * kLanes);
    } else {
      for (int lane = 0; lane < kLanes; ++lane) pool[lane] = std::min(pool[lane], q[lane]);
    }
  }
}

// From the pooled values to the targets y, in place.
void Critics::finish_targets(const Batch& batch, float reward_factor, CriticShard& shard) const {
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const int row = shard.first + block * kLanes;
    const int count = std::min(kLanes, shard.rows - block * kLanes);
    float* pool = shard.lanes(shard.pool_, shard.pool_size_, block);
    if (options_.quantiles > 0) sort_lanes(pool, shard.pool_size_, block_width(shard.rows, block));
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

void Critics::compute_shares(const Batch& batch, CriticShard& shard) const {
  for (int block = 0; block < block_count(shard.rows); ++block) {
    const int row = block * kLanes, count = std::min(kLanes, shard.rows - row);
    float* share = shard.share(block);
    std::fill_n(share, kLanes, 0.0f);
    for (int i = 0; i < count; ++i) {
      const float weight = batch.weights == nullptr ? 1.0f : batch.weights[shard.first + row + i];
      share[i] = weight / static_cast<float>(batch.size);
    }
  }
}

// The loss of critic k and its gradient, from the outputs of its forward pass.
void Critics::compute_loss(int k, Workspace& at, CriticShard& shard) const {
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
    if (options_.crossq)
      update_statistics(network(k).plan(), shards_[0].at_[k], network(k).online());
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
    Workspace& at = shard.at_[k];
    load(obs, shard, at, 0);
    begin_pass(kActorPass, k, shard, at);
    forward_loaded(plan, networks_[k]->online(), shard.rows, at);
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
  for (int k = 0; k < options_.count && !options_.crossq; ++k)
    blend(network(k).online(), static_cast<float>(tau), targets_[k], team);
}

void Critics::evaluate(const float* obs, const float* actions, CriticShard& shard) const {
  const Plan& plan = networks_[0]->plan();
  const int width = plan.structure().inputs - shard.action_size_;
  Workspace& at = shard.at_[0];
  at.set_evaluation();
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
  const int rows = CriticShard::rows_of(options, batch);
  const int shards = (batch + rows - 1) / rows, halves = options.crossq ? 2 : 1;
  return options.count * (kCopies * parameters +
                          shards * (parameters + Workspace::bytes_needed(structure, rows * halves,
                                                                         Use::input_gradients)));
}

}  // namespace hotloop
