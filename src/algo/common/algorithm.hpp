// The algorithm seam: all that the rest of the program knows of an algorithm.
//
// An algorithm is a folder with one class derived from Algorithm, registered there:
//
//   HOTLOOP_ALGORITHM(Dqn)
//
// Nobody outside the folder asks for its name; they ask for its facts, its keys, its learner. To add
// one, derive and register: reading and writing specs, training, checkpoints, metrics, evaluation,
// profile and doctor work from what is stated here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algo/common/agent_spec.hpp"
#include "algo/common/key.hpp"
#include "env/world_facts.hpp"
#include "net/structure.hpp"

namespace hotloop {

class ActionHead;
class Learner;

struct AlgorithmFacts {
  bool on_policy = false;      // learns from the latest rollout, then forgets it
  bool discrete = true;        // can choose among discrete actions
  bool continuous = false;     // can choose continuous actions
  bool masks = true;           // never takes an action that is masked
  bool pipelines = false;      // can collect the next round while it learns from this one
  bool action_values = false;  // its network says Q(s, a): dueling and noisy layers make sense
  bool actor_critic = false;   // its network has a policy and values, which may be separate
  // Rank among those that suit an environment, where the user names no algorithm.
  int general = 0;
};

// Bytes that training takes, the large parts of them.
struct MemoryNeed {
  double experience = 0;  // what it learns from
  double network = 0;     // the network at work
};
inline constexpr double kMaxShareOfMemory = 0.9;  // of the machine's

// What a phase of learning has to do, for rates in profiles.
struct LearningWork {
  Structure acting;                  // what is computed to act
  int shard = 128;                   // rows of a batch that pass through the network in one visit
  bool shards_in_one_visit = false;  // backward: all shards of a thread in one visit
  int min_rows_per_thread = 128;     // rows of a batch that one thread learns, at least
  double target_passes = 1;          // forward passes in a visit to learn/target
  double bytes_per_transition = 0;   // of the memory
  double drawn_per_update = 0;       // transitions
};

// Something the doctor may try.
struct Proposal {
  std::string title;                   // "half the batch"
  std::vector<std::string> overrides;  // of the spec: "algo.batch=32"
  std::vector<std::string> phases;     // that it is about: "learn", "memory/draw"
};
// Share of wall time of a phase or, without a part, of a group of phases.
using PhaseShare = std::function<double(std::string_view group, std::string_view part)>;

// Signs that learning fails: see train/health.hpp.
enum class Sign { diverging, no_gap, no_endings, target_lag, gradient, pressed };
inline constexpr int kSignCount = 6;

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  virtual std::string_view name() const = 0;   // algo.name
  virtual std::string_view about() const = 0;  // one line
  virtual AlgorithmFacts facts() const = 0;

  // --- In a spec
  // Its own options, and its defaults for what all algorithms share.
  virtual void set_defaults(AgentSpec& spec) const = 0;
  // The keys of groups algo and replay, in the order in which they are written.
  virtual Keys keys(AgentSpec& spec) const = 0;
  // What follows from the keys, after all were read.
  virtual void derive(AgentSpec& /*spec*/) const {}
  // Combinations that make no sense.
  virtual void check(const AgentSpec& /*spec*/, Violations& /*violations*/) const {}
  // Throws UsageError if it cannot learn in this environment; that actions are of the right kind has
  // been checked.
  virtual void check_world(const AgentSpec& /*spec*/, std::string_view /*env*/,
                           const WorldFacts& /*world*/) const {}
  // What its switches make of it, in a few words: "double dueling 3-step dqn, prioritised".
  virtual std::string describe(const AgentSpec& spec) const = 0;

  // --- At work
  virtual std::unique_ptr<Learner> make_learner(const AgentSpec& spec, const WorldFacts& world,
                                                std::uint64_t seed) const = 0;
  // The network that acts, and what its outputs mean.
  virtual Structure network(const AgentSpec& spec, const WorldFacts& world) const = 0;
  virtual std::shared_ptr<const ActionHead> head(const AgentSpec& spec,
                                                 const WorldFacts& world) const = 0;
  virtual MemoryNeed memory_need(const AgentSpec& spec, const WorldFacts& world) const = 0;
  virtual std::string describe_memory(const AgentSpec& spec, const WorldFacts& world) const = 0;
  // The message if that does not fit into this many bytes.
  virtual std::string too_large(const AgentSpec& spec, const WorldFacts& world,
                                double available) const = 0;

  // --- What it says of itself
  virtual LearningWork work(const AgentSpec& spec, const WorldFacts& world) const = 0;
  virtual std::vector<Proposal> remedies(const AgentSpec& /*spec*/,
                                         const PhaseShare& /*share*/) const {
    return {};
  }
  // With four times the environments and the same updates per step: the overrides beside env.count.
  virtual std::vector<std::string> with_envs(const AgentSpec& spec, int envs) const = 0;
  // The key that says how much is learnt from each step.
  virtual std::string_view updates_key() const { return "algo.updates_per_step"; }
  // What to try when a sign is bad: "a smaller optimiser.learning_rate".
  virtual std::string advice(Sign sign, const AgentSpec& spec) const;
  // The share of random actions, if that is how it explores; else null.
  virtual const Schedule* random_actions(const AgentSpec& /*spec*/) const { return nullptr; }
};

// Registered algorithms, by name. The program's own register before main.
void add_algorithm(std::unique_ptr<Algorithm> algorithm);
std::vector<const Algorithm*> algorithms();
std::vector<std::string_view> algorithm_names();
const Algorithm* look_up_algorithm(std::string_view name);  // null if it is unknown
const Algorithm& find_algorithm(std::string_view name);     // throws UsageError if it is unknown
const Algorithm& default_algorithm();                       // where nothing is said
const Algorithm& default_algorithm(const EnvSpec& env);     // of those that suit it

// The defaults of an algorithm for all that it decides.
void use_algorithm(AgentSpec& spec, const Algorithm& algorithm);

struct AlgorithmRegistration {
  explicit AlgorithmRegistration(std::unique_ptr<Algorithm> algorithm) {
    add_algorithm(std::move(algorithm));
  }
};
#define HOTLOOP_ALGORITHM(Type) \
  const ::hotloop::AlgorithmRegistration kRegistered##Type{std::make_unique<Type>()};

}  // namespace hotloop
