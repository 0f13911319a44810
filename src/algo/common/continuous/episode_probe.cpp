#include "algo/common/continuous/episode_probe.hpp"

#include <algorithm>

namespace hotloop {
namespace {

constexpr double kMaxTail = 0.15;  // weight of what a cut episode lacks

}  // namespace

EpisodeProbe::EpisodeProbe(int envs, int obs, int action_size)
    : width_(obs),
      action_size_(action_size),
      finished_(arena_.take<std::int64_t>(1)),
      first_obs_(arena_.take<float>(static_cast<std::size_t>(envs) * obs)),
      first_actions_(arena_.take<float>(static_cast<std::size_t>(envs) * action_size)),
      lengths_(arena_.take<std::int64_t>(envs)),
      sums_(arena_.take<double>(envs)),
      weights_(arena_.take<double>(envs)),
      kept_obs_(arena_.take<float>(static_cast<std::size_t>(kRows) * obs)),
      kept_actions_(arena_.take<float>(static_cast<std::size_t>(kRows) * action_size)),
      kept_returns_(arena_.take<double>(kRows)) {
  std::fill(weights_.begin(), weights_.end(), 1.0);
}

void EpisodeProbe::begin(std::span<const float> obs) {
  std::copy(obs.begin(), obs.end(), first_obs_.begin());
}

void EpisodeProbe::add(const Transitions& step, double factor, double bonus, int n_step,
                       double gamma) {
  for (std::size_t env = 0; env < sums_.size(); ++env) {
    const float* action = &step.continuous_actions[env * action_size_];
    const std::int64_t at = lengths_[env]++;
    if (at == 0) std::copy_n(action, action_size_, &first_actions_[env * action_size_]);
    const double reward = factor * static_cast<double>(step.rewards[env]);
    sums_[env] += weights_[env] * (reward + (at > 0 && at % n_step == 0 ? bonus : 0));
    weights_[env] *= gamma;
    if ((step.terminated[env] | step.truncated[env]) == 0) continue;
    if (step.terminated[env] != 0 || weights_[env] <= kMaxTail) {
      const std::size_t row = finished_[0]++ % kRows;
      std::copy_n(&first_obs_[env * width_], width_, &kept_obs_[row * width_]);
      std::copy_n(&first_actions_[env * action_size_], action_size_,
                  &kept_actions_[row * action_size_]);
      kept_returns_[row] = sums_[env];
    }
    std::copy_n(&step.next_obs[env * width_], width_, &first_obs_[env * width_]);
    lengths_[env] = 0;
    sums_[env] = 0;
    weights_[env] = 1;
  }
}

}  // namespace hotloop
