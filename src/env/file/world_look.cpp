// Random play to find what is suspicious about an environment that passes the battery.
#include <fmt/format.h>

#include <fmt/ranges.h>
#include <hotloop/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/stopwatch.hpp"
#include "core/text.hpp"
#include "env/check/battery_play.hpp"
#include "env/file/world_check.hpp"

namespace hotloop {
namespace {

constexpr int kRows = 64;
constexpr double kTimingSeconds = 0.2;
constexpr float kHuge = 100;  // an observation value that should be scaled for a network
constexpr float kHugeReward = 10'000;
constexpr int kFarLimit = 20'000;  // time limits beyond this rarely end an episode

struct Range {
  float low = std::numeric_limits<float>::max();
  float high = std::numeric_limits<float>::lowest();
  void take(float value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_constant() const { return low == high; }
  float size() const { return std::max(std::abs(low), std::abs(high)); }
};

// Statistics of one play.
struct Play {
  std::vector<Range> obs;  // [D]
  Range reward;
  std::int64_t steps = 0, episodes = 0, terminated = 0, shortest = 0, longest = 0, total_length = 0;
  double total_return = 0;
};

Play play_randomly(const EnvEntry& entry, const CheckOptions& options) {
  const int rows = std::min(kRows, options.copies);
  BatchRunner runner(entry.make(rows), rows, options.seed, 1);
  const EnvSpec& spec = runner.env.spec();
  Play play;
  play.obs.resize(spec.obs);
  play.shortest = std::numeric_limits<std::int64_t>::max();
  Actions actions(spec, rows);
  for (int t = 0; t <= 2 * options.steps; ++t) {
    const PlayResults shown = runner.results();
    for (std::size_t i = 0; i < shown.obs.size(); ++i) play.obs[i % spec.obs].take(shown.obs[i]);
    if (t == 2 * options.steps) break;
    choose_actions(spec, shown.mask, options.seed, static_cast<std::uint64_t>(t), actions);
    runner.step(actions);
    for (int row = 0; row < rows; ++row) {
      play.reward.take(runner.env.rewards()[row]);
      play.terminated += runner.env.terminated()[row];
    }
    for (const Episode& episode : runner.env.finished()) {
      ++play.episodes;
      play.shortest = std::min(play.shortest, episode.length);
      play.longest = std::max(play.longest, episode.length);
      play.total_length += episode.length;
      play.total_return += episode.total_return;
    }
    play.steps += rows;
  }
  return play;
}

// Puts the world back into a state that it saved.
void put_back(WorldArray& world, std::span<const std::byte> state) {
  if (world.restore_row(0, state.data())) return;
  throw RunError("is_valid refuses a state that reset and step produced");
}

// The outcome of an action in a state: the next state, the reward and `terminated`, as bytes.
std::vector<std::byte> outcome(WorldArray& world, std::span<const std::byte> state,
                               const Actions& action, std::uint64_t seed, std::uint64_t t) {
  put_back(world, state);
  float reward = 0;
  std::uint8_t terminated = 0;
  step_worlds(world, 0, 1, action, seed, t, {&reward, 1}, {&terminated, 1});
  std::vector<std::byte> after(world.row_bytes() + sizeof reward + 1);
  world.save_row(0, after.data());
  std::memcpy(after.data() + world.row_bytes(), &reward, sizeof reward);
  after.back() = static_cast<std::byte>(terminated);
  return after;
}

// Whether two actions ever have different outcomes, in states of a random play. For continuous
// actions, the two are the bounds.
class Effects {
 public:
  Effects(const EnvEntry& entry, const CheckOptions& options)
      : world_(entry.make_one_by_one(1)), spec_(world_->spec()), states_(options.steps) {
    const int choices = spec_.actions > 0 ? std::min(spec_.actions, kMaxActions) : 2;
    same_.assign(static_cast<std::size_t>(choices) * choices, true);
    Rng rng(options.seed, Purpose::test, 0, 0);
    world_->reset(0, rng);
    std::vector<std::byte> state(world_->row_bytes());
    std::vector<std::uint8_t> allowed(world_->has_mask() ? spec_.actions : 0);
    Actions action(spec_, 1);
    for (int t = 1; t <= states_; ++t) {
      world_->save_row(0, state.data());
      if (world_->has_mask()) world_->mask(0, 1, allowed);
      compare(state, allowed, choices, options.seed, t);
      put_back(*world_, state);
      choose_actions(spec_, allowed, options.seed, t, action);
      float reward = 0;
      std::uint8_t terminated = 0;
      step_worlds(*world_, 0, 1, action, options.seed, t, {&reward, 1}, {&terminated, 1});
      if (terminated == 0) continue;
      Rng next(options.seed, Purpose::test, 0, 0 - t);
      world_->reset(0, next);
    }
  }

