#include "env/check/battery_play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace hotloop {

void step_worlds(WorldArray& worlds, int begin, int end, const Actions& actions, std::uint64_t seed,
                 std::uint64_t step, std::span<float> rewards, std::span<std::uint8_t> terminated) {
  worlds.step(begin, end, actions, seed, Purpose::test, step, rewards, terminated);
}

void BatchRunner::step(const Actions& actions) { env.step(actions, team); }

PlayResults BatchRunner::results() const {
  return {env.obs(),       env.mask(),      env.rewards(),    env.reward_parts(), env.terminated(),
          env.truncated(), env.final_obs(), env.final_mask(), env.finished()};
}

PlainRunner::PlainRunner(std::unique_ptr<WorldArray> worlds, int rows, std::uint64_t seed)
    : worlds_(std::move(worlds)), rows_(rows), seed_(seed), running_(rows) {
  const EnvSpec& spec = worlds_->spec();
  obs_.resize(static_cast<std::size_t>(rows) * spec.obs);
  final_obs_ = obs_;
  if (worlds_->has_mask()) mask_.resize(static_cast<std::size_t>(rows) * spec.actions);
  final_mask_ = mask_;
  rewards_.resize(rows);
  reward_parts_.resize(static_cast<std::size_t>(rows) * spec.reward_part_count());
  terminated_.resize(rows);
  truncated_.resize(rows);
  for (int row = 0; row < rows; ++row) begin_episode(row, 0);
}

void PlainRunner::begin_episode(int row, std::uint64_t stream_step) {
  running_[row] = {};
  Rng rng(seed_, Purpose::test, static_cast<std::uint32_t>(row), stream_step);
  worlds_->reset(row, rng);
  show(row);
}

void PlainRunner::show(int row) {
  worlds_->observe(row, row + 1, obs_);
  if (worlds_->has_mask()) worlds_->mask(row, row + 1, mask_);
}

void PlainRunner::step(const Actions& actions) {
  const EnvSpec& spec = worlds_->spec();
  ++steps_;
  finished_.clear();
  for (int row = 0; row < rows_; ++row) {
    step_worlds(*worlds_, row, row + 1, actions, seed_, steps_, rewards_, terminated_);
    show(row);
    if (!reward_parts_.empty()) worlds_->reward_parts(row, row + 1, reward_parts_);
    Episode& episode = running_[row];
    episode.total_return += static_cast<double>(rewards_[row]);
    episode.length += 1;
    const bool out_of_time = spec.max_steps > 0 && episode.length == spec.max_steps;
    truncated_[row] = out_of_time && terminated_[row] == 0 ? 1 : 0;
    if (terminated_[row] == 0 && truncated_[row] == 0) continue;
    worlds_->measure(row, episode.measures);
    finished_.push_back(episode);
    std::copy_n(obs_.begin() + row * spec.obs, spec.obs, final_obs_.begin() + row * spec.obs);
    if (worlds_->has_mask()) {
      std::copy_n(mask_.begin() + row * spec.actions, spec.actions,
                  final_mask_.begin() + row * spec.actions);
    }
    begin_episode(row, 0 - steps_);
  }
}

PlayResults PlainRunner::results() const {
  return {obs_,       mask_,      rewards_,    reward_parts_, terminated_,
          truncated_, final_obs_, final_mask_, finished_};
}

namespace {

class LimitedArray final : public WorldArray {
 public:
  LimitedArray(std::unique_ptr<WorldArray> worlds, int max_steps)
      : worlds_(std::move(worlds)), spec_(worlds_->spec()) {
    spec_.max_steps = max_steps;
  }
  const EnvSpec& spec() const override { return spec_; }
  bool has_mask() const override { return worlds_->has_mask(); }
  void clear() override { worlds_->clear(); }
  void reset(int row, Rng& rng) override { worlds_->reset(row, rng); }
  void step(int begin, int end, const ActionRows& actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    worlds_->step(begin, end, actions, seed, purpose, step, rewards, terminated);
  }
  void observe(int begin, int end, std::span<float> obs) const override {
    worlds_->observe(begin, end, obs);
  }
  void mask(int begin, int end, std::span<std::uint8_t> allowed) const override {
    worlds_->mask(begin, end, allowed);
  }
  void measure(int row, std::span<float> values) const override { worlds_->measure(row, values); }
  void reward_parts(int begin, int end, std::span<float> parts) const override {
    worlds_->reward_parts(begin, end, parts);
  }
  std::size_t row_bytes() const override { return worlds_->row_bytes(); }
  void save_row(int row, std::byte* to) const override { worlds_->save_row(row, to); }
  bool restore_row(int row, const std::byte* from) override {
    return worlds_->restore_row(row, from);
  }
  bool checks_state() const override { return worlds_->checks_state(); }

 private:
  std::unique_ptr<WorldArray> worlds_;
  EnvSpec spec_;
};

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

template <class T>
std::optional<std::string> difference(int row, std::string_view what, const T& expected,
                                      const T& found) {
  return fmt::format("row {}: {}: expected {}, found {}", row, what, expected, found);
}

}  // namespace

std::unique_ptr<WorldArray> with_limit(std::unique_ptr<WorldArray> worlds, int max_steps) {
  return std::make_unique<LimitedArray>(std::move(worlds), max_steps);
}

