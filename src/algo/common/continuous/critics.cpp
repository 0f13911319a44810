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

CriticBatch::CriticBatch(Arena& arena, const Structure& critic, const CriticOptions& options,
                         int action_size, int row_count, int threads)
    : rows(row_count), action_size_(action_size) {
  const auto take = [&](int count) {
    return arena.take<float>(static_cast<std::size_t>(block_count(rows)) * count * kLanes);
  };
  for (int k = 0; k < options.count; ++k) {
    at_.emplace_back(critic, rows * (options.crossq ? 2 : 1), Use::input_gradients, threads);
    loss_.push_back(take(1));
    q_.push_back(take(1));
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
      at_batch_(arena_, structure, options, action_size, spec.learn.batch, spec.max_threads()),
      split_(structure, spec.learn.batch, spec.max_threads()),
      errors_(arena_.take<float>(spec.learn.batch)) {
  for (int k = 0; k < options.count; ++k) {
    networks_.push_back(std::make_unique<LearntNetwork>(structure, spec.net.init, spec.optimiser,
                                                        seed_of(seed, k), scale));
    targets_.push_back(arena_.take<float>(options.crossq ? 0 : structure.storage));
    std::copy_n(network(k).online().begin(), targets_[k].size(), targets_[k].begin());
    gradients_.push_back(arena_.take<float>(structure.storage));
    learning_.push_back({network(k).plan(), network(k).online(), at_batch_.at_[k], gradients_[k]});
  }
  std::iota(in_target_.begin(), in_target_.end(), 0);
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

// Whether a thread's coming passes, with critic k, train or evaluate: only dropout and batch
// renormalisation differ.
void Critics::begin_pass(Pass pass, int k, Workspace& at, int thread) const {
  const bool trains = options_.crossq ? pass == kOnlinePass : options_.dropout > 0;
  if (!trains) return at.set_evaluation(thread);
  constexpr int kPasses = 3;
  static_assert(kPasses * kMaxCritics <= 256);
  at.set_training(
      {.seed = seed_, .step = index_, .stream = static_cast<std::uint32_t>(kPasses * k + pass)},
      thread);
}

// Loads observations and the chosen actions as inputs, from a block of the workspace on.
void Critics::load(const float* obs, const RowRange& rows, Workspace& at, int first_block) {
  const int actions = at_batch_.action_size_, width = networks_[0]->structure().inputs - actions;
  hotloop::load(obs, width, rows, 0, at, scale_, first_block);
  for_each_block(rows, [&](const BlockPart& part) {
    const float* from = at_batch_.action(part);
    float* to = at.lanes(width, first_block + part.block) + part.lane;
    for (int i = 0; i < actions * kLanes; i += kLanes) std::copy_n(from + i, part.width(), to + i);
  });
}

// Loads the observations and actions of the batch.
void Critics::load_taken(const Batch& batch, const RowRange& rows, Workspace& at) {
  const int actions = at_batch_.action_size_, width = networks_[0]->structure().inputs - actions;
  hotloop::load(batch.obs, width, rows, 0, at, scale_);
  hotloop::load(batch.continuous_actions, actions, rows, width, at);
}

void Critics::compute_targets(const Batch& batch, float reward_factor, const RowRange& rows) {
  mark(Phase::learn_target);
  Workspace& at = at_batch_.at_[0];
  load(batch.next_obs, rows, at, 0);
  for (int i = 0; i < options_.in_target; ++i) {
    const int k = in_target_[i];
    begin_pass(kTargetPass, k, at, rows.thread);
    forward_loaded(networks_[0]->plan(), targets_[k], rows, at);
    pool_values(i, at, 0, rows);
  }
  finish_targets(batch, reward_factor, rows);
}

// The forward pass of critic k at (s, a), and the gradient of its loss.
void Critics::compute_loss(int k, const Batch& batch, const RowRange& rows) {
  mark(Phase::learn_forward);
  Workspace& at = at_batch_.at_[k];
  load_taken(batch, rows, at);
  begin_pass(kOnlinePass, k, at, rows.thread);
  forward_loaded(networks_[k]->plan(), networks_[k]->online(), rows, at);
  compare_to_targets(k, rows);
  mark(Phase::learn_backward);
}

// CrossQ: the blocks of (s, a), then those of (s', a'), in one training pass of each critic.
void Critics::compute_joint(const Batch& batch, float reward_factor, ThreadTeam& team) {
  const RowRange rows{0, batch.size};
  const int blocks = block_count(batch.size);
  team.run(options_.count, [&](int first, int last, int) {
    const FlushDenormals flush;
    for (int k = first; k < last; ++k) {
      mark(Phase::learn_forward);
      Workspace& at = at_batch_.at_[k];
      load_taken(batch, rows, at);
      load(batch.next_obs, rows, at, blocks);
      begin_pass(kOnlinePass, k, at, 0);
      forward_loaded(networks_[k]->plan(), networks_[k]->online(), 2 * batch.size, at);
    }
  });
  mark(Phase::learn_target);
  for (int i = 0; i < options_.in_target; ++i)
    pool_values(i, at_batch_.at_[in_target_[i]], blocks, rows);
  finish_targets(batch, reward_factor, rows);
  for (int k = 0; k < options_.count; ++k) compare_to_targets(k, rows);
  team.run(options_.count, [&](int first, int last, int) {
    const FlushDenormals flush;
    for (int k = first; k < last; ++k) {
      mark(Phase::learn_backward);
      Workspace& at = at_batch_.at_[k];
      for (int block = blocks; block < 2 * blocks; ++block)
        std::fill_n(at.output_gradient(block), options_.outputs() * kLanes, 0.0f);
      backward(networks_[k]->plan(), networks_[k]->online(), 2 * batch.size, at, gradients_[k]);
    }
  });
}

// Adds the values of s' that the i-th critic of the target gives, which begin at `first_block` of
// its outputs: to the minimum, or to the pool of quantiles.
void Critics::pool_values(int i, const Workspace& at, int first_block, const RowRange& rows) {
  const int outputs = options_.outputs();
  for_each_block(rows, [&](const BlockPart& part) {
    const float* q = at.outputs(first_block + part.block) + part.lane;
    float* pool = at_batch_.lanes(at_batch_.pool_, at_batch_.pool_size_, part);
    if (options_.quantiles > 0 || i == 0) {
      for (int j = 0; j < outputs; ++j)
        std::copy_n(q + j * kLanes, part.width(), pool + (i * outputs + j) * kLanes);
    } else {
      for (int lane = 0; lane < part.width(); ++lane) pool[lane] = std::min(pool[lane], q[lane]);
    }
  });
}

// From the pooled values to the targets y, in place.
void Critics::finish_targets(const Batch& batch, float reward_factor, const RowRange& rows) {
  for_each_block(rows, [&](const BlockPart& at) {
    const int width = at.width();
    float* pool = at_batch_.lanes(at_batch_.pool_, at_batch_.pool_size_, at);
    if (options_.quantiles > 0) sort_lanes(pool, at_batch_.pool_size_, width);
    alignas(64) std::array<float, kLanes> reward, discount;
    copy_to_lanes(batch.rewards + at.row(), at.count, reward.data());
    copy_to_lanes(batch.discounts + at.row(), at.count, discount.data());
    const float* bonus = at_batch_.bonus(at);
    for (int j = 0; j < options_.targets(); ++j) {
      float* y = pool + j * kLanes;
      for (int lane = 0; lane < width; ++lane) {
        const float future = discount[lane] * (y[lane] - bonus[lane]);
        // A terminal state has no value, whatever the network says of it.
        y[lane] = reward_factor * reward[lane] + (discount[lane] == 0 ? 0 : future);
      }
    }
    float* share = at_batch_.lanes(at_batch_.share_, 1, at);
    std::fill_n(share, width, 0.0f);
    for (int i = 0; i < at.count; ++i) {
      const float weight = batch.weights == nullptr ? 1.0f : batch.weights[at.row() + i];
      share[i] = weight / static_cast<float>(batch.size);
    }
    std::fill_n(at_batch_.lanes(at_batch_.error_, 1, at), width, 0.0f);
  });
}

// The loss of critic k and its gradient, from the outputs of its forward pass.
void Critics::compare_to_targets(int k, const RowRange& rows) {
  mark(Phase::learn_loss);
  CriticBatch& b = at_batch_;
  for_each_block(rows, [&](const BlockPart& at) {
    critic_loss({.width = at.width(),
                 .outputs = options_.outputs(),
                 .targets = options_.targets(),
                 .quantiles = options_.quantiles > 0,
                 .output = b.at_[k].outputs(at.block) + at.lane,
                 .target = b.lanes(b.pool_, b.pool_size_, at),
                 .share = b.lanes(b.share_, 1, at),
                 .gradient = b.at_[k].output_gradient(at.block) + at.lane,
                 .error = b.lanes(b.error_, 1, at),
                 .loss = b.lanes(b.loss_[k], 1, at),
                 .q = b.lanes(b.q_[k], 1, at)});
  });
}

Critics::Report Critics::descend(double learning_rate, ThreadTeam& team) {
  Report report;
  double squares = 0;
  for (int k = 0; k < options_.count; ++k) {
    double loss = 0;
    for (int row = 0; row < at_batch_.rows; ++row) {
      loss += at_batch_.loss_[k][row];
      report.mean_q += static_cast<double>(at_batch_.q_[k][row]) / options_.count;
    }
    const double norm = network(k).descend(gradients_[k], loss, learning_rate, team);
    if (options_.crossq)
      update_statistics(network(k).plan(), at_batch_.at_[k], network(k).online());
    squares += norm * norm;
    report.loss += loss / options_.count;
  }
  report.gradient_norm = std::sqrt(squares);
  for (int row = 0; row < at_batch_.rows; ++row)
    errors_[row] = at_batch_.error_[row] / static_cast<float>(options_.count);
  return report;
}

void Critics::evaluate_actions(const float* obs, const RowRange& rows) {
  const Plan& plan = networks_[0]->plan();
  const int actions = at_batch_.action_size_, width = plan.structure().inputs - actions;
  const int asked = options_.actor_value == ActorValue::first ? 1 : options_.count;
  for (int k = 0; k < asked; ++k) {
    Workspace& at = at_batch_.at_[k];
    load(obs, rows, at, 0);
    begin_pass(kActorPass, k, at, rows.thread);
    forward_loaded(plan, networks_[k]->online(), rows, at);
  }
  for_each_block(rows, [&](const BlockPart& at) { choose_value(at); });
  for (int k = 0; k < asked; ++k) {
    backward_to_inputs(plan, networks_[k]->online(), rows, at_batch_.at_[k]);
    for_each_block(rows, [&](const BlockPart& at) {
      const float* from = at_batch_.at_[k].input_gradient(at.block) + width * kLanes + at.lane;
      float* to = at_batch_.action_gradient(at);
      for (int i = 0; i < actions * kLanes; i += kLanes) {
        for (int lane = i; lane < i + at.width(); ++lane)
          to[lane] = k == 0 ? from[lane] : to[lane] + from[lane];
      }
    });
  }
}

// Sets the actor value of rows, and its derivative with respect to the outputs of each critic.
void Critics::choose_value(const BlockPart& at) {
  const int outputs = options_.outputs(), width = at.width();
  const int asked = options_.actor_value == ActorValue::first ? 1 : options_.count;
  float* value = at_batch_.value(at);
  alignas(64) std::array<float, kMaxCritics * kLanes> q{};
  for (int k = 0; k < asked; ++k)
    mean_of_lanes(at_batch_.at_[k].outputs(at.block) + at.lane, outputs, width,
                  q.data() + k * kLanes);
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
      float* gradient = at_batch_.at_[k].output_gradient(at.block) + at.lane;
      for (int i = 0; i < outputs; ++i) Lanes<kWidth>(gradient + i * kLanes) = slope;
    }
  });
}

