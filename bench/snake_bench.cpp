// hotloop bench snake: why was training Snake slow?
//
// Carries out the plan of Snake-RL's performance note: its loop with one thing changed at a time.
// All cases play with a network that has learnt a little (an untrained network's boards are
// emptier, so flood fills are cheaper). They are interleaved, and count transitions and updates,
// not episodes. The last rows follow the standard loop from the start: the note compared times per
// episode, and episodes get longer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>

#include "algo/dqn/dqn.hpp"
#include "bench/benchmarks.hpp"
#include "core/phase_clock.hpp"
#include "env/batch_env.hpp"
#include "envs/snake/snake.hpp"
#include "reference/item_replay.hpp"

namespace hotloop::bench {
namespace {

enum class Flood { off, queue, bits };

struct Case {
  const char* name;
  int boards = 256;
  int updates = 8;  // per vector step
  Flood flood = Flood::bits;
  bool per_item = false;  // push transition by transition
  bool logging = false;   // a flushed line of text per vector step
};

constexpr Case kCases[] = {
    {.name = "standard"},
    {.name = "per-item push", .per_item = true},
    {.name = "64 updates", .updates = 64},
    {.name = "16 updates", .updates = 16},
    {.name = "4 updates", .updates = 4},
    {.name = "1 update", .updates = 1},
    {.name = "32 boards", .boards = 32, .updates = 1},
    {.name = "64 boards", .boards = 64, .updates = 2},
    {.name = "1024 boards", .boards = 1024, .updates = 32},
    {.name = "flood off", .flood = Flood::off},
    {.name = "flood by queue", .flood = Flood::queue},
    {.name = "logging", .logging = true},
    {.name = "the note's", .updates = 64, .flood = Flood::queue, .per_item = true, .logging = true},
};

std::unique_ptr<WorldArray> make_boards(const Case& c) {
  return std::make_unique<SnakeArray>(
      c.boards, SnakeRules{.obs = c.flood == Flood::off ? SnakeObs::basic : SnakeObs::flood,
                           .food_under_head = true,
                           .lethal_tail = true,
                           .post_turn_trap = true,
                           .timeout_ends = true,
                           .timeout_reward = -5,
                           .queue_fill = c.flood == Flood::queue});
}

// Snake-RL's loop (profile H), made of the engine's parts.
class Loop {
 public:
  explicit Loop(const Case& chosen)
      : case_(chosen),
        env_(make_boards(chosen), chosen.boards, 1, Purpose::world),
        inputs_(env_.spec().obs),
        spec_(make_spec(chosen)),
        dqn_(make_mlp(inputs_, 3, {.hidden = {128, 128}}), spec_, 1),
        replay_({.lanes = chosen.boards, .obs = inputs_, .actions = 3, .capacity = kCapacity},
                std::int64_t{kBatch} * kMaxUpdates),
        items_(kCapacity, inputs_, kBatch, static_cast<float>(spec_.learn.gamma)),
        actions_(chosen.boards),
        obs_(env_.obs().begin(), env_.obs().end()),
        log_(std::tmpfile(), &std::fclose) {
    replay_.begin(env_.obs(), {});
  }

  // Plays and learns up to this many transitions.
  void run(std::int64_t transitions, int updates) {
    while (transitions_ < transitions) step(updates);
  }
  void run(std::int64_t transitions) { run(transitions, case_.updates); }

  const Case& what() const { return case_; }
  std::int64_t transitions() const { return transitions_; }
  std::int64_t updates() const { return updates_; }
  std::int64_t episodes() const { return episodes_; }
  PhaseClock& clock() { return clock_; }

 private:
  static constexpr int kBatch = 64, kMaxUpdates = 64;
  static constexpr std::int64_t kCapacity = 100'000, kTargetEvery = 32'000;

  static AgentSpec make_spec(const Case& c) {
    AgentSpec spec;
    spec.envs = c.boards;
    spec.options = DqnOptions{};
    spec.learn.batch = kBatch;
    spec.optimiser.max_grad_norm = 1;
    return spec;
  }