namespace {

// Independent of the worlds' random streams.
Rng action_stream(std::uint64_t seed, int row, std::uint64_t t) {
  return Rng(~seed, Purpose::test, static_cast<std::uint32_t>(row), t);
}

float choose_float(float low, float high, Rng& rng) {
  const std::uint32_t which = rng.below(4);
  if (which < 2) return which == 0 ? low : high;
  return std::clamp(static_cast<float>(rng.uniform(low, high)), low, high);
}

}  // namespace

int choose_actions(const EnvSpec& spec, std::span<const std::uint8_t> mask, std::uint64_t seed,
                   std::uint64_t t, Actions& actions) {
  for (std::size_t i = 0; i < actions.continuous.size(); i += spec.action_size) {
    Rng rng = action_stream(seed, static_cast<int>(i) / spec.action_size, t);
    for (int k = 0; k < spec.action_size; ++k) {
      actions.continuous[i + k] = choose_float(spec.action_low[k], spec.action_high[k], rng);
    }
  }
  int stuck = -1;
  for (int row = 0; row < static_cast<int>(actions.discrete.size()); ++row) {
    Rng rng = action_stream(seed, row, t);
    std::int32_t& chosen = actions.discrete[row];
    chosen = 0;
    if (mask.empty()) {
      chosen = static_cast<std::int32_t>(rng.below(static_cast<std::uint32_t>(spec.actions)));
      continue;
    }
    const auto allowed = mask.subspan(static_cast<std::size_t>(row) * spec.actions, spec.actions);
    const auto choices =
        std::count_if(allowed.begin(), allowed.end(), [](auto a) { return a != 0; });
    if (choices == 0) {
      if (stuck < 0) stuck = row;
      continue;
    }
    std::uint32_t left = rng.below(static_cast<std::uint32_t>(choices));
    for (int action = 0; action < spec.actions; ++action) {
      if (allowed[action] == 0) continue;
      chosen = action;
      if (left-- == 0) break;
    }
  }
  return stuck;
}

std::optional<std::string> first_difference(const EnvSpec& spec, const PlayResults& expected,
                                            const PlayResults& found) {
  for (int row = 0; row < static_cast<int>(expected.rewards.size()); ++row) {
    if (!same_bits(expected.rewards[row], found.rewards[row])) {
      return difference(row, "reward", expected.rewards[row], found.rewards[row]);
    }
    for (int i = 0; i < spec.reward_part_count(); ++i) {
      const std::size_t at = static_cast<std::size_t>(row) * spec.reward_part_count() + i;
      if (!same_bits(expected.reward_parts[at], found.reward_parts[at])) {
        return difference(row, fmt::format("part {} of the reward", spec.reward_parts[i]),
                          expected.reward_parts[at], found.reward_parts[at]);
      }
    }
    if (expected.terminated[row] != found.terminated[row]) {
      return difference(row, "terminated", expected.terminated[row], found.terminated[row]);
    }
    if (expected.truncated[row] != found.truncated[row]) {
      return difference(row, "truncated", expected.truncated[row], found.truncated[row]);
    }
    const bool ended = expected.terminated[row] || expected.truncated[row];
    for (int i = 0; i < spec.obs; ++i) {
      const std::size_t at = static_cast<std::size_t>(row) * spec.obs + i;
      if (ended && !same_bits(expected.final_obs[at], found.final_obs[at])) {
        return difference(row, fmt::format("final observation[{}]", i), expected.final_obs[at],
                          found.final_obs[at]);
      }
      if (!same_bits(expected.obs[at], found.obs[at])) {
        return difference(row, fmt::format("observation[{}]", i), expected.obs[at], found.obs[at]);
      }
    }
    for (int i = 0; i < spec.actions && !expected.mask.empty(); ++i) {
      const std::size_t at = static_cast<std::size_t>(row) * spec.actions + i;
      if (ended && expected.final_mask[at] != found.final_mask[at]) {
        return difference(row, fmt::format("final mask[{}]", i), expected.final_mask[at],
                          found.final_mask[at]);
      }
      if (expected.mask[at] != found.mask[at]) {
        return difference(row, fmt::format("mask[{}]", i), expected.mask[at], found.mask[at]);
      }
    }
  }
  if (expected.finished.size() != found.finished.size()) {
    return fmt::format("finished episodes: expected {}, found {}", expected.finished.size(),
                       found.finished.size());
  }
  for (std::size_t i = 0; i < expected.finished.size(); ++i) {
    const Episode& e = expected.finished[i];
    const Episode& f = found.finished[i];
    if (e.length != f.length || e.total_return != f.total_return) {
      return fmt::format(
          "finished episode {}: expected return {} after {} steps, found {} after {}", i,
          e.total_return, e.length, f.total_return, f.length);
    }
    for (int k = 0; k < spec.measure_count(); ++k) {
      if (same_bits(e.measures[k], f.measures[k])) continue;
      return fmt::format("finished episode {}: {}: expected {}, found {}", i, spec.measures[k],
                         e.measures[k], f.measures[k]);
    }
  }
  return std::nullopt;
}

}  // namespace hotloop
