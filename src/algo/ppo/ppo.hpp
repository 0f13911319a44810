// Proximal policy optimisation (Schulman et al. 2017). With r = p(u | s) / p_old(u | s), and the
// advantages A and returns G of returns.hpp, over a minibatch:
//
//   L = mean of  -min(r A, clamp(r, 1 - c, 1 + c) A)
//              + w_v sum over heads h of w_h max((V_h - G_h)^2, (V'_h - G_h)^2)
//              - w_e H + w_f max(0, floor - H)
//
// where V' is V clipped to within c_v of V_old. Before the first update on a rollout the policy is
// still the old one, so r is exactly 1. With one epoch of one batch this is A2C (Mnih et al. 2016),
// whatever the clip range; with lambda = 1 as well, it is REINFORCE with a baseline (Williams
// 1992).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algo/common/agent_spec.hpp"
#include "algo/common/learnt_network.hpp"
#include "algo/common/policy.hpp"
#include "algo/common/report.hpp"
#include "algo/ppo/options.hpp"
#include "core/thread_team.hpp"
#include "memory/rollout.hpp"
#include "net/batch_gradient.hpp"

namespace hotloop {

// What an update reports. The mean value has the same column name as in Q-learning, mean_q.
struct PpoReport : UpdateReport {
  double mean_value = 0;  // mean V(s)
  double entropy = 0;
  double kl = 0;       // KL(old | new) before the update
  double clipped = 0;  // share of the batch whose ratio was clipped
};
inline constexpr std::array<Column<PpoReport>, 6> kPpoColumns = {
    {{"loss", &PpoReport::loss},
     {"mean_q", &PpoReport::mean_value},
     {"gradient_norm", &PpoReport::gradient_norm},
     {"entropy", &PpoReport::entropy},
     {"kl", &PpoReport::kl},
     {"clipped", &PpoReport::clipped}}};

struct ActorCriticHead {
  PolicyHead policy;
  int values = 1;  // of the total reward, then of each reward part
};

// What acting computed with the old policy, in addition to the Rollout. Places are t * N + lane.
struct OldPolicy {
  std::span<float> raw;              // [places, raw_size]
  std::span<float> log_probability;  // [places]
  std::span<float> distribution;     // [places, policy.outputs()]
  std::span<float> values;           // [values][stride of values]
  std::size_t value_stride = 0;      // floats from the values of one head to the next
};

// The input of an update.
struct UpdateInput {
  const Rollout& rollout;
  const OldPolicy& old_policy;
  std::span<const float> returns;     // [values][places]
  std::span<const float> advantages;  // [places]
  double clip, entropy_weight, learning_rate;
};

class Ppo : public LearntNetwork {
 public:
  // Learns in minibatches of spec.learn.batch transitions.
  Ppo(const Structure& structure, const ActorCriticHead& head, const AgentSpec& spec,
      std::uint64_t seed, const InputScale* scale = nullptr);

  // Samples actions for rows obs [N, D], discrete [N] or continuous [N, size], with the random
  // streams (seed, exploration, row, step). Fills places [first, first + N) of `old_policy`. Throws
  // RunError if the policy is not finite. Values that share nothing with the policy are not
  // computed here, but later, many at once.
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask, std::uint64_t step,
           ThreadTeam& team, std::size_t first, OldPolicy& old_policy,
           std::span<std::int32_t> discrete, std::span<float> continuous);

  bool values_are_separate() const { return values_are_separate_; }
  // Writes the values of up to kValueRows rows [count, D] to values[h * stride + i].
  static constexpr int kValueRows = 128;
  void values(const float* rows, int count, float* values, std::size_t stride, ThreadTeam& team);

  // One gradient update on a minibatch of places.
  PpoReport update(const UpdateInput& input, std::span<const std::int32_t> places,
                   ThreadTeam& team);

  const ActorCriticHead& head() const { return head_; }

  // The part of the network needed to act: without the values, if they share nothing with the
  // policy.
  static Structure acting_part(const Structure& structure, const ActorCriticHead& head);

 private:
  // What the update reports of one row.
  struct RowReport {
    float loss, value, entropy, divergence, clipped;
  };
  struct Moments {
    float mean, inverse_std;
  };

  void act_block(int block, int envs, std::span<const float> obs,
                 std::span<const std::uint8_t> mask, std::uint64_t step, std::size_t first,
                 OldPolicy& old_policy, std::span<std::int32_t> discrete,
                 std::span<float> continuous);
  Moments advantage_moments(const UpdateInput& input, std::span<const std::int32_t> places) const;
  void learn(const UpdateInput& input, std::span<const std::int32_t> places, const Moments& moments,
             const RowRange& rows);
  void learn_block(const UpdateInput& input, const std::int32_t* places, const Moments& moments,
                   const BlockPart& at, float* scratch);

  ActorCriticHead head_;
  PpoOptions options_;
  std::uint64_t seed_;
  int batch_;
  std::vector<float> weights_;  // [values] weights of their losses
  Arena arena_;
  std::size_t scratch_floats_;       // size of the distributions of one block
  std::span<float> acting_scratch_;  // [blocks][2][policy.outputs()][kLanes]
  bool values_are_separate_;
  Plan acting_plan_, value_plan_;
  Workspace acting_;           // [envs]
  Workspace value_workspace_;  // [kValueRows]
  BatchSplit split_;
  Workspace workspace_;                    // [batch]
  std::vector<std::span<float>> scratch_;  // [threads][3][policy.outputs()][kLanes]
  std::span<float> gradient_;              // flat
  std::vector<RowReport> rows_;            // [batch]
};

}  // namespace hotloop
