// A short run of every variant of every algorithm. Tests of what must hold for all of them use this
// list.
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

// With the optimiser, exploration and networks of small_spec().
inline void become_rollout_learner(TrainSpec& s, std::string_view algorithm) {
  const NetOptions net = s.net;
  use_algorithm(s, find_algorithm(algorithm));
  s.net = net;
  s.optimiser = {};
  s.learn.normalise_rewards = false;
  rollout(s) = {.n_steps = 8, .n_epochs = 2, .lambda = 0.65};
  s.learn.batch = 16;
  s.algorithm->derive(s);
}

// On pendulum, with the rounds and network of small_spec().
inline ContinuousOptions& become_continuous(TrainSpec& s, std::string_view algorithm) {
  const LearningOptions learn = s.learn;
  const NetOptions net = s.net;
  use_algorithm(s, find_algorithm(algorithm));
  s.env = "pendulum";
  s.learn = learn;
  s.net = net;
  ContinuousOptions& shared = algorithm == "sac" ? static_cast<ContinuousOptions&>(sac(s)) : td3(s);
  shared.replay.capacity = 1000;
  shared.random_steps = 100;
  return shared;
}

inline std::vector<Variant> variants() {
  return {
      {"target", [](TrainSpec&) {}},
      {"vanilla", [](TrainSpec& s) { dqn(s).target.every = 0; }},
      {"polyak", [](TrainSpec& s) { dqn(s).target.tau = 0.1; }},
      {"double", [](TrainSpec& s) { dqn(s).double_q = true; }},
      {"munchausen", [](TrainSpec& s) { dqn(s).munchausen.alpha = 0.9; }},
      {"dueling", [](TrainSpec& s) { s.net.dueling = true; }},
      {"streams",
       [](TrainSpec& s) {
         s.net.dueling = true;
         s.net.dueling_hidden = {16};
         s.net.noisy = Noisy::all;
       }},
      {"n_step", [](TrainSpec& s) { dqn(s).n_step = 3; }},
      {"prioritised", [](TrainSpec& s) { dqn(s).replay.prioritised = true; }},
      {"newest", [](TrainSpec& s) { dqn(s).replay.newest = true; }},
      {"noisy", [](TrainSpec& s) { s.net.noisy = Noisy::all; }},
      {"c51",
       [](TrainSpec& s) {
         dqn(s).head.kind = HeadKind::c51;
         dqn(s).head.atoms = 21;
       }},
      {"quantile",
       [](TrainSpec& s) {
         dqn(s).head.kind = HeadKind::quantile;
         dqn(s).head.atoms = 11;
       }},
      {"layer_norm", [](TrainSpec& s) { s.net.layer_norm = true; }},
      {"boltzmann", [](TrainSpec& s) { dqn(s).explore.kind = Explore::boltzmann; }},
      {"normalised",
       [](TrainSpec& s) { s.learn.normalise_obs = s.learn.normalise_rewards = true; }},
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
         s.learn.updates_per_step = 1;
         dqn(s).repeats = 4;
       }},
      {"accumulate", [](TrainSpec& s) { s.learn.accumulate = 3; }},
      {"pipelined",
       [](TrainSpec& s) {
         s.learn.pipelined = true;
         s.learn.train_every =
             80;  // long rounds with many updates, so acting with wrong parameters shows
         s.optimiser.learning_rate = constant(0.01);
       }},
      {"pipelined_everything",
       [](TrainSpec& s) {
         s.learn.pipelined = dqn(s).double_q = dqn(s).replay.prioritised = s.learn.normalise_obs =
             true;
         s.learn.normalise_rewards = dqn(s).replay.newest = true;
         dqn(s).n_step = 3;
         s.net.noisy = Noisy::all;
         dqn(s).target.count = Count::episodes;
         dqn(s).target.every = 7;
         s.optimiser.learning_rate = linear(1e-3, 1e-4, 2000);
         s.learn.train_every = 40;
         dqn(s).explore.epsilon = linear(1, 0, 900);
         dqn(s).explore.epsilon.count = Count::updates;
         s.threads = 2;
       }},
      {"prioritised_accumulate",
       [](TrainSpec& s) {
         dqn(s).replay.prioritised = true;
         s.learn.accumulate = 2;
       }},
      {"repeats_of_parts",
       [](TrainSpec& s) {
         dqn(s).replay.prioritised = dqn(s).truncation_ends = true;
         dqn(s).repeats = s.learn.accumulate = 2;
         dqn(s).n_step = 3;
         dqn(s).target.count = Count::updates;
         dqn(s).target.every = 6;
         dqn(s).explore.steps = 5;
         s.optimiser.kind = OptimiserKind::rmsprop;
         s.optimiser.momentum = 0.9f;
       }},
      {"masked_priorities",
       [](TrainSpec& s) {
         s.env = "sfc";
         s.env_options = {{"mask", "on"}, {"max_steps", "40"}, {"scale", "on"}};
         dqn(s).replay.prioritised = dqn(s).replay.newest = dqn(s).double_q = true;
         dqn(s).n_step = 4;
         dqn(s).explore.steps = 3;
         dqn(s).target.tau = 0.05;
         dqn(s).target.every = 3;  // below the number of environments
         s.optimiser.kind = OptimiserKind::sgd;
         s.optimiser.momentum = 0.5f;
       }},
      {"rainbow",
       [](TrainSpec& s) {
         dqn(s).double_q = dqn(s).replay.prioritised = s.net.dueling = true;
         dqn(s).n_step = 3;
         dqn(s).head.kind = HeadKind::c51;
         dqn(s).head.atoms = 21;
         s.net.noisy = Noisy::all;
         dqn(s).explore.epsilon = constant(0);
       }},
      {"pqn",
       [](TrainSpec& s) {
         become_rollout_learner(s, "pqn");
         s.net.layer_norm = true;
       }},
      {"sarsa_noisy",
       [](TrainSpec& s) {
         become_rollout_learner(s, "sarsa");
         s.net.noisy = Noisy::all;
         s.learn.normalise_obs = true;
       }},
      {"pqn_normalised",
       [](TrainSpec& s) {
         become_rollout_learner(s, "pqn");
         s.learn.normalise_obs = s.learn.normalise_rewards = true;
       }},
      {"ppo",
       [](TrainSpec& s) {
         become_rollout_learner(s, "ppo");
         s.net.separate = true;
         ppo(s).ent_coef = constant(0.01);
       }},
      {"ppo_pendulum",
       [](TrainSpec& s) {
         become_rollout_learner(s, "ppo");
         s.env = "pendulum";
         s.learn.normalise_obs = s.learn.normalise_rewards = true;
         ppo(s).advantages = Standardise::episode;
         ppo(s).clip_range_vf = 0.2;
       }},
      {"ppo_durotaxis",
       [](TrainSpec& s) {
         become_rollout_learner(s, "ppo");
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
         ppo(s).std_source = StdSource::network;
         ppo(s).part_weights = {0.4, 0.3, 0.2, 0.2, 0.3};
         s.learn.normalise_rewards = true;
       }},
      {"sarsa",
       [](TrainSpec& s) {
         become_rollout_learner(s, "sarsa");
         rollout(s).lambda = 0.5;
       }},
      {"sac", [](TrainSpec& s) { become_continuous(s, "sac"); }},
      {"sac_redq",
       [](TrainSpec& s) {
         become_continuous(s, "sac").critics = {
             .count = 5, .in_target = 2, .layer_norm = true, .actor_value = ActorValue::mean};
         s.learn.normalise_obs = s.learn.normalise_rewards = true;
       }},
      {"sac_quantiles",
       [](TrainSpec& s) {
         ContinuousOptions& o = become_continuous(s, "sac");
         o.critics = {.quantiles = 7, .dropped = 2, .hidden = {16, 16}};
         o.critics.actor_value = ActorValue::mean;
         o.n_step = 3;
         o.replay.prioritised = o.replay.newest = true;
         sac(s).ent_coef = 0.2;
       }},
      {"sac_pipelined",
       [](TrainSpec& s) {
         become_continuous(s, "sac");
         s.learn.pipelined = true;
         s.learn.train_every = 80;
         s.threads = 2;
       }},
      {"sac_droq",
       [](TrainSpec& s) {
         become_continuous(s, "sac").critics = {.layer_norm = true, .dropout = 0.1};
       }},
      {"sac_crossq",
       [](TrainSpec& s) {
         ContinuousOptions& o = become_continuous(s, "sac");
         o.critics.crossq = true;
         o.policy_delay = 3;
         o.explore_steps = 5;
       }},
      {"td3_crossq",
       [](TrainSpec& s) {
         become_continuous(s, "td3").critics = {.count = 3, .in_target = 2, .crossq = true};
         s.learn.pipelined = true;
       }},
      {"td3", [](TrainSpec& s) { become_continuous(s, "td3"); }},
      {"td3_drifting",
       [](TrainSpec& s) {
         become_continuous(s, "td3").policy_delay = 3;
         td3(s).noise = NoiseKind::ornstein_uhlenbeck;
         td3(s).noise_std = linear(0.3, 0.05, 2000);
         s.learn.normalise_obs = true;
       }},
      {"ddpg",
       [](TrainSpec& s) {
         become_continuous(s, "ddpg");
         s.learn.pipelined = true;
       }},
  };
}

}  // namespace hotloop
