// What the trainer drives: something that chooses actions, remembers what followed, and learns.
//
// The trainer owns the environments and the clock of training; a learner owns its networks and its
// memory. Everything a learner has that decides its future is visited as named arrays, so that a
// checkpoint needs to know no algorithm.
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
#include "core/schedule.hpp"
#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "memory/transitions.hpp"

namespace hotloop {

// How far training has come. All of them are part of a checkpoint.
struct Counters {
  std::int64_t env_steps = 0;
  std::int64_t updates = 0;
  std::int64_t episodes = 0;
  std::int64_t train_events = 0;  // rounds that were followed by updates
  std::int64_t batches = 0;       // drawn
  std::int64_t target_updates = 0;

  Progress progress() const { return {env_steps, updates, episodes}; }
};

// The one list of their names.
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

// Signs of health, measured when somebody asks; NaN = does not apply. See train/health.hpp.
struct Signs {
  double largest_value = std::nan("");                 // |Q(s, a)| or |V(s)|
  double action_gap = std::nan("");                    // mean of best minus second best Q(s, a)
  double best_value = std::nan("");                    // mean of max_a Q(s, a)
  double terminal_share = std::nan("");                // of the stored transitions
  double target_lag = std::nan("");                    // |online - target| / |online|
  double value_min = -HUGE_VAL, value_max = HUGE_VAL;  // what the network can say at all
};

using Array =
    std::variant<std::span<float>, std::span<double>, std::span<std::uint8_t>,
                 std::span<std::int32_t>, std::span<std::int64_t>, std::span<std::uint64_t>>;
using ArrayVisitor = std::function<void(const std::string& name, Array array)>;
using NumberVisitor = std::function<void(std::string_view name, double value)>;

struct NamedNetwork {
  std::string_view name;  // "online", "actor", "critic"
  LearntNetwork* network;
};

class Learner {
 public:
  virtual ~Learner() = default;

  // The observations [N, D] and masks that the first step starts from.
  virtual void begin(std::span<const float> obs, std::span<const std::uint8_t> mask) = 0;
  virtual void act(std::span<const float> obs, std::span<const std::uint8_t> mask,
                   std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
                   Actions& actions) = 0;
  // `act` uses the parameters and the number of updates of this moment until the next call, also while
  // another thread learns.
  virtual void freeze_policy(const Counters& /*counters*/) {
    throw std::logic_error("this learner cannot be pipelined");
  }
  // What followed. The counters include these steps and their finished episodes already.
  virtual void push(const Transitions& step, Counters& counters) = 0;
  // The updates that the round just collected is owed. Throws RunError if loss or gradient is not
  // finite; the parameters are then as they were before that update.
  virtual void learn(Training training) = 0;

  // The network that chooses actions: what is evaluated, and kept as a model.
  virtual LearntNetwork& acting() = 0;
  // All that are learnt, that one included.
  virtual std::vector<NamedNetwork> networks() { return {{"online", &acting()}}; }

  // Names of what its updates report, in the order of Window::sums.
  virtual std::vector<std::string_view> columns() const = 0;
  // Schedules as they are now, for metrics: "epsilon", "learning_rate".
  virtual void settings(const Counters& /*counters*/, const NumberVisitor& /*visitor*/) const {}
  virtual Signs signs(const Counters& counters) = 0;
  virtual float reward_factor() const { return 1; }  // multiplies rewards before learning
  // Arrays whose size depends on others are visited after them.
  virtual void visit(const ArrayVisitor& visitor) = 0;
  // All of them have been read from a checkpoint.
  virtual void restored() {}
};

// What followed the actions that `env` took last.
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
