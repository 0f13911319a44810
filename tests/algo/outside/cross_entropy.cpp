// An algorithm that is not part of the program: the cross-entropy method (de Boer et al. 2005) on
// the parameters of a policy network, complete in this one file. Nothing in src/ refers to it.
//
//   theta_n ~ N(mu, sigma^2) for each environment n; each acts for a round, R_n is its mean return
//   per episode
//   mu, sigma <- mean and std of the share `elite` of best theta_n;  sigma += extra_std
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algo/common/action_head.hpp"
#include "algo/common/algorithm.hpp"
#include "algo/common/learner_base.hpp"
#include "algo/common/networks.hpp"

namespace hotloop {
namespace {

struct CemOptions {
  int n_steps = 200;  // vector steps in a round
  double elite = 0.25;
  double initial_std = 1, extra_std = 0.05;
};

struct CemReport : UpdateReport {
  double elite_return = 0;
};
constexpr std::array<Column<CemReport>, 2> kColumns = {
    {{"loss", &CemReport::loss}, {"elite_return", &CemReport::elite_return}}};

class CemLearner final : public LearnerBase {
 public:
  CemLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed)
      : LearnerBase(spec, world, seed),
        options_(options_of<CemOptions>(spec)),
        mean_(spec.algorithm->network(spec, world), spec.net.init, spec.optimiser, seed, scale()),
        head_(spec.algorithm->head(spec, world)),
        workspace_(mean_.structure(), 1, Use::inference),
        size_(mean_.online().size()),
        std_(arena_.take<float>(size_)),
        candidates_(arena_.take<float>(size_ * spec.envs)),
        returns_(arena_.take<double>(spec.envs)),
        episodes_(arena_.take<double>(spec.envs)),
        order_(arena_.take<std::int32_t>(spec.envs)) {
    std::fill(std_.begin(), std_.end(), static_cast<float>(options_.initial_std));
    draw(0);
  }

  void begin(std::span<const float>, std::span<const std::uint8_t>) override {}

  void act(std::span<const float> obs, std::span<const std::uint8_t>, std::uint64_t,
           const Counters&, ThreadTeam&, Actions& actions) override {
    const std::size_t width = mean_.structure().inputs;
    for (int env = 0; env < spec_.envs; ++env) {
      forward(mean_.plan(), candidate(env), &obs[env * width], 1, workspace_);
      const PolicyLanes lanes{.outputs = workspace_.outputs(0), .width = kLaneStep, .rows = 1};
      head_->choose(lanes, workspace_.outputs(0), static_cast<std::size_t>(env), nullptr, actions);
    }
  }

  void push(const Transitions& step, Counters&) override {
    for (int env = 0; env < spec_.envs; ++env) {
      returns_[env] += step.rewards[env];
      episodes_[env] += step.terminated[env] | step.truncated[env];
    }
  }

  void learn(Training training) override {
    for (int env = 0; env < spec_.envs; ++env) returns_[env] /= 1 + episodes_[env];
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int a, int b) {
      return returns_[a] != returns_[b] ? returns_[a] > returns_[b] : a < b;
    });
    const int elite = std::max(2, static_cast<int>(options_.elite * spec_.envs));
    for (std::size_t i = 0; i < size_; ++i) {
      double sum = 0, squares = 0;
      for (int e = 0; e < elite; ++e) sum += candidate(order_[e])[i];
      for (int e = 0; e < elite; ++e) {
        const double off = candidate(order_[e])[i] - sum / elite;
        squares += off * off;
      }
      mean_.online()[i] = static_cast<float>(sum / elite);
      std_[i] = static_cast<float>(std::sqrt(squares / elite) + options_.extra_std);
    }
    CemReport report;
    for (int e = 0; e < elite; ++e) report.elite_return += returns_[order_[e]] / elite;
    report.loss = -report.elite_return;
    record(report, kColumns, training);
    ++training.counters.batches;
    std::fill(returns_.begin(), returns_.end(), 0.0);
    std::fill(episodes_.begin(), episodes_.end(), 0.0);
    draw(static_cast<std::uint64_t>(training.counters.updates));
  }

  LearntNetwork& acting() override { return mean_; }
  std::vector<std::string_view> columns() const override { return names(kColumns); }
  Signs signs(const Counters&) override { return {}; }
  void visit(const ArrayVisitor& visitor) override {
    visit_shared(visitor);
    visitor("std", std_, Limits::at_least(0));
    visitor("candidates", candidates_, Limits::finite());
    visitor("returns", returns_, Limits::finite());
    visitor("episodes", episodes_, Limits::count());
  }

 private:
  std::span<float> candidate(int env) { return candidates_.subspan(env * size_, size_); }
  void draw(std::uint64_t round) {
    for (int env = 0; env < spec_.envs; ++env) {
      Rng rng(seed_, Purpose::exploration, static_cast<std::uint32_t>(env), round);
      for (std::size_t i = 0; i < size_; ++i) {
        candidate(env)[i] = mean_.online()[i] + std_[i] * static_cast<float>(rng.normal());
      }
    }
  }

  CemOptions options_;
  LearntNetwork mean_;
  std::shared_ptr<const ActionHead> head_;
  Workspace workspace_;
  Arena arena_;
  std::size_t size_;
  std::span<float> std_;         // [size]
  std::span<float> candidates_;  // [N, size]
  std::span<double> returns_;    // [N] of this round
  std::span<double> episodes_;   // [N] that ended in it
  std::span<std::int32_t> order_;
};

