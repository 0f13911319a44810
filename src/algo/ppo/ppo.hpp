// Proximal policy optimisation (Schulman et al. 2017). With r = p(u | s) / p_old(u | s), and the
// advantages A and returns G of returns.hpp, over a minibatch:
//
//   L = mean of  -min(r A, clamp(r, 1 - c, 1 + c) A)
//              + w_v sum over heads h of w_h max((V_h - G_h)^2, (V'_h - G_h)^2)
//              - w_e H + w_f max(0, floor - H)
//
// where V' is V held within c_v of the value it had. Before the first update of a rollout the network
// is the one that acted, so r is exactly 1. With one epoch of one batch it stays so, and this is A2C
// (Mnih et al. 2016), whatever the clip; with lambda 1 besides, REINFORCE with a baseline (Williams
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

namespace hotloop {

// What an update reports: the values' mean under the name that Q-learning has for it.
struct PpoReport : UpdateReport {
  double mean_value = 0;  // of V(s)
  double entropy = 0;
  double kl = 0;       // of the policy before from the one that acted
  double clipped = 0;  // share of the batch whose ratio was beyond the clip
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
  int values = 1;  // of the return, then of its parts
};

// What a policy did, beside what a Rollout holds. Places are t * N + lane.
struct Acted {
  std::span<float> raw;              // [places, raw_size]
  std::span<float> log_probability;  // [places]
  std::span<float> distribution;     // [places, policy.outputs()]
  std::span<float> values;           // [values][stride of values]
  std::size_t value_stride = 0;      // places from the values of one head to those of the next
};

// What learning from it takes besides.
struct Lesson {
  const Rollout& rollout;
  const Acted& acted;
  std::span<const float> returns;     // [values][places]
  std::span<const float> advantages;  // [places]
  double clip, entropy_weight, learning_rate;
};

class Ppo : public LearntNetwork {
 public:
  // Learns in minibatches of spec.learn.batch transitions.
  Ppo(const Structure& structure, const ActorCriticHead& head, const AgentSpec& spec,
      std::uint64_t seed, const InputScale* scale = nullptr);

  // Chooses for rows obs [N, D]; each environment draws from (seed, exploration, row, step). Fills
  // places [first, first + N) of `acted`, and the actions: discrete [N] or continuous [N, size]. Throws
  // RunError if the policy is not finite. If values
  // share nothing with the policy, they are left for later, when there are many to compute at once.
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask, std::uint64_t step,
           ThreadTeam& team, std::size_t first, Acted& acted, std::span<std::int32_t> discrete,
           std::span<float> continuous);

  bool values_apart() const { return values_apart_; }
  // Values of up to kValueRows rows [count, D]: to values[h * stride + i].
  static constexpr int kValueRows = 128;
  void values(const float* rows, int count, float* values, std::size_t stride, ThreadTeam& team);

  // One gradient update on a minibatch of places.
  PpoReport update(const Lesson& lesson, std::span<const std::int32_t> places, ThreadTeam& team);

  const ActorCriticHead& head() const { return head_; }

  // Rows of a shard: of a large network 32 are enough work.
  static int shard_rows(const Structure& structure) {
    return structure.parameters > 100'000 ? kLanes : BatchShard::kRows;
  }
  // What is computed to act: without the values, if they share nothing with the policy.
  static Structure acting_part(const Structure& structure, const ActorCriticHead& head);

 private:
  struct Shard : BatchShard {
    std::span<float> scratch;  // [3][policy.outputs()][kLanes]
    Workspace workspace;       // of one block
    double loss = 0, value = 0, entropy = 0, divergence = 0, clipped = 0;
  };
  struct Moments {
    float mean, inverse_std;
  };

  void act_block(int block, int envs, std::span<const float> obs,
                 std::span<const std::uint8_t> mask, std::uint64_t step, std::size_t first,
                 Acted& acted, std::span<std::int32_t> discrete, std::span<float> continuous);
  Moments advantage_moments(const Lesson& lesson, std::span<const std::int32_t> places) const;
  void learn(const Lesson& lesson, std::span<const std::int32_t> places, const Moments& moments,
             Shard& shard) const;
  void learn_block(const Lesson& lesson, const std::int32_t* places, int rows,
                   const Moments& moments, Shard& shard) const;

  ActorCriticHead head_;
  PpoOptions options_;
  std::uint64_t seed_;
  int batch_;
  std::vector<float> weights_;  // [values] of their losses
  Arena arena_;
  std::size_t scratch_floats_;       // of one distribution of a block
  std::span<float> acting_scratch_;  // [blocks][2][policy.outputs()][kLanes]
  bool values_apart_;
  Plan acting_plan_, value_plan_;
  Workspace acting_;   // [envs]
  Workspace valuing_;  // [kValueRows]
  std::vector<Shard> shards_;
};

}  // namespace hotloop
