// Snake-RL: batched pushes, updates per step, flood fill.
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "bench/claims.hpp"
#include "envs/snake/snake.hpp"
#include "memory/replay.hpp"
#include "reference/item_replay.hpp"
#include "train/trainer.hpp"

namespace hotloop::bench {
namespace {

constexpr int kBoards = 256, kObs = 13, kActions = 3, kBatch = 64;
constexpr std::int64_t kCapacity = 100'000;

// A cycle of vector steps: step t leads from observation t to t + 1.
struct VectorSteps {
  static constexpr int kSteps = 16;
  std::vector<std::vector<float>> obs;  // [kSteps][N * D]
  std::vector<float> rewards;           // [N]
  std::vector<std::int32_t> actions;
  std::vector<std::uint8_t> terminated, truncated;

  VectorSteps() : rewards(kBoards), actions(kBoards), terminated(kBoards), truncated(kBoards) {
    Rng rng(1, Purpose::test, 0, 0);
    for (int t = 0; t < kSteps; ++t) {
      obs.emplace_back(std::size_t{kBoards} * kObs);
      for (float& value : obs.back()) value = static_cast<float>(rng.uniform());
    }
    for (int i = 0; i < kBoards; ++i) {
      rewards[i] = static_cast<float>(rng.uniform());
      actions[i] = static_cast<std::int32_t>(rng.below(kActions));
      terminated[i] = rng.below(30) == 0;
    }
  }
  const std::vector<float>& at(std::int64_t t) const { return obs[t % kSteps]; }
};

struct Pushes {
  VectorSteps steps;
  Replay replay{{.lanes = kBoards, .obs = kObs, .actions = kActions, .capacity = kCapacity},
                kBatch};
  reference::ItemReplay items{kCapacity, kObs, kBatch, 0.99f};
  std::int64_t t = 0, slow_t = 0;

  Pushes() { replay.begin(steps.at(0), {}); }
  void push() {
    replay.push({steps.actions,
                 steps.rewards,
                 steps.terminated,
                 steps.truncated,
                 steps.at(++t),
                 {},
                 {},
                 {}});
  }
  void push_items() {
    const std::vector<float>& obs = steps.at(slow_t++);
    const std::vector<float>& next = steps.at(slow_t);
    for (int i = 0; i < kBoards; ++i) {
      const std::size_t at = std::size_t{kObs} * i;
      items.push(&obs[at], steps.actions[i], steps.rewards[i], &next[at], steps.terminated[i] != 0);
    }
  }
};

// Compares samples from both after the same steps. Both sample the same indices as long as nothing
// is overwritten.
double difference_of_pushes() {
  Pushes fresh;
  for (int i = 0; i < 100; ++i) {
    fresh.push();
    fresh.push_items();
  }
  double largest = 0;
  for (std::uint64_t k = 0; k < 50; ++k) {
    fresh.replay.sample(1, kBatch, 1, k);
    const Batch items = fresh.items.sample(Rng(1, Purpose::replay, 0, k));
    largest = std::max(largest, largest_difference(fresh.replay.batch(0), items, kObs));
  }
  return largest;
}

std::shared_ptr<Trainer> make_trainer(const char* updates_per_step) {
  const std::vector<std::string> overrides = {std::string("algo.updates_per_step=") +
                                              updates_per_step};
  auto trainer = std::make_shared<Trainer>(load_spec("snake_dqn_flood", overrides));
  for (int i = 0; i < 16; ++i) trainer->round();  // 4096 transitions; learning starts with 1000
  return trainer;
}

// 256 boards whose snakes have grown, observed with either flood fill.
struct Boards {
  SnakeArray bits, queue;
  std::vector<float> obs, queue_obs;
  static SnakeRules rules(bool by_queue) {
    return {.obs = SnakeObs::flood, .queue_fill = by_queue};
  }

  Boards()
      : bits(kBoards, rules(false)),
        queue(kBoards, rules(true)),
        obs(std::size_t{kBoards} * kObs),
        queue_obs(obs) {
    const auto reset = [&](int row, std::uint64_t step) {
      Rng rng(1, Purpose::test, row, 0 - step);
      bits.reset(row, rng);
    };
    for (int row = 0; row < kBoards; ++row) reset(row, 0);
    const auto scripts = bits.scripts();
    const auto astar =
        static_cast<int>(std::find(scripts.begin(), scripts.end(), "astar") - scripts.begin());
    std::vector<std::int32_t> actions(kBoards);
    std::vector<float> rewards(kBoards);
    std::vector<std::uint8_t> ended(kBoards);
    for (int t = 1; t <= 200; ++t) {
      bits.play(astar, 0, kBoards, 1, Purpose::exploration, t, actions);
      bits.step(0, kBoards, actions, 1, Purpose::test, t, rewards, ended);
      for (int row = 0; row < kBoards; ++row) {
        if (ended[row] != 0) reset(row, t);
      }
    }
    std::vector<std::byte> saved(bits.row_bytes());
    for (int row = 0; row < kBoards; ++row) {
      bits.save_row(row, saved.data());
      queue.restore_row(row, saved.data());
    }
  }
};

}  // namespace

std::vector<Claim> snake_claims() {
  const auto pushes = std::make_shared<Pushes>();
  const auto often = make_trainer("0.25"), rarely = make_trainer("0.03125");
  const auto boards = std::make_shared<Boards>();
  return {
      {.name = "batched push",
       .system = "Snake",
       .claimed = "2 to 3 x expected, 1.42 x measured (§13)",
       .conditions = "a vector step of 256 boards, 13 values, into 100,000",
       .slow = [=] { pushes->push_items(); },
       .fast = [=] { pushes->push(); },
       .difference = difference_of_pushes},
      {.name = "updates per step",
       .system = "Snake, SFC",
       .claimed =
           "Snake: 64 to 1 13.84 x, 64 to 8 1.3 x (§13); SFC: 5 x by training every 5 steps (§12)",
       .conditions =
           "a vector step of 256 boards with 64 or 8 updates of 64: less learning, not the "
           "same work faster",
       .slow = [=] { often->round(); },
       .fast = [=] { rarely->round(); },
       .difference =
           [] {
             const auto a = make_trainer("0.25"), b = make_trainer("0.03125");
             return largest_difference(a->network().online(), b->network().online());
           },
       .tolerance = 1e-6},
      {.name = "flood fill",
       .system = "Snake",
       .claimed = "2 to 3 x expected of caching (§13)",
       .conditions =
           "observing 256 boards of 10 x 10 after 200 steps, 768 fills by queue or by bits",
       .slow = [=] { boards->queue.observe(0, kBoards, boards->queue_obs); },
       .fast = [=] { boards->bits.observe(0, kBoards, boards->obs); },
       .difference =
           [=] {
             boards->queue.observe(0, kBoards, boards->queue_obs);
             boards->bits.observe(0, kBoards, boards->obs);
             return largest_difference(boards->obs, boards->queue_obs);
           }},
  };
}

}  // namespace hotloop::bench
