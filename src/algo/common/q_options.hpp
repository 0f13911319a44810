// Every hyper-parameter of the Q-learning family, documented where it is declared. The switches are
// independent of each other; spec_violations (src/run) refuses what makes no sense.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/schedule.hpp"

namespace hotloop {

enum class Loss { mse, huber };
inline constexpr std::array<std::string_view, 2> kLossNames = {"mse", "huber"};

// What the network says about an action: its value; a distribution over fixed returns (C51,
// Bellemare et al. 2017); quantiles of the return (QR-DQN, Dabney et al. 2018).
enum class HeadKind { scalar, c51, quantile };
inline constexpr std::array<std::string_view, 3> kHeadNames = {"scalar", "c51", "quantile"};

enum class Explore { epsilon_greedy, boltzmann };
inline constexpr std::array<std::string_view, 2> kExploreNames = {"epsilon_greedy", "boltzmann"};

struct QOptions {
  double gamma = 0.99;
  Loss loss = Loss::huber;
  Schedule learning_rate = constant(1e-3);

  // Exploration, a separate draw per environment.
  Explore explore = Explore::epsilon_greedy;
  Schedule epsilon = linear(1, 0.05, 10'000);  // share of random actions
  int explore_steps = 1;                       // vector steps for which one is kept
  Schedule temperature = constant(1);          // boltzmann: actions ~ softmax(Q / temperature)

  // Statistics that live in the model and are frozen in evaluation.
  bool normalise_obs = false;
  bool normalise_rewards = false;

  // How much is learnt, and when.
  int batch = 64;
  std::int64_t learning_starts = 1'000;  // env steps of pure collection first
  double updates_per_step = 1;           // gradient updates per env step from then on
  std::int64_t train_every = 1;          // env steps in a round; its updates follow at once
  std::int64_t train_offset = 0;         // rounds end this many env steps after the multiples
  int repeats = 1;                       // updates in a row on each drawn batch
  int accumulate = 1;                    // batches whose mean gradient makes one update
  bool pipelined = false;  // dqn: the next round is collected while this one is learnt

  // What is learnt (dqn).
  bool double_q = false;
  int n_step = 1;
  HeadKind head = HeadKind::scalar;
  int atoms = 51;                    // of the heads c51 and quantile
  double v_min = -100, v_max = 100;  // c51: the fixed returns reach from here to there
  std::int64_t target_every = 500;   // how often the target network follows; 0 = there is none
  Count target_count = Count::steps;
  double target_blend = 1;  // 1 = hard copy; below, the online share of a Polyak blend

  double munchausen = 0;  // share of the log-policy that is added to rewards; 0 = none
  double munchausen_temperature = 0.03, munchausen_clip = -1;

  bool truncation_ends = false;  // a cut episode counts as one that ended: nothing is bootstrapped

  // What is remembered (dqn).
  std::int64_t replay_capacity = 100'000;  // transitions, all environments together
  bool newest = false;                     // the newest transitions are in every batch
  bool prioritised = false;
  double priority_alpha = 0.6, priority_epsilon = 1e-4;
  Schedule beta = linear(0.4, 1, 100'000);  // exponent of the importance weights

  // On-policy learning (pqn, sarsa, ppo).
  int rollout = 32;      // vector steps in a round
  int epochs = 2;        // passes over a round's transitions, in batches
  double lambda = 0.65;  // mixes one-step and longer returns
};

}  // namespace hotloop
