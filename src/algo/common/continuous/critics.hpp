// K critics that estimate Q(s, a), over the shards of a batch.
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

namespace hotloop {

inline constexpr int kMaxCritics = 32;

// The network from [observation | action] to the outputs of a critic.
Structure critic_structure(const AgentSpec& spec, const CriticOptions& options,
                           const WorldFacts& world);

// The critics' part of a shard of the batch. Its lanes are [blocks][count][kLanes].
class CriticShard {
 public:
  CriticShard(Arena& arena, const Structure& critic, const CriticOptions& options, int action_size,
              int first, int rows);
  // Batch renormalisation needs the whole batch at once.
  static int rows_of(const CriticOptions& options, int batch) {
    return options.crossq ? batch : std::min(BatchShard::kRows, batch);
  }

  int first, rows;  // in the batch
  // The actions that the critics are asked about, and the gradient of the actor value in them.
  float* action(int block) { return lanes(action_, action_size_, block); }
  float* action_gradient(int block) { return lanes(action_gradient_, action_size_, block); }
  float* bonus(int block) { return lanes(bonus_, 1, block); }
  float* value(int block) { return lanes(value_, 1, block); }  // the actor value
  // The weight of each transition in a mean over the batch, importance weight included; 0 beyond
  // the rows.
  float* share(int block) { return lanes(share_, 1, block); }

 private:
  friend class Critics;
  static float* lanes(std::span<float> all, int count, int block) {
    return all.data() + static_cast<std::size_t>(block) * count * kLanes;
  }

  int action_size_;
  std::vector<Workspace> at_;                // [K] of the rows; crossq: of both halves
  std::vector<std::span<float>> gradients_;  // [K] flat, of this shard's part of the mean loss
  std::vector<CriticSums> sums_;             // [K]
  int pool_size_;
  std::span<float> action_, action_gradient_, bonus_, value_, share_;
  std::span<float> pool_;   // [blocks][pool_size][kLanes] target values; then the targets y
  std::span<float> error_;  // [blocks][1][kLanes] mean over the critics
};

class Critics {
 public:
  Critics(const Structure& structure, const CriticOptions& options, const AgentSpec& spec,
          int action_size, std::uint64_t seed, const InputScale* scale);
  // Approximate, with the buffers of each shard.
  static std::size_t bytes_needed(const Structure& structure, const CriticOptions& options,
                                  int batch);

  int count() const { return options_.count; }
  LearntNetwork& network(int k) { return *networks_[k]; }
  std::span<float> target(int k) { return targets_[k]; }  // empty in CrossQ
  CriticShard& shard(int i) { return shards_[i]; }
  // "critic0", "critic1", ...
  static std::string_view name(int k);

  // Begins update `index`. The critics in its targets are all, or a subset drawn from (seed,
  // policy, lane 0, index).
  void begin_update(std::uint64_t index);

  // For one shard whose action (a') and bonus are set; several threads may work on different
  // shards.
  void compute_gradients(const Batch& batch, float reward_factor, CriticShard& shard) const;
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

  // Fills shard.value and shard.action_gradient for the actions at `obs` rows; the gradient is that
  // of the sum over the rows.
  void evaluate_actions(const float* obs, CriticShard& shard) const;

  void sync_targets(ThreadTeam& team, double tau);

  // Fills shard.value with the mean over the critics of Q(s, a), for rows [shard.rows, ...].
  void evaluate(const float* obs, const float* actions, CriticShard& shard) const;

 private:
  enum Pass { kTargetPass, kOnlinePass, kActorPass };  // each drops other features
  void begin_pass(Pass pass, int k, const CriticShard& shard, Workspace& at) const;
  void load(const float* obs, CriticShard& shard, Workspace& at, int first_block) const;
  void load_taken(const Batch& batch, CriticShard& shard, Workspace& at) const;
  const float* next_rows(const Batch& batch, const CriticShard& shard) const;
  void compute_separate(const Batch& batch, float reward_factor, CriticShard& shard) const;
  void compute_joint(const Batch& batch, float reward_factor, CriticShard& shard) const;
  void pool_values(int i, const Workspace& at, int first_block, CriticShard& shard) const;
  void finish_targets(const Batch& batch, float reward_factor, CriticShard& shard) const;
  void compute_shares(const Batch& batch, CriticShard& shard) const;
  void compute_loss(int k, Workspace& at, CriticShard& shard) const;
  void choose_value(CriticShard& shard, int block) const;

  CriticOptions options_;
  const InputScale* scale_;
  std::uint64_t seed_, index_ = 0;
  Arena arena_;
  std::vector<std::unique_ptr<LearntNetwork>> networks_;  // [K]
  std::vector<std::span<float>> targets_;                 // [K] flat parameters; empty in CrossQ
  std::vector<int> in_target_;                            // [options.in_target], ascending
  std::vector<CriticShard> shards_;
  std::span<float> errors_;  // [batch]
};

}  // namespace hotloop
