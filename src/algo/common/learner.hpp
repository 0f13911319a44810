// What the trainer drives: something that chooses actions, remembers what followed, and learns.
//
// The trainer owns the environments and the clock of training; a learner owns its networks and its
// memory. Everything a learner has that decides its future is visited as named arrays, so that a
// checkpoint needs to know no algorithm.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>

#include "algo/ppo/ppo.hpp"
#include "algo/common/q_network.hpp"
#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "memory/replay.hpp"
#include "memory/rollout.hpp"
#include "spec/spec.hpp"

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

// The rewards so far, and 0.
struct RewardRange {
  double least = 0, most = 0;
  double largest() const { return std::max(-least, most); }
};

// Sums since the last time somebody read and cleared them.
struct Window {
  double returns = 0;
  std::int64_t episodes = 0;
  double loss = 0, mean_q = 0, gradient_norm = 0;
  double entropy = 0, kl = 0, clipped = 0;  // NaN if the algorithm has none
  std::int64_t updates = 0;
};

struct Training {
  Counters& counters;
  Window& window;
  ThreadTeam& team;
};

// Signs of health, measured when somebody asks; NaN = does not apply. See health.hpp.
struct Signs {
  Probe probe;
  double terminal_share = 0;  // of the stored transitions
  double target_lag = 0;      // |online - target| / |online|
};

using Array =
    std::variant<std::span<float>, std::span<double>, std::span<std::uint8_t>,
                 std::span<std::int32_t>, std::span<std::int64_t>, std::span<std::uint64_t>>;
using ArrayVisitor = std::function<void(const std::string& name, Array array)>;

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
  virtual void hold_policy(const Counters& /*counters*/) {
    throw std::logic_error("this learner cannot be pipelined");
  }
  // What followed. The counters include these steps and their finished episodes already.
  virtual void push(const Transitions& step, Counters& counters) = 0;
  // The updates that the round just collected is owed. Throws RunError if loss or gradient is not
  // finite; the parameters are then as they were before that update.
  virtual void learn(Training training) = 0;

  virtual Signs signs(const Counters& counters) = 0;
  virtual LearntNetwork& network() = 0;
  virtual float reward_factor() const = 0;  // rewards are multiplied by this before learning
  // Arrays whose size depends on others are visited after them.
  virtual void visit(const ArrayVisitor& visitor) = 0;
  // All of them have been read from a checkpoint.
  virtual void restored() {}
};

// What followed the actions that `env` took last.
Transitions latest_transitions(const BatchEnv& env, const Actions& actions);

std::unique_ptr<Learner> make_learner(const TrainSpec& spec);

// What the spec makes of its environment.
ReplayShape replay_shape(const TrainSpec& spec);
RolloutShape rollout_shape(const TrainSpec& spec);
Structure network_structure(const TrainSpec& spec);
// What the outputs of its network mean.
using Head = std::variant<QHead, ActorCriticHead>;
Head network_head(const TrainSpec& spec);

// Updates owed after this many train events: a fraction left over by one is carried to the next.
std::int64_t owed_updates(const QOptions& options, std::int64_t train_events);

}  // namespace hotloop
