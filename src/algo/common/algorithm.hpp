// The interface of an algorithm: everything that the rest of the program knows about it.
//
// An algorithm is a folder with one class derived from Algorithm, registered there:
//
//   HOTLOOP_ALGORITHM(Dqn)
//
// Code outside the folder asks for its facts, keys and learner, never for its name. To add one,
// derive and register: reading and writing specs, training, checkpoints, metrics, evaluation,
// profile and doctor only use this interface.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algo/common/agent_spec.hpp"
#include "algo/common/key.hpp"
#include "core/phase_clock.hpp"
#include "env/world_facts.hpp"
#include "net/structure.hpp"

namespace hotloop {

class ActionHead;
class Learner;

struct AlgorithmFacts {
  bool on_policy = false;      // learns from the latest rollout, then discards it
  bool discrete = true;        // supports discrete actions
  bool continuous = false;     // supports continuous actions
  bool masks = true;           // never takes a masked action
  bool pipelines = false;      // can collect the next round while learning from this one
  bool action_values = false;  // its network computes Q(s, a): dueling and noisy layers make sense
  bool actor_critic = false;   // its network computes a policy and values, shared or separate
  // If the user names no algorithm, the suitable one with the highest rank is used.
  int default_rank = 0;
};

// Bytes that training needs; large parts only.
struct MemoryNeed {
  double experience = 0;  // replay or rollout
  double network = 0;     // parameters, gradients and workspaces
};
inline constexpr double kMaxShareOfMemory = 0.9;  // of the machine's memory

// The amount of work in each phase of learning, from which profiles compute rates.
struct LearningWork {
  Structure acting;                 // the part of the network needed to act
  int rows_at_once = 128;           // of a batch, by a thread in one visit
  bool shares_batches = false;      // whether several threads share a batch
  double target_passes = 1;         // forward passes per visit of phase learn/target
  double bytes_per_transition = 0;  // in replay or rollout
  double drawn_per_update = 0;      // transitions
  // Operations per row in a visit to a phase, where they do not follow from the acting network.
  struct RowFlop {
    Phase phase;
    double flop;
  };
  std::vector<RowFlop> row_flop = {};
  double parameters = 0;  // floats of all trained networks; 0 = those of the acting network
};

// A change that the doctor may try.
struct Proposal {
  std::string title;                   // "half the batch"
  std::vector<std::string> overrides;  // spec overrides: "algo.batch=32"
  std::vector<std::string> phases;     // that it should speed up: "learn", "memory/draw"
};
// Share of wall time of a phase, or of the whole group if `part` is empty.
using PhaseShare = std::function<double(std::string_view group, std::string_view part)>;

// Signs that learning fails: see train/health.hpp.
enum class Sign {
  diverging,
  no_gap,
  no_terminals,
  target_lag,
  gradient,
  support_edge,
  critic_bias
};
inline constexpr int kSignCount = 7;

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  virtual std::string_view name() const = 0;   // algo.name
  virtual std::string_view about() const = 0;  // one line
  virtual AlgorithmFacts facts() const = 0;

  // --- In a spec
  // Sets its own options, and its defaults for the shared ones.
  virtual void set_defaults(AgentSpec& spec) const = 0;
  // The keys of groups algo and replay, in the order they are written.
  virtual Keys keys(AgentSpec& spec) const = 0;
  // Sets what is derived from the keys, after all have been read.
  virtual void derive(AgentSpec& /*spec*/) const {}
  // Reports combinations of keys that make no sense.
  virtual void check(const AgentSpec& /*spec*/, Violations& /*violations*/) const {}
  // Throws UsageError if it cannot learn in this environment. The kind of actions has already been
  // checked.
  virtual void check_world(const AgentSpec& /*spec*/, std::string_view /*env*/,
                           const WorldFacts& /*world*/) const {}
  // The variant in a few words: "double dueling 3-step dqn, prioritised".
  virtual std::string describe(const AgentSpec& spec) const = 0;

  // --- Training
  virtual std::unique_ptr<Learner> make_learner(const AgentSpec& spec, const WorldFacts& world,
                                                std::uint64_t seed) const = 0;
  // The network that acts, and what its outputs mean.
  virtual Structure network(const AgentSpec& spec, const WorldFacts& world) const = 0;
  virtual std::shared_ptr<const ActionHead> head(const AgentSpec& spec,
                                                 const WorldFacts& world) const = 0;
  virtual MemoryNeed memory_need(const AgentSpec& spec, const WorldFacts& world) const = 0;
  virtual std::string describe_memory(const AgentSpec& spec, const WorldFacts& world) const = 0;
  // The transitions that its replay holds; 0 = it has no replay, and takes no demonstrations.
  virtual std::int64_t replay_capacity(const AgentSpec& /*spec*/) const { return 0; }
  // The error message if memory_need() exceeds `available` bytes.
  virtual std::string too_large(const AgentSpec& spec, const WorldFacts& world,
                                double available) const = 0;

  // --- For profile and doctor
  virtual LearningWork work(const AgentSpec& spec, const WorldFacts& world) const = 0;
  virtual std::vector<Proposal> remedies(const AgentSpec& /*spec*/,
                                         const PhaseShare& /*share*/) const {
    return {};
  }
  // Overrides besides env.count that keep the updates per step the same with `envs` environments.
  virtual std::vector<std::string> with_envs(const AgentSpec& spec, int envs) const = 0;
  // The key that sets the number of updates per env step.
  virtual std::string_view updates_key() const { return "algo.updates_per_step"; }
  // What to try when a sign is bad: "a smaller optimiser.learning_rate".
  virtual std::string advice(Sign sign, const AgentSpec& spec) const;
  // Epsilon, the share of random actions, if it explores that way; otherwise null.
  virtual const Schedule* random_actions(const AgentSpec& /*spec*/) const { return nullptr; }
};

// Registered algorithms, sorted by name. Built-in ones are registered before main().
void add_algorithm(std::unique_ptr<Algorithm> algorithm);
std::vector<const Algorithm*> algorithms();
std::vector<std::string_view> algorithm_names();
const Algorithm* look_up_algorithm(std::string_view name);  // null if unknown
const Algorithm& find_algorithm(std::string_view name);     // throws UsageError if unknown
const Algorithm& default_algorithm();                       // if none is named
const Algorithm& default_algorithm(
    const EnvSpec& env);  // if none is named, for its kind of actions

// Selects the algorithm and sets its defaults.
void use_algorithm(AgentSpec& spec, const Algorithm& algorithm);

struct AlgorithmRegistration {
  explicit AlgorithmRegistration(std::unique_ptr<Algorithm> algorithm) {
    add_algorithm(std::move(algorithm));
  }
};
#define HOTLOOP_ALGORITHM(Type) \
  const ::hotloop::AlgorithmRegistration kRegistered##Type{std::make_unique<Type>()};

}  // namespace hotloop