void Critics::sync_targets(ThreadTeam& team, double tau) {
  for (int k = 0; k < options_.count && !options_.crossq; ++k)
    blend(network(k).online(), static_cast<float>(tau), targets_[k], team);
}

void Critics::evaluate(const float* obs, const float* actions, CriticBatch& probe) const {
  const Plan& plan = networks_[0]->plan();
  const int width = plan.structure().inputs - probe.action_size_;
  Workspace& at = probe.at_[0];
  at.set_evaluation();
  hotloop::load(obs, width, probe.rows, 0, at, scale_);
  hotloop::load(actions, probe.action_size_, probe.rows, width, at);
  std::ranges::fill(probe.value_, 0.0f);
  const float share = 1.0f / static_cast<float>(options_.count * options_.outputs());
  for (const auto& critic : networks_) {
    forward_loaded(plan, critic->online(), probe.rows, at);
    for (int row = 0; row < probe.rows; ++row) {
      const float* q = at.outputs(row / kLanes) + row % kLanes;
      for (int i = 0; i < options_.outputs(); ++i) probe.value_[row] += share * q[i * kLanes];
    }
  }
}

std::size_t Critics::bytes_needed(const Structure& structure, const CriticOptions& options,
                                  int batch, int threads) {
  constexpr std::size_t kCopies = 5;  // online, target, two moments, gradient
  const int rows = options.crossq ? 2 * batch : batch;
  return options.count * (kCopies * structure.storage * sizeof(float) +
                          Workspace::bytes_needed(structure, rows, Use::input_gradients, threads));
}

}  // namespace hotloop
