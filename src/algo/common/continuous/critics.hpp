// K critics that estimate Q(s, a), over a batch.
//
//   targets       y = r + d (min_k Q'_k(s', a') - bonus)    k over all critics, or a random subset
//                 with quantiles (Kuznetsov et al. 2020): those of the critics are pooled and
//                 sorted, the largest are left out, and each of the others gives one y
//                 Q' is a target copy; with dropout (DroQ, Hiraoka et al. 2022), all passes drop.
//                 In CrossQ (Bhatt et al. 2024), Q' is Q: (s, a) and (s', a') are the two halves of
//                 one training pass with batch renormalisation, and y counts as a constant
//   loss          of each critic: critic_loss.hpp
//   actor value   the smallest, the mean or the first of Q_k(s, a), with its gradient in a
//
// The caller supplies the actions and the bonus (alpha log pi for SAC). Inputs of a critic are
// [observation | action]; only observations are normalised.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algo/common/agent_spec.hpp"
#include "algo/common/continuous/critic_loss.hpp"
#include "algo/common/continuous/options.hpp"
#include "algo/common/learnt_network.hpp"
#include "env/world_facts.hpp"
#include "memory/transitions.hpp"
#include "net/batch_gradient.hpp"

namespace hotloop {

inline constexpr int kMaxCritics = 32;

// The network from [observation | action] to the outputs of a critic.
Structure critic_structure(const AgentSpec& spec, const CriticOptions& options,
                           const WorldFacts& world);

// What the critics keep for each row of a batch. Its lanes are [blocks][count][kLanes].
class CriticBatch {
 public:
  CriticBatch(Arena& arena, const Structure& critic, const CriticOptions& options, int action_size,
              int rows, int threads);

  int rows;
  // The actions that the critics are asked about, and the gradient of the actor value in them.
  float* action(const BlockPart& at) { return lanes(action_, action_size_, at); }
  float* action_gradient(const BlockPart& at) { return lanes(action_gradient_, action_size_, at); }
  float* bonus(const BlockPart& at) { return lanes(bonus_, 1, at); }
  float* value(const BlockPart& at) { return lanes(value_, 1, at); }  // the actor value
  float value(int row) const { return value_[row]; }

 private:
  friend class Critics;
  static float* lanes(std::span<float> all, int count, const BlockPart& at) {
    return all.data() + static_cast<std::size_t>(at.block) * count * kLanes + at.lane;
  }

  int action_size_;
  std::vector<Workspace> at_;  // [K] of the rows; crossq: of both halves
  int pool_size_;
  std::span<float> action_, action_gradient_, bonus_, value_;
  // The weight of each transition in a mean over the batch, importance weight included; 0 beyond the
  // rows.
  std::span<float> share_;
  std::span<float> pool_;                   // [blocks][pool_size][kLanes] target values; then y
  std::span<float> error_;                  // mean over the critics
  std::vector<std::span<float>> loss_, q_;  // [K] times share
};

class Critics {
 public:
  Critics(const Structure& structure, const CriticOptions& options, const AgentSpec& spec,
          int action_size, std::uint64_t seed, const InputScale* scale);
  // Approximate.
  static std::size_t bytes_needed(const Structure& structure, const CriticOptions& options,
                                  int batch, int threads);

  int count() const { return options_.count; }
  LearntNetwork& network(int k) { return *networks_[k]; }
  std::span<float> target(int k) { return targets_[k]; }  // empty in CrossQ
  CriticBatch& batch() { return at_batch_; }
  // "critic0", "critic1", ...
  static std::string_view name(int k);

  // Begins update `index`. The critics in its targets are all, or a subset drawn from (seed,
  // policy, lane 0, index).
  void begin_update(std::uint64_t index);

  // The gradients of all critics. choose(rows) sets the actions a' and the bonus of a range of rows.
  template <class Choose>
  void compute_gradients(const Batch& batch, float reward_factor, ThreadTeam& team,
                         Choose&& choose) {
    if (options_.crossq) {
      const FlushDenormals flush;
      choose(RowRange{0, batch.size});
      return compute_joint(batch, reward_factor, team);
    }
    hotloop::compute_gradients(learning_, split_, team, [&](int k, const RowRange& rows) {
      if (k == 0) {
        choose(rows);
        compute_targets(batch, reward_factor, rows);
      }
      compute_loss(k, batch, rows);
    });
  }
  // One optimiser step of every critic; parameters change only if loss and gradient are finite.
  struct Report {
    double loss = 0;           // mean over the critics
    double gradient_norm = 0;  // of all critics together, before clipping
    double mean_q = 0;

    bool is_finite() const { return std::isfinite(loss) && std::isfinite(gradient_norm); }
  };
  Report descend(double learning_rate, ThreadTeam& team);
  // For priorities, after the step: [B], means over the critics.
  std::span<const float> errors() const { return errors_; }

  // Fills batch().value and action_gradient for the actions at `obs` rows; the gradient is that of
  // the sum over the rows.
  void evaluate_actions(const float* obs, const RowRange& rows);

  void sync_targets(ThreadTeam& team, double tau);

  // Fills probe.value with the mean over the critics of Q(s, a), for rows [probe.rows, ...].
  void evaluate(const float* obs, const float* actions, CriticBatch& probe) const;

 private:
  enum Pass { kTargetPass, kOnlinePass, kActorPass };  // each drops other features
  void begin_pass(Pass pass, int k, Workspace& at, int thread) const;
  void load(const float* obs, const RowRange& rows, Workspace& at, int first_block);
  void load_taken(const Batch& batch, const RowRange& rows, Workspace& at);
  void compute_targets(const Batch& batch, float reward_factor, const RowRange& rows);
  void compute_loss(int k, const Batch& batch, const RowRange& rows);
  void compute_joint(const Batch& batch, float reward_factor, ThreadTeam& team);
  void pool_values(int i, const Workspace& at, int first_block, const RowRange& rows);
  void finish_targets(const Batch& batch, float reward_factor, const RowRange& rows);
  void compare_to_targets(int k, const RowRange& rows);
  void choose_value(const BlockPart& at);

  CriticOptions options_;
  const InputScale* scale_;
  std::uint64_t seed_, index_ = 0;
  Arena arena_;
  std::vector<std::unique_ptr<LearntNetwork>> networks_;  // [K]
  std::vector<std::span<float>> targets_;                 // [K] flat parameters; empty in CrossQ
  std::vector<int> in_target_;                            // [options.in_target], ascending
  CriticBatch at_batch_;
  BatchSplit split_;
  std::vector<std::span<float>> gradients_;  // [K] flat
  std::vector<LearningNetwork> learning_;    // [K]
  std::span<float> errors_;                  // [batch]
};

}  // namespace hotloop
