// Names of other libraries are answered with ours.
#include <gtest/gtest.h>

#include <set>

#include "tests/spec/spec_text.hpp"

namespace hotloop {
namespace {

struct OtherName {
  const char* name;
  const char* dqn;  // our key in a spec of dqn; null if there is none, or one of the same name
  const char* ppo;
};

// From the documentation of Stable-Baselines3 2.x (DQN, PPO, policies, callbacks, RL Zoo).
constexpr OtherName kStableBaselines3[] = {
    {"learning_rate", "optimiser.learning_rate", "optimiser.learning_rate"},
    {"buffer_size", "replay.capacity", nullptr},
    {"batch_size", "algo.batch", "algo.batch"},
    {"tau", "algo.target.tau", nullptr},
    {"train_freq", "algo.train_every", nullptr},
    {"gradient_steps", "algo.updates_per_step", nullptr},
    {"target_update_interval", "algo.target.every", nullptr},
    {"exploration_fraction", "algo.epsilon", nullptr},
    {"exploration_initial_eps", "algo.epsilon", nullptr},
    {"exploration_final_eps", "algo.epsilon", nullptr},
    {"max_grad_norm", "optimiser.max_grad_norm", "optimiser.max_grad_norm"},
    {"n_quantiles", "algo.atoms", nullptr},
    {"normalize_advantage", nullptr, "algo.normalise.advantages"},
    {"net_arch", "net.hidden", "net.hidden"},
    {"activation_fn", "net.activation", "net.activation"},
    {"ortho_init", "net.init", "net.init"},
    {"optimizer_class", "optimiser.name", "optimiser.name"},
    {"total_timesteps", "run.steps", "run.steps"},
    {"n_timesteps", "run.steps", "run.steps"},
    {"n_envs", "env.count", "env.count"},
    {"seed", "run.seed", "run.seed"},
    {"n_eval_episodes", "evaluation.episodes", "evaluation.episodes"},
    {"eval_freq", "evaluation.every", "evaluation.every"},
    {"save_freq", "run.checkpoint_seconds", "run.checkpoint_seconds"},
    {"norm_obs", "algo.normalise.obs", "algo.normalise.obs"},
    {"norm_reward", "algo.normalise.rewards", "algo.normalise.rewards"},
};

// From the arguments of cleanrl/dqn.py, c51.py, ppo.py and ppo_continuous_action.py.
constexpr OtherName kCleanRl[] = {
    {"env_id", "env.name", "env.name"},
    {"num_envs", "env.count", "env.count"},
    {"target_network_frequency", "algo.target.every", nullptr},
    {"start_e", "algo.epsilon", nullptr},
    {"end_e", "algo.epsilon", nullptr},
    {"train_frequency", "algo.train_every", nullptr},
    {"n_atoms", "algo.atoms", nullptr},
    {"num_steps", nullptr, "algo.n_steps"},
    {"anneal_lr", "optimiser.learning_rate", "optimiser.learning_rate"},
    {"update_epochs", nullptr, "algo.n_epochs"},
    {"norm_adv", nullptr, "algo.normalise.advantages"},
    {"clip_coef", nullptr, "algo.clip_range"},
    {"clip_vloss", nullptr, "algo.clip_range_vf"},
};

// From the configurations of RLlib's DQN and PPO.
constexpr OtherName kRllib[] = {
    {"lr", "optimiser.learning_rate", "optimiser.learning_rate"},
    {"lr_schedule", "optimiser.learning_rate", "optimiser.learning_rate"},
    {"grad_clip", "optimiser.max_grad_norm", "optimiser.max_grad_norm"},
    {"adam_epsilon", "optimiser.epsilon", "optimiser.epsilon"},
    {"train_batch_size", "algo.batch", "algo.batch"},
    {"sgd_minibatch_size", "algo.batch", "algo.batch"},
    {"minibatch_size", "algo.batch", "algo.batch"},
    {"num_sgd_iter", nullptr, "algo.n_epochs"},
    {"num_epochs", nullptr, "algo.n_epochs"},
    {"rollout_fragment_length", nullptr, "algo.n_steps"},
    {"lambda_", nullptr, "algo.gae_lambda"},
    {"clip_param", nullptr, "algo.clip_range"},
    {"vf_clip_param", nullptr, "algo.clip_range_vf"},
    {"vf_loss_coeff", nullptr, "algo.vf_coef"},
    {"entropy_coeff", nullptr, "algo.ent_coef"},
    {"kl_target", nullptr, "algo.target_kl"},
    {"num_env_runners", "env.count", "env.count"},
    {"num_workers", "env.count", "env.count"},
    {"environment", "env.name", "env.name"},
    {"fcnet_hiddens", "net.hidden", "net.hidden"},
    {"fcnet_activation", "net.activation", "net.activation"},
    {"target_network_update_freq", "algo.target.every", nullptr},
    {"double_q", "algo.double", nullptr},
    {"dueling", "net.dueling", nullptr},
    {"noisy", "net.noisy", nullptr},
    {"num_atoms", "algo.atoms", nullptr},
    {"epsilon_timesteps", "algo.epsilon", nullptr},
    {"training_intensity", "algo.updates_per_step", nullptr},
    {"num_steps_sampled_before_learning_starts", "algo.learning_starts", nullptr},
    {"prioritized_replay_alpha", "replay.alpha", nullptr},
    {"prioritized_replay_beta", "replay.beta", nullptr},
    {"prioritized_replay_eps", "replay.epsilon", nullptr},
    {"evaluation_interval", "evaluation.every", "evaluation.every"},
    {"evaluation_duration", "evaluation.episodes", "evaluation.episodes"},
};

template <class Visit>
void for_each_name(Visit&& visit) {
  for (const OtherName& other : kStableBaselines3) visit(other);
  for (const OtherName& other : kCleanRl) visit(other);
  for (const OtherName& other : kRllib) visit(other);
}

// The key that a message suggests, or the whole message.
std::string suggested(const std::string& message) {
  const std::string before = "did you mean ";
  const std::size_t at = message.find(before);
  if (at == std::string::npos) return message;
  return message.substr(at + before.size(), message.find('?', at) - at - before.size());
}

// Among the keys of the algorithm or at the top level; in a file and on the command line.
TEST(OtherNames, AreAnsweredWithOurKey) {
  std::set<std::string> answered;
  const auto expect = [&](const std::string& algorithm, const std::string& name, const char* key) {
    if (key == nullptr) return;
    const std::string line = "env: {name: cartpole}\nalgo: {name: " + algorithm;
    EXPECT_EQ(suggested(complaint(line + ", " + name + ": 1}")), key) << algorithm << ", in a file";
    EXPECT_EQ(suggested(complaint(line + "}\n" + name + ": 1")), key) << algorithm << ", in a file";
    EXPECT_EQ(suggested(complaint(line + "}", {"algo." + name + "=1"})), key)
        << algorithm << ", set";
    EXPECT_EQ(suggested(complaint(line + "}", {name + "=1"})), key) << algorithm << ", set";
    answered.insert(name);
  };
  for_each_name([&](const OtherName& other) {
    SCOPED_TRACE(other.name);
    expect("dqn", other.name, other.dqn);
    expect("ppo", other.name, other.ppo);
  });
  EXPECT_GE(answered.size(), 70u);
}

// From the documentation of SAC, TD3 and TQC in Stable-Baselines3 and sb3-contrib, from CleanRL's
// sac_continuous_action.py and td3_continuous_action.py, and from RLlib's SAC.
TEST(OtherNames, OfContinuousControl) {
  const auto answer = [](const std::string& algorithm, const std::string& name) {
    return suggested(
        complaint("env: {name: pendulum}\nalgo: {name: " + algorithm + "}", {name + "=1"}));
  };
  for (const auto& [name, key] : std::vector<std::pair<std::string, std::string>>{
           {"buffer_size", "replay.capacity"},
           {"batch_size", "algo.batch"},
           {"tau", "algo.target.tau"},
           {"gradient_steps", "algo.updates_per_step"},
           {"learning_starts", "algo.learning_starts"},
           {"n_critics", "algo.critics"},
           {"n_quantiles", "algo.quantiles"},
           {"top_quantiles_to_drop_per_net", "algo.dropped_quantiles"},
           {"q_lr", "algo.critic_learning_rate"},
           {"policy_lr", "optimiser.learning_rate"},
           {"policy_frequency", "algo.policy_delay"}}) {
    for (const char* algorithm : {"sac", "td3"}) EXPECT_EQ(answer(algorithm, name), key) << name;
  }
  for (const auto& [name, key] : std::vector<std::pair<std::string, std::string>>{
           {"alpha", "algo.ent_coef"},
           {"autotune", "algo.ent_coef"},
           {"initial_alpha", "algo.ent_coef_init"},
           {"target_entropy", "algo.target_entropy"}}) {
    EXPECT_EQ(answer("sac", name), key) << name;
  }
  for (const auto& [name, key] : std::vector<std::pair<std::string, std::string>>{
           {"exploration_noise", "algo.noise_std"},
           {"action_noise", "algo.noise"},
           {"target_policy_noise", "algo.target_noise"},
           {"target_noise_clip", "algo.target_noise_clip"}}) {
    EXPECT_EQ(answer("td3", name), key) << name;
  }
}

// The whole message: where, what, and what is allowed.
TEST(OtherNames, GetTheSameMessagesAsMisspellings) {
  EXPECT_TRUE(second_line("algo: {lr: 0.1}")
                  .starts_with("2: algo.lr: unknown key; did you mean optimiser.learning_rate? "
                               "(allowed: name, gamma, loss, batch, "));
  EXPECT_TRUE(complaint("env: {name: cartpole}\nalgo: {name: ppo}", {"algo.clip_param=0.3"})
                  .starts_with("--set algo.clip_param=0.3: algo.clip_param: unknown key; did you "
                               "mean algo.clip_range? (allowed: name, gamma, batch, n_steps, "));
}

// Previous names of our own keys.
TEST(OtherNames, OurPreviousNamesAreAnsweredToo) {
  const auto answer = [](const std::string& algorithm, const std::string& key) {
    return suggested(
        complaint("env: {name: cartpole}\nalgo: {name: " + algorithm + "}", {key + "=1"}));
  };
  EXPECT_EQ(answer("dqn", "algo.target.blend"), "algo.target.tau");
  EXPECT_EQ(answer("dqn", "optimiser.clip_norm"), "optimiser.max_grad_norm");
  EXPECT_EQ(answer("pqn", "algo.rollout"), "algo.n_steps");
  EXPECT_EQ(answer("pqn", "algo.epochs"), "algo.n_epochs");
  EXPECT_EQ(answer("ppo", "algo.rollout"), "algo.n_steps");
  EXPECT_EQ(answer("ppo", "algo.epochs"), "algo.n_epochs");
  EXPECT_EQ(answer("ppo", "algo.lambda"), "algo.gae_lambda");
  EXPECT_EQ(answer("ppo", "algo.clip"), "algo.clip_range");
  EXPECT_EQ(answer("ppo", "algo.value_clip"), "algo.clip_range_vf");
  EXPECT_EQ(answer("ppo", "algo.value_weight"), "algo.vf_coef");
  EXPECT_EQ(answer("ppo", "algo.entropy"), "algo.ent_coef");
  EXPECT_EQ(answer("ppo", "algo.entropy_floor_weight"), "algo.entropy_floor_coef");
  EXPECT_EQ(answer("ppo", "algo.advantages"), "algo.normalise.advantages");
  EXPECT_EQ(answer("ppo", "algo.deviation"), "algo.std");
  EXPECT_EQ(answer("ppo", "algo.log_deviation"), "algo.log_std_init");
}

}  // namespace
}  // namespace hotloop