  void step(int updates) {
    const auto before = transitions_;
    clock_.enter(Phase::act_forward);
    const double epsilon = std::max(0.01, 1 - static_cast<double>(before) / 20'000);
    dqn_.network().act(env_.obs(), {}, {.epsilon = epsilon}, env_.steps(), team_, actions_);
    clock_.enter(Phase::env_step);
    env_.step(actions_, team_);
    clock_.enter(Phase::memory_push);
    transitions_ += case_.boards;
    episodes_ += static_cast<std::int64_t>(env_.finished().size());
    case_.per_item ? push_items() : push();
    if (transitions_ >= 1'000) learn(updates);
    if (before / kTargetEvery != transitions_ / kTargetEvery) dqn_.sync_target();
    clock_.enter(Phase::log);
    if (case_.logging) {
      fmt::print(log_.get(), "step {} episodes {} loss {:.6g}\n", transitions_, episodes_, loss_);
      std::fflush(log_.get());
    }
    clock_.enter(Phase::other);  // other loops run next
  }

  void push() {
    replay_.push({actions_,
                  env_.rewards(),
                  env_.terminated(),
                  env_.truncated(),
                  env_.obs(),
                  {},
                  env_.final_obs(),
                  {}});
  }
  void push_items() {
    for (int row = 0; row < case_.boards; ++row) {
      const std::size_t at = static_cast<std::size_t>(row) * inputs_;
      items_.push(&obs_[at], actions_[row], env_.rewards()[row], &env_.obs()[at],
                  env_.terminated()[row] != 0);
    }
    std::copy(env_.obs().begin(), env_.obs().end(), obs_.begin());
  }

  void learn(int updates) {
    const auto first = static_cast<std::uint64_t>(updates_);
    if (!case_.per_item) {
      clock_.enter(Phase::memory_draw);
      replay_.sample(updates, kBatch, 1, first);
    }
    for (int k = 0; k < updates; ++k, ++updates_) {
      clock_.enter(Phase::memory_draw);
      const Batch batch =
          case_.per_item ? items_.sample(Rng(1, Purpose::replay, 0, first + k)) : replay_.batch(k);
      clock_.enter(Phase::learn_forward);
      loss_ = dqn_.update(batch, 1e-3, team_).loss;
    }
  }

  Case case_;
  BatchEnv env_;
  int inputs_;
  AgentSpec spec_;
  Dqn dqn_;
  Replay replay_;
  reference::ItemReplay items_;
  ThreadTeam team_{1};
  PhaseClock clock_;
  std::vector<std::int32_t> actions_;  // [N]
  std::vector<float> obs_;             // [N, D] before the step
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> log_;
  std::int64_t transitions_ = 0, updates_ = 0, episodes_ = 0;
  double loss_ = 0;
};

// Measures a loop since the last restart().
class Stopwatch {
 public:
  explicit Stopwatch(Loop& loop) : loop_(loop) { restart(); }

  void restart() {
    start_ = std::chrono::steady_clock::now();
    transitions_ = loop_.transitions();
    updates_ = loop_.updates();
    episodes_ = loop_.episodes();
    phases_ = loop_.clock().seconds();
  }
  double transitions_per_second() const {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
    return static_cast<double>(loop_.transitions() - transitions_) / time.count();
  }
  Json row(std::string_view name, double rate) {
    const auto transitions = static_cast<double>(loop_.transitions() - transitions_);
    const auto episodes = static_cast<double>(loop_.episodes() - episodes_);
    const auto now = loop_.clock().seconds();
    double total = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(Phase::other); ++i) {
      total += now[i] - phases_[i];
    }
    Json row = {{"name", name},
                {"boards", loop_.what().boards},
                {"transitions_per_second", rate},
                {"updates_per_second",
                 rate * static_cast<double>(loop_.updates() - updates_) / transitions},
                {"episodes_per_second", rate * episodes / transitions},
                {"episode_length", transitions / episodes}};
    for (const auto& [phase, title] :
         {std::pair{Phase::act_forward, "act"}, std::pair{Phase::env_step, "step"},
          std::pair{Phase::memory_push, "push"}, std::pair{Phase::memory_draw, "sample"},
          std::pair{Phase::learn_forward, "learn"}, std::pair{Phase::log, "log"}}) {
      const auto i = static_cast<std::size_t>(phase);
      row[title] = (now[i] - phases_[i]) / total;
    }
    return row;
  }

 private:
  Loop& loop_;
  std::chrono::steady_clock::time_point start_;
  std::int64_t transitions_ = 0, updates_ = 0, episodes_ = 0;
  PhaseSeconds phases_{};
};

}  // namespace

Json snake_benchmark() {
  constexpr std::int64_t kWarmUp = 200'000, kPart = 1024 * 20;
  constexpr int kTurns = 7;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<Stopwatch> watches;
  for (const Case& c : kCases) {
    loops.push_back(std::make_unique<Loop>(c));
    loops.back()->run(kWarmUp, std::max(1, c.boards / 32));
    watches.emplace_back(*loops.back());
  }
  std::vector<std::vector<double>> rates(loops.size());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const Stopwatch watch(*loops[i]);
      loops[i]->run(loops[i]->transitions() + kPart);
      rates[i].push_back(watch.transitions_per_second());
    }
  }
  Json rows = Json::array();
  for (std::size_t i = 0; i < loops.size(); ++i) {
    std::sort(rates[i].begin(), rates[i].end());
    rows.push_back(watches[i].row(kCases[i].name, rates[i][kTurns / 2]));
    rows.back()["spread"] =
        (rates[i][kTurns * 3 / 4] - rates[i][kTurns / 4]) / rates[i][kTurns / 2];
  }
  Loop growing(kCases[0]);
  Stopwatch watch(growing);
  for (int part = 1; part <= 6; ++part) {
    watch.restart();
    growing.run(part * std::int64_t{100'000});
    rows.push_back(watch.row(fmt::format("up to {}00k", part), watch.transitions_per_second()));
    rows.back()["spread"] = nullptr;
  }
  return rows;
}

}  // namespace hotloop::bench
