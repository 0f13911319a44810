#include "run/evaluation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "env/registry.hpp"

namespace hotloop {

Evaluator::Evaluator(const std::string& env, const EvaluationOptions& options, std::uint64_t seed,
                     const Structure& structure, const QHead& head)
    : max_steps_(options.max_steps),
      head_(head),
      env_(find_env(env).make(options.episodes), options.episodes, seed, Purpose::evaluation_world),
      workspace_(structure, options.episodes, Use::inference),
      actions_(arena_.take<std::int32_t>(options.episodes)),
      returns_(arena_.take<double>(options.episodes)),
      finished_(arena_.take<std::uint8_t>(options.episodes)),
      scratch_(arena_.take<float>(values_scratch(head) * block_count(options.episodes))) {}

Evaluation Evaluator::run(const Plan& plan, std::span<const float> parameters,
                          const InputScale* scale, ThreadTeam& team) {
  const int episodes = env_.count();
  std::fill(returns_.begin(), returns_.end(), 0.0);
  std::fill(finished_.begin(), finished_.end(), 0);
  env_.reset();
  std::int64_t steps = 0;
  int left = episodes;
  for (std::int64_t t = 0; left > 0 && t < max_steps_; ++t) {
    team.run(block_count(episodes), [&](int first, int last, int) {
      forward(plan, parameters, env_.obs().data(), episodes, first, last, workspace_, scale);
      for (int block = first; block < last; ++block) {
        const std::size_t row = static_cast<std::size_t>(block) * kLanes;
        const int rows = std::min(kLanes, episodes - block * kLanes);
        const float* q =
            action_values(head_, workspace_.outputs(block), block_width(episodes, block),
                          scratch_.data() + values_scratch(head_) * block);
        std::array<std::int32_t, kLanes> greedy;
        greedy_actions(q, head_.actions, rows,
                       env_.has_mask() ? &env_.mask()[row * head_.actions] : nullptr,
                       greedy.data());
        std::copy_n(greedy.begin(), rows, &actions_[row]);
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