  // The first two actions that always had the same outcome; {-1, -1} if there are none.
  std::pair<int, int> twins() const {
    const int n = choices();
    for (int a = 0; a < n; ++a) {
      for (int b = a + 1; b < n; ++b) {
        if (same_[a * n + b] && compared_) return {a, b};
      }
    }
    return {-1, -1};
  }
  bool all_same() const {
    const int n = choices();
    for (int b = 1; b < n; ++b) {
      if (!same_[b]) return false;
    }
    return compared_ && n > 1;
  }
  int states() const { return states_; }

 private:
  static constexpr int kMaxActions = 32;
  int choices() const { return static_cast<int>(std::lround(std::sqrt(same_.size()))); }

  Actions choice(int number) const {
    Actions action(spec_, 1);
    if (spec_.actions > 0) {
      action.discrete[0] = number;
    } else {
      const auto& bounds = number == 0 ? spec_.action_low : spec_.action_high;
      std::copy_n(bounds.begin(), spec_.action_size, action.continuous.begin());
    }
    return action;
  }

  void compare(std::span<const std::byte> state, std::span<const std::uint8_t> allowed, int n,
               std::uint64_t seed, std::uint64_t t) {
    std::vector<std::vector<std::byte>> after(n);
    for (int a = 0; a < n; ++a) {
      if (!allowed.empty() && allowed[a] == 0) continue;
      after[a] = outcome(*world_, state, choice(a), seed, t);
      for (int b = 0; b < a; ++b) {
        if (after[b].empty()) continue;
        compared_ = true;
        if (after[a] != after[b]) same_[b * n + a] = false;
      }
    }
    // Actions that are never allowed in the same state cannot be compared.
    for (int a = 0; a < n; ++a) {
      for (int b = a + 1; b < n && !allowed.empty(); ++b) {
        if (allowed[a] != allowed[b]) same_[a * n + b] = false;
      }
    }
  }

