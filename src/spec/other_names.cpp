// Names of our keys in Stable-Baselines3, CleanRL, RLlib and others, for suggestions in errors.
#include <algorithm>

#include "spec/keys.hpp"

namespace hotloop {
namespace {

struct OtherName {
  std::string_view name;
  std::string_view path;
};

// Keys or groups. If a name has several paths, the first that the algorithm has is suggested.
constexpr OtherName kOtherNames[] = {
    // the learning rate and the optimiser
    {"lr", "optimiser.learning_rate"},
    {"learning_rate", "optimiser.learning_rate"},
    {"adam_lr", "optimiser.learning_rate"},
    {"lr_schedule", "optimiser.learning_rate"},
    {"anneal_lr", "optimiser.learning_rate"},
    {"max_grad_norm", "optimiser.max_grad_norm"},
    {"grad_clip", "optimiser.max_grad_norm"},
    {"clip_norm", "optimiser.max_grad_norm"},
    {"gradient_clip", "optimiser.max_grad_norm"},
    {"adam_eps", "optimiser.epsilon"},
    {"adam_epsilon", "optimiser.epsilon"},
    {"optimizer", "optimiser"},
    {"optimizer_class", "optimiser.name"},
    {"weight_decay", "optimiser.weight_decay"},
    // environments and the length of a run
    {"env_id", "env.name"},
    {"environment", "env.name"},
    {"num_envs", "env.count"},
    {"n_envs", "env.count"},
    {"num_env_runners", "env.count"},
    {"num_workers", "env.count"},
    {"total_timesteps", "run.steps"},
    {"n_timesteps", "run.steps"},
    {"timesteps", "run.steps"},
    {"timesteps_total", "run.steps"},
    {"max_frame", "run.steps"},
    {"seed", "run.seed"},
    {"n_eval_episodes", "evaluation.episodes"},
    {"evaluation_duration", "evaluation.episodes"},
    {"eval_freq", "evaluation.every"},
    {"eval_frequency", "evaluation.every"},
    {"evaluation_interval", "evaluation.every"},
    {"save_freq", "run.checkpoint_seconds"},
    // replay
    {"buffer_size", "replay.capacity"},
    {"replay_buffer_size", "replay.capacity"},
    {"memory_size", "replay.capacity"},
    {"prioritized_replay", "replay.prioritised"},
    {"prioritized", "replay.prioritised"},
    {"prioritized_replay_alpha", "replay.alpha"},
    {"prioritized_replay_beta", "replay.beta"},
    {"prioritized_replay_eps", "replay.epsilon"},
    // how much to learn, and when
    {"batch_size", "algo.batch"},
    {"minibatch_size", "algo.batch"},
    {"sgd_minibatch_size", "algo.batch"},
    {"train_batch_size", "algo.batch"},
    {"gradient_steps", "algo.updates_per_step"},
    {"training_intensity", "algo.updates_per_step"},
    {"utd_ratio", "algo.updates_per_step"},
    {"train_freq", "algo.train_every"},
    {"train_frequency", "algo.train_every"},
    {"training_frequency", "algo.train_every"},
    {"start_timesteps", "algo.learning_starts"},
    {"num_steps_sampled_before_learning_starts", "algo.learning_starts"},
    // targets
    {"tau", "algo.target.tau"},
    {"polyak", "algo.target.tau"},
    {"blend", "algo.target.tau"},
    {"target_update_interval", "algo.target.every"},
    {"target_network_frequency", "algo.target.every"},
    {"target_network_update_freq", "algo.target.every"},
    {"double_q", "algo.double"},
    {"double_dqn", "algo.double"},
    {"dueling", "net.dueling"},
    {"noisy", "net.noisy"},
    {"n_step", "algo.n_step"},
    {"n_steps", "algo.n_step"},
    {"num_atoms", "algo.atoms"},
    {"n_atoms", "algo.atoms"},
    {"n_quantiles", "algo.atoms"},
    {"n_quantiles", "algo.quantiles"},
    // continuous actions
    {"n_critics", "algo.critics"},
    {"num_critics", "algo.critics"},
    {"twin_q", "algo.critics"},
    {"q_lr", "algo.critic_learning_rate"},
    {"critic_lr", "algo.critic_learning_rate"},
    {"qf_learning_rate", "algo.critic_learning_rate"},
    {"policy_lr", "optimiser.learning_rate"},
    {"actor_lr", "optimiser.learning_rate"},
    {"alpha_lr", "algo.ent_coef_learning_rate"},
    {"alpha", "algo.ent_coef"},
    {"autotune", "algo.ent_coef"},
    {"initial_alpha", "algo.ent_coef_init"},
    {"target_entropy", "algo.target_entropy"},
    {"policy_frequency", "algo.policy_delay"},
    {"policy_freq", "algo.policy_delay"},
    {"exploration_noise", "algo.noise_std"},
    {"action_noise", "algo.noise"},
    {"target_policy_noise", "algo.target_noise"},
    {"policy_noise", "algo.target_noise"},
    {"noise_clip", "algo.target_noise_clip"},
    {"top_quantiles_to_drop_per_net", "algo.dropped_quantiles"},
    // exploration
    {"exploration_initial_eps", "algo.epsilon"},
    {"exploration_final_eps", "algo.epsilon"},
    {"exploration_fraction", "algo.epsilon"},
    {"start_e", "algo.epsilon"},
    {"end_e", "algo.epsilon"},
    {"epsilon_timesteps", "algo.epsilon"},
    // on-policy
    {"num_steps", "algo.n_steps"},
    {"n_steps", "algo.n_steps"},
    {"rollout", "algo.n_steps"},
    {"rollout_fragment_length", "algo.n_steps"},
    {"update_epochs", "algo.n_epochs"},
    {"epochs", "algo.n_epochs"},
    {"num_epochs", "algo.n_epochs"},
    {"num_sgd_iter", "algo.n_epochs"},
    {"lambda_", "algo.gae_lambda"},
    {"lambda", "algo.gae_lambda"},
    {"gae_lambda", "algo.lambda"},
    {"q_lambda", "algo.lambda"},
    {"clip_coef", "algo.clip_range"},
    {"clip_param", "algo.clip_range"},
    {"clip", "algo.clip_range"},
    {"vf_clip_param", "algo.clip_range_vf"},
    {"clip_vloss", "algo.clip_range_vf"},
    {"value_clip", "algo.clip_range_vf"},
    {"vf_loss_coeff", "algo.vf_coef"},
    {"value_weight", "algo.vf_coef"},
    {"entropy", "algo.ent_coef"},
    {"entropy_coeff", "algo.ent_coef"},
    {"entropy_coef", "algo.ent_coef"},
    {"kl_target", "algo.target_kl"},
    {"normalize_advantage", "algo.normalise.advantages"},
    {"norm_adv", "algo.normalise.advantages"},
    {"advantages", "algo.normalise.advantages"},
    {"log_std", "algo.log_std_init"},
    {"log_deviation", "algo.log_std_init"},
    {"deviation", "algo.std"},
    // networks
    {"net_arch", "net.hidden"},
    {"fcnet_hiddens", "net.hidden"},
    {"hidden_sizes", "net.hidden"},
    {"hidden_size", "net.hidden"},
    {"activation_fn", "net.activation"},
    {"fcnet_activation", "net.activation"},
    {"ortho_init", "net.init"},
    {"norm_obs", "algo.normalise.obs"},
    {"norm_reward", "algo.normalise.rewards"},
    {"normalize", "algo.normalise.obs"},
};

}  // namespace

std::string key_of_other_library(std::span<const Key> keys, std::string_view name) {
  for (const OtherName& other : kOtherNames) {
    if (other.name != name) continue;
    const bool has = std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
      return key.path.starts_with(other.path) &&
             (key.path.size() == other.path.size() || key.path[other.path.size()] == '.');
    });
    if (has) return std::string(other.path);
  }
  return {};
}

}  // namespace hotloop
