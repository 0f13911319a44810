// Every member of the family as a short run: whatever must hold for all of them is tested
// over this list.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/train/small_spec.hpp"

namespace hotloop {

struct Variant {
  std::string name;
  std::function<void(TrainSpec&)> change;

  TrainSpec spec() const {
    TrainSpec spec = small_spec();
    spec.name = name;
    change(spec);
    return spec;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Variant& variant) {
  return out << variant.name;
}

inline void become_rollout_learner(TrainSpec& s, Algorithm algorithm) {
  s.algorithm = algorithm;
  s.q.rollout = 8;
  s.q.batch = 16;
  s.q.epochs = 2;
  s.q.train_every = s.q.rollout * s.envs;
  s.q.updates_per_step = 2.0 / 16;
  s.q.learning_starts = 0;
  s.q.target_every = 0;
  if (algorithm != Algorithm::ppo) return;
  s.q.loss = Loss::mse;
  s.q.epsilon = constant(0);
}

inline std::vector<Variant> variants() {
  return {
      {"target", [](TrainSpec&) {}},
      {"vanilla", [](TrainSpec& s) { s.q.target_every = 0; }},
      {"polyak", [](TrainSpec& s) { s.q.target_blend = 0.1; }},
      {"double", [](TrainSpec& s) { s.q.double_q = true; }},
      {"munchausen", [](TrainSpec& s) { s.q.munchausen = 0.9; }},
      {"dueling", [](TrainSpec& s) { s.net.dueling = true; }},
      {"streams",
       [](TrainSpec& s) {
         s.net.dueling = true;
         s.net.dueling_hidden = {16};
         s.net.noisy = Noisy::all;
       }},
      {"n_step", [](TrainSpec& s) { s.q.n_step = 3; }},
      {"prioritised", [](TrainSpec& s) { s.q.prioritised = true; }},
      {"newest", [](TrainSpec& s) { s.q.newest = true; }},
      {"noisy", [](TrainSpec& s) { s.net.noisy = Noisy::all; }},
      {"c51",
       [](TrainSpec& s) {
         s.q.head = HeadKind::c51;
         s.q.atoms = 21;
       }},
      {"quantile",
       [](TrainSpec& s) {
         s.q.head = HeadKind::quantile;
         s.q.atoms = 11;
       }},
      {"layer_norm", [](TrainSpec& s) { s.net.layer_norm = true; }},
      {"boltzmann", [](TrainSpec& s) { s.q.explore = Explore::boltzmann; }},
      {"normalised", [](TrainSpec& s) { s.q.normalise_obs = s.q.normalise_rewards = true; }},
      {"branches",
       [](TrainSpec& s) {
         s.env = "sfc";
         s.env_options = {{"mask", "on"}, {"max_steps", "40"}, {"scale", "on"}};
         s.net.branches = {{"h1", {"dc"}, {"dense 8", "norm tanh"}},
                           {"h2", {"dc_sfc"}, {"dense 4", "flatten", "dense 8"}},
                           {"context", {"h1", "h2"}, {"stack", "attention 5"}},
                           {"all", {"context", "h1", "global"}, {"concat"}}};
         s.net.noisy = Noisy::all;
       }},
      {"repeats",
       [](TrainSpec& s) {
         s.q.updates_per_step = 1;
         s.q.repeats = 4;
       }},
      {"accumulate", [](TrainSpec& s) { s.q.accumulate = 3; }},
      {"pipelined",
       [](TrainSpec& s) {
         s.q.pipelined = true;
         s.q.train_every =
             80;  // long rounds, much learnt in each: whoever acts by other parameters shows it
         s.q.learning_rate = constant(0.01);
       }},
      {"pipelined_everything",
       [](TrainSpec& s) {
         s.q.pipelined = s.q.double_q = s.q.prioritised = s.q.normalise_obs = true;
         s.q.normalise_rewards = s.q.newest = true;
         s.q.n_step = 3;
         s.net.noisy = Noisy::all;
         s.q.target_count = Count::episodes;
         s.q.target_every = 7;
         s.q.learning_rate = linear(1e-3, 1e-4, 2000);
         s.q.train_every = 40;
         s.q.epsilon = linear(1, 0, 900);
         s.q.epsilon.count = Count::updates;
         s.run.threads = 2;
       }},
      {"prioritised_accumulate",
       [](TrainSpec& s) {
         s.q.prioritised = true;
         s.q.accumulate = 2;
       }},
      {"repeats_of_parts",
       [](TrainSpec& s) {
         s.q.prioritised = s.q.truncation_ends = true;
         s.q.repeats = s.q.accumulate = 2;
         s.q.n_step = 3;
         s.q.target_count = Count::updates;
         s.q.target_every = 6;
         s.q.explore_steps = 5;
         s.optimiser.kind = OptimiserKind::rmsprop;
         s.optimiser.momentum = 0.9f;
       }},
      {"masked_priorities",
       [](TrainSpec& s) {
         s.env = "sfc";
         s.env_options = {{"mask", "on"}, {"max_steps", "40"}, {"scale", "on"}};
         s.q.prioritised = s.q.newest = s.q.double_q = true;
         s.q.n_step = 4;
         s.q.explore_steps = 3;
         s.q.target_blend = 0.05;
         s.q.target_every = 3;  // below the number of environments
         s.optimiser.kind = OptimiserKind::sgd;
         s.optimiser.momentum = 0.5f;
       }},
      {"rainbow",
       [](TrainSpec& s) {
         s.q.double_q = s.q.prioritised = s.net.dueling = true;
         s.q.n_step = 3;
         s.q.head = HeadKind::c51;
         s.q.atoms = 21;
         s.net.noisy = Noisy::all;
         s.q.epsilon = constant(0);
       }},
      {"pqn",
       [](TrainSpec& s) {
         become_rollout_learner(s, Algorithm::pqn);
         s.net.layer_norm = true;
       }},
      {"sarsa_noisy",
       [](TrainSpec& s) {
         become_rollout_learner(s, Algorithm::sarsa);
         s.net.noisy = Noisy::all;
         s.q.normalise_obs = true;
       }},
      {"pqn_normalised",
       [](TrainSpec& s) {
         become_rollout_learner(s, Algorithm::pqn);
         s.q.normalise_obs = s.q.normalise_rewards = true;
       }},
      {"ppo",
       [](TrainSpec& s) {
         become_rollout_learner(s, Algorithm::ppo);
         s.net.separate = true;
         s.ppo.entropy = constant(0.01);
       }},
      {"ppo_pendulum",
       [](TrainSpec& s) {
         become_rollout_learner(s, Algorithm::ppo);
         s.env = "pendulum";
         s.q.normalise_obs = s.q.normalise_rewards = true;
         s.ppo.advantages = Standardise::episode;
         s.ppo.value_clip = 0.2;
       }},
      {"ppo_durotaxis",
       [](TrainSpec& s) {
         become_rollout_learner(s, Algorithm::ppo);
         s.env = "durotaxis";
         s.env_options = {{"hard_limit", "24"},
                          {"ratio", "0.7"},
                          {"reward", "normal"},
                          {"scale", "unit"},
                          {"soft_limit", "12"}};
         s.net.branches = {
             {"tokens", {"graph", "nodes", "edges", "parents"}, {"forest 16 rounds 2 groups 4"}},
             {"critic", {"tokens"}, {"row 1", "dense 8"}},
             {"actor", {"tokens"}, {"flatten", "dense 8 gelu", "norm"}}};
         s.net.value_from = "critic";
         s.net.hidden = {};
         s.ppo.deviation = Deviation::network;
         s.ppo.part_weights = {0.4, 0.3, 0.2, 0.2, 0.3};
         s.q.normalise_rewards = true;
       }},
      {"sarsa",
       [](TrainSpec& s) {
         become_rollout_learner(s, Algorithm::sarsa);
         s.q.lambda = 0.5;
       }},
  };
}

}  // namespace hotloop
