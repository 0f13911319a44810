#include "run/evaluation.hpp"

#include <algorithm>
#include <cmath>

#include "algo/dqn.hpp"
#include "env/registry.hpp"

namespace hotloop {

Evaluator::Evaluator(const std::string& env, const EvaluationOptions& options, std::uint64_t seed,
                     const Structure& structure)
    : max_steps_(options.max_steps),
      env_(find_env(env).make(options.episodes), options.episodes, seed, Purpose::evaluation_world),
      workspace_(structure, options.episodes, Use::inference),
      actions_(arena_.take<std::int32_t>(options.episodes)),
      returns_(arena_.take<double>(options.episodes)),
      finished_(arena_.take<std::uint8_t>(options.episodes)) {}

Evaluation Evaluator::run(const Plan& plan, std::span<const float> parameters, ThreadTeam& team) {
  const int episodes = env_.count();
  const std::size_t action_count = env_.spec().actions;
  std::fill(returns_.begin(), returns_.end(), 0.0);
  std::fill(finished_.begin(), finished_.end(), 0);
  env_.reset();
  std::int64_t steps = 0;
  int left = episodes;
  for (std::int64_t t = 0; left > 0 && t < max_steps_; ++t) {
    team.run(block_count(episodes), [&](int first, int last, int) {
      forward(plan, parameters, env_.obs().data(), episodes, first, last, workspace_);
      for (int row = first * kLanes; row < std::min(episodes, last * kLanes); ++row) {
        const std::uint8_t* mask = env_.has_mask() ? &env_.mask()[row * action_count] : nullptr;
        actions_[row] = greedy_action(workspace_.outputs(row / kLanes) + row % kLanes,
                                      env_.spec().actions, mask);
      }
    });
    env_.step(actions_, team);
    for (int row = 0; row < episodes; ++row) {
      if (finished_[row] != 0)
        continue;  // a further episode of this row, not part of the evaluation
      returns_[row] += env_.rewards()[row];
      ++steps;
      finished_[row] = env_.terminated()[row] | env_.truncated()[row];
      left -= finished_[row];
    }
  }
  Evaluation result{.episodes = episodes};
  for (double r : returns_) result.mean += r / episodes;
  for (double r : returns_) result.deviation += (r - result.mean) * (r - result.mean) / episodes;
  result.deviation = std::sqrt(result.deviation);
  result.mean_length = static_cast<double>(steps) / episodes;
  return result;
}

}  // namespace hotloop
