// The learner that the trainer drives: it chooses actions, stores transitions and learns.
//
// The trainer owns the environments and the counters; a learner owns its networks and its memory. A
// learner exposes its complete state as named arrays, so checkpoint code does not depend on the
// algorithm.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "algo/common/learnt_network.hpp"
#include "algo/common/report.hpp"
#include "core/limits.hpp"
#include "core/schedule.hpp"
#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "memory/demonstrations.hpp"
#include "memory/transitions.hpp"

namespace hotloop {

// How far training has come. Saved in checkpoints.
struct Counters {
  std::int64_t env_steps = 0;
  std::int64_t updates = 0;
  std::int64_t episodes = 0;
  std::int64_t train_events = 0;  // rounds followed by updates
  std::int64_t batches = 0;       // drawn
  std::int64_t target_updates = 0;

  Progress progress() const { return {env_steps, updates, episodes}; }
};

// The only list of their names.
template <class C, class Visitor>
void visit_counters(C& c, Visitor&& visit) {
  visit("env_steps", c.env_steps);
  visit("updates", c.updates);
  visit("episodes", c.episodes);
  visit("train_events", c.train_events);
  visit("batches", c.batches);
  visit("target_updates", c.target_updates);
}

struct Training {
  Counters& counters;
  Window& window;
  ThreadTeam& team;
};

// Signs of health, measured on request; NaN = does not apply. See train/health.hpp.
struct Signs {
  double largest_value = std::nan("");                 // |Q(s, a)| or |V(s)|
  double action_gap = std::nan("");                    // mean of best minus second best Q(s, a)
  double best_value = std::nan("");                    // mean of max_a Q(s, a)
  double terminal_share = std::nan("");                // share of terminal transitions in memory
  double target_lag = std::nan("");                    // |online - target| / |online|
  double critic_bias = std::nan("");                   // mean of Q(s, a) minus observed returns
  double return_scale = std::nan("");                  // size and spread of these returns
  double bonus = 0;                                    // that values count per step, with rewards
  double value_min = -HUGE_VAL, value_max = HUGE_VAL;  // the range of values it can represent
};

using Array =
    std::variant<std::span<float>, std::span<double>, std::span<std::uint8_t>,
                 std::span<std::int32_t>, std::span<std::int64_t>, std::span<std::uint64_t>>;
// The limits state what the array may hold, so that a checkpoint with anything else is refused
// before the next array is visited. Limits::any() leaves the check to restored().
using ArrayVisitor =
    std::function<void(const std::string& name, Array array, const Limits& limits)>;
using NumberVisitor = std::function<void(std::string_view name, double value)>;

struct NamedNetwork {
  std::string_view name;  // "online", "actor", "critic"
  LearntNetwork* network;
};

class Learner {
 public:
  virtual ~Learner() = default;

  // Passes the observations [N, D] and masks before the first step.
  virtual void begin(std::span<const float> obs, std::span<const std::uint8_t> mask) = 0;
  // The same, after demonstrations of this environment, which the learner stores as if they had been
  // collected.
  virtual void begin_after(const Demonstrations& /*demonstrations*/, std::span<const float> /*obs*/,
                           std::span<const std::uint8_t> /*mask*/) {
    throw std::logic_error("this learner takes no demonstrations");
  }
  virtual void act(std::span<const float> obs, std::span<const std::uint8_t> mask,
                   std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
                   Actions& actions) = 0;
  // Until the next call, `act` uses the current parameters and update count, even while another
  // thread learns.
  virtual void freeze_policy(const Counters& /*counters*/) {
    throw std::logic_error("this learner cannot be pipelined");
  }
  // Stores the transitions. The counters already include these steps and their finished episodes.
  virtual void push(const Transitions& step, Counters& counters) = 0;
  // Makes the updates due after the round just collected. Throws RunError if loss or gradient is
  // not finite; that update does not change the network that acts.
  virtual void learn(Training training) = 0;

  // The network that chooses actions; it is evaluated and saved as the model.
  virtual LearntNetwork& acting() = 0;
  // All trained networks, including acting().
  virtual std::vector<NamedNetwork> networks() { return {{"online", &acting()}}; }

  // Names of the numbers its updates report, in the order of Window::sums.
  virtual std::vector<std::string_view> columns() const = 0;
  // Current values of schedules, for metrics: "epsilon", "learning_rate".
  virtual void settings(const Counters& /*counters*/, const NumberVisitor& /*visitor*/) const {}
  virtual Signs signs(const Counters& counters) = 0;
  virtual float reward_factor() const { return 1; }  // multiplies rewards before learning
  // Visits the complete state. An array whose size depends on another one comes after it.
  virtual void visit(const ArrayVisitor& visitor) = 0;
  // Called after all arrays have been read from a checkpoint, each within its limits. Throws
  // RunError if they contradict each other or the counters.
  virtual void restored(const Counters& /*counters*/) {}
};

// The transitions of the latest step of `env`.
inline Transitions latest_transitions(const BatchEnv& env, const Actions& actions) {
  return {.actions = actions.discrete,
          .rewards = env.rewards(),
          .terminated = env.terminated(),
          .truncated = env.truncated(),
          .next_obs = env.obs(),
          .next_mask = env.mask(),
          .final_obs = env.final_obs(),
          .final_mask = env.final_mask(),
          .reward_parts = env.reward_parts(),
          .continuous_actions = actions.continuous};
}

}  // namespace hotloop