class CrossEntropy final : public Algorithm {
 public:
  std::string_view name() const override { return "test_cem"; }
  std::string_view about() const override { return "the cross-entropy method, from a test"; }
  AlgorithmFacts facts() const override { return {.on_policy = true, .masks = false}; }

  void set_defaults(AgentSpec& spec) const override {
    spec.options = CemOptions{};
    spec.net.hidden = {};
  }
  Keys keys(AgentSpec& spec) const override {
    auto& o = options_of<CemOptions>(spec);
    return {{"algo.n_steps", &o.n_steps, {1, 1'000'000}, "vector steps in a round"},
            {"algo.elite", &o.elite, {0, 1, true}, "share of candidates that the next follow"},
            {"algo.initial_std", &o.initial_std, {0, 100, true}, "of the first candidates"},
            {"algo.extra_std", &o.extra_std, {0, 100}, "added to that of the elite"},
            {"algo.batch_norm", &spec.net.batch_norm, {}, "batch norm in the policy"}};
  }
  void derive(AgentSpec& spec) const override {
    spec.learn.train_every = std::int64_t{options_of<CemOptions>(spec).n_steps} * spec.envs;
    spec.learn.updates_per_step = 1 / static_cast<double>(spec.learn.train_every);
  }
  void check(const AgentSpec& spec, Violations& violations) const override {
    violations.blame_if(spec.envs < 4, "env.count", "fewer than four candidates have no elite");
  }
  std::string describe(const AgentSpec&) const override { return "cross-entropy method"; }

  std::unique_ptr<Learner> make_learner(const AgentSpec& spec, const WorldFacts& world,
                                        std::uint64_t seed) const override {
    return std::make_unique<CemLearner>(spec, world, seed);
  }
  Structure network(const AgentSpec& spec, const WorldFacts& world) const override {
    return q_structure(spec, world, {.actions = world.spec.actions});
  }
  std::shared_ptr<const ActionHead> head(const AgentSpec&, const WorldFacts& world) const override {
    return std::make_shared<GreedyHead>(QHead{.actions = world.spec.actions});
  }
  MemoryNeed memory_need(const AgentSpec& spec, const WorldFacts& world) const override {
    return {.network = 4.0 * static_cast<double>(network(spec, world).storage) * spec.envs};
  }
  std::string describe_memory(const AgentSpec& spec, const WorldFacts&) const override {
    return fmt::format("{} candidates", spec.envs);
  }
  std::string too_large(const AgentSpec&, const WorldFacts&, double) const override {
    return "env.count: too many candidates for this machine";
  }
  LearningWork work(const AgentSpec& spec, const WorldFacts& world) const override {
    return {.acting = network(spec, world)};
  }
  std::vector<std::string> with_envs(const AgentSpec&, int) const override { return {}; }
};

HOTLOOP_ALGORITHM(CrossEntropy)

}  // namespace
}  // namespace hotloop
