#include "algo/common/rollout_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"
#include "net/network.hpp"

namespace hotloop {

Keys rollout_keys(RolloutOptions& o, std::string_view about_epochs) {
  return {
      {"algo.n_steps", &o.n_steps, {1, 1'000'000}, "vector steps in a round"},
      {"algo.n_epochs", &o.n_epochs, {1, 1'000}, about_epochs},
  };
}

Key lambda_key(RolloutOptions& o, std::string_view path) {
  return {path, &o.lambda, kShare, "0 = one-step returns, 1 = returns to the end of the rollout"};
}

void check_rollout(const RolloutOptions& o, const AgentSpec& spec, Violations& violations) {
  const std::int64_t transitions = std::int64_t{o.n_steps} * spec.envs;
  if (transitions > kMaxDraws) {
    violations.blame("algo.n_steps",
                     fmt::format("{} times env.count ({}) is more than {} transitions", o.n_steps,
                                 spec.envs, kMaxDraws));
  }
  if (transitions % spec.learn.batch != 0) {
    violations.blame("algo.batch",
                     fmt::format("{} does not divide a rollout of {} transitions (algo.n_steps "
                                 "{} times env.count {})",
                                 spec.learn.batch, transitions, o.n_steps, spec.envs));
  }
}

void derive_rounds(const RolloutOptions& o, AgentSpec& spec) {
  spec.learn.train_every = std::int64_t{o.n_steps} * spec.envs;
  spec.learn.updates_per_step = static_cast<double>(o.n_epochs) / spec.learn.batch;
}

RolloutShape rollout_shape(const RolloutOptions& o, int reward_parts, const AgentSpec& spec,
                           const WorldFacts& world) {
  return {.steps = o.n_steps,
          .lanes = spec.envs,
          .obs = world.spec.obs,
          .actions = world.spec.actions,
          .masks = world.masks,
          .parts = reward_parts};
}

double rollout_bytes_per_transition(const RolloutShape& shape) {
  return static_cast<double>(Rollout::bytes_needed(shape)) / (1.0 * shape.steps * shape.lanes);
}

std::string describe_rollout(const RolloutOptions& o, const AgentSpec& spec) {
  return fmt::format("rollouts of {} x {}, {} epochs", o.n_steps, spec.envs, o.n_epochs);
}

MemoryNeed rollout_memory_need(const RolloutShape& shape, const Structure& network,
                               const AgentSpec& spec) {
  return {
      .experience = static_cast<double>(Rollout::bytes_needed(shape)),
      .network = static_cast<double>(
          Workspace::bytes_needed(network, spec.envs, Use::training) +
          Workspace::bytes_needed(network, spec.learn.batch, Use::training, spec.max_threads()))};
}

std::string rollout_too_large(const RolloutOptions& o, const AgentSpec& spec,
                              const MemoryNeed& need, double available) {
  return fmt::format(
      "{}: {} vector steps of {} environments need {}, and the network in batches of {} "
      "{}, but this process has only {} of memory",
      need.experience > need.network ? "algo.n_steps" : "algo.batch", o.n_steps, spec.envs,
      size_text(need.experience), spec.learn.batch, size_text(need.network), size_text(available));
}

std::vector<Proposal> rollout_remedies(const RolloutOptions& o, const AgentSpec& spec) {
  std::vector<Proposal> all;
  if (o.n_epochs > 1) {
    all.push_back(
        {"half the epochs", {fmt::format("algo.n_epochs={}", o.n_epochs / 2)}, {"learn"}});
  }
  all.push_back({"twice the batch, half the updates",
                 {fmt::format("algo.batch={}", 2 * spec.learn.batch)},
                 {"learn"}});
  return all;
}

std::vector<std::string> shorter_rollout(const RolloutOptions& o, const AgentSpec& spec, int envs) {
  return {fmt::format("algo.n_steps={}", std::max(1, o.n_steps * spec.envs / envs))};
}

}  // namespace hotloop