  std::unique_ptr<WorldArray> world_;
  EnvSpec spec_;
  int states_;
  std::vector<bool> same_;  // [A, A], above the diagonal
  bool compared_ = false;
};

double measure_speed(const EnvEntry& entry, const CheckOptions& options) {
  const int copies = options.copies < CheckOptions{}.copies ? options.copies : 256;
  BatchRunner runner(entry.make(copies), copies, options.seed, 1);
  Actions actions(runner.env.spec(), copies);
  const Stopwatch all;
  double stepping = 0;
  std::int64_t steps = 0;
  for (std::uint64_t t = 0; all.seconds() < kTimingSeconds; ++t) {
    choose_actions(runner.env.spec(), runner.results().mask, options.seed, t, actions);
    const Stopwatch one;
    runner.step(actions);
    stepping += one.seconds();
    steps += copies;
  }
  return static_cast<double>(steps) / stepping;
}

// "0, 3, 5", at most eight of them.
std::string index_list(const std::vector<int>& indices) {
  constexpr std::size_t kMax = 8;
  const auto end = indices.begin() + static_cast<std::ptrdiff_t>(std::min(indices.size(), kMax));
  return fmt::format("{}{}", fmt::join(indices.begin(), end, ", "),
                     indices.size() > kMax ? " ..." : "");
}

void judge_observations(const Play& play, CheckReport& report) {
  std::vector<int> constant, huge;
  Range all;
  for (int i = 0; i < static_cast<int>(play.obs.size()); ++i) {
    if (play.obs[i].is_constant()) constant.push_back(i);
    if (play.obs[i].size() > kHuge) huge.push_back(i);
    all.take(play.obs[i].low);
    all.take(play.obs[i].high);
  }
  report.facts.push_back(
      fmt::format("observation values from {:.4g} to {:.4g}", all.low, all.high));
  if (!constant.empty()) {
    const Range& first = play.obs[constant[0]];
    report.warnings.push_back(
        {fmt::format("observation value{} {} never changed in {} steps (value {} was always {:g})",
                     constant.size() == 1 ? "" : "s", index_list(constant), play.steps, constant[0],
                     first.low),
         "a constant tells an agent nothing: should it depend on the state?"});
  }
  if (!huge.empty()) {
    report.warnings.push_back(
        {fmt::format("observation value{} {} {} large (value {} reached {:.4g})",
                     huge.size() == 1 ? "" : "s", index_list(huge), huge.size() == 1 ? "is" : "are",
                     huge[0], play.obs[huge[0]].size()),
         "networks learn best from values of about -1 to 1: divide by a typical value, or train "
         "with "
         "--set algo.normalise.obs=true"});
  }
}

void judge_episodes(const Play& play, const EnvSpec& spec, CheckReport& report) {
  report.facts.push_back(
      fmt::format("rewards from {:.4g} to {:.4g}", play.reward.low, play.reward.high));
  if (play.episodes > 0) {
    report.facts.push_back(fmt::format(
        "{} episodes in {} random steps, {} of them terminated; {} to {} steps long, mean "
        "return {:.4g}",
        play.episodes, play.steps, play.terminated, play.shortest, play.longest,
        play.total_return / static_cast<double>(play.episodes)));
  }
  const bool same_length = play.episodes > 0 && play.shortest == play.longest;
  if (play.reward.is_constant() && (play.terminated == 0 || same_length || play.reward.low == 0)) {
    report.warnings.push_back(
        {fmt::format("every reward was {:g} in {} random steps", play.reward.low, play.steps),
         "an agent that sees no other reward has nothing to learn from: reward steps in the right "
         "direction, or make the goal easier to reach by chance"});
  }
  if (play.reward.size() > kHugeReward) {
    report.warnings.push_back(
        {fmt::format("rewards are large (one was {:.4g})", play.reward.size()),
         "networks learn best from returns of about -100 to 100: divide by a typical value, or "
         "train with --set algo.normalise.rewards=true"});
  }
  if (play.episodes == 0 && (spec.max_steps == 0 || spec.max_steps > kFarLimit)) {
    report.warnings.push_back(
        {fmt::format("no episode ended in {} random steps, and {}", play.steps,
                     spec.max_steps == 0 ? "there is no time limit"
                                         : fmt::format("the time limit is {}", spec.max_steps)),
         "set .max_steps in the spec to what a good episode needs, so that episodes end and begin "
         "again"});
  }
  if (play.episodes > 0 && play.longest <= 1) {
    report.warnings.push_back({"every episode ended after its first step",
                               "is `terminated` inverted? reset must leave a state in which the "
                               "game can continue"});
  }
}

}  // namespace

void look_at_play(const EnvEntry& entry, const CheckOptions& options, CheckReport& report) {
  const std::unique_ptr<WorldArray> world = entry.make(1);
  const EnvSpec spec = world->spec();
  report.facts.push_back(fmt::format(
      "{} observations, {}, {}, {} bytes of state{}", spec.obs,
      spec.actions > 0 ? fmt::format("{} discrete actions", spec.actions)
                       : fmt::format("continuous actions of size {}", spec.action_size),
      spec.max_steps > 0 ? fmt::format("at most {} steps", spec.max_steps) : "no time limit",
      world->row_bytes(), world->has_mask() ? ", with a mask" : ""));
  const Play play = play_randomly(entry, options);
  judge_observations(play, report);
  judge_episodes(play, spec, report);
  const Effects effects(entry, options);
  if (effects.all_same()) {
    report.warnings.push_back(
        {fmt::format("actions made no difference in {} states", effects.states()),
         "does step use its action?"});
  } else if (const auto [a, b] = effects.twins(); a >= 0) {
    report.warnings.push_back(
        {fmt::format("actions {} and {} did the same in {} states", a, b, effects.states()),
         "is spec.actions larger than the number of actions that step distinguishes?"});
  }
  report.steps_per_second = measure_speed(entry, options);
}

}  // namespace hotloop
