#include "env/vector_worlds.hpp"

#include <gtest/gtest.h>
#include <hotloop/error.hpp>

#include <cstring>

#include "env/batch_env.hpp"

namespace hotloop {
namespace {

// Each row counts to its own limit, row + 2 steps, is truncated there and restarts at once. Action
// 1 terminates an episode early.
class Counters final : public VectorWorlds {
 public:
  explicit Counters(int count) : counts_(count), episodes_(count) {}

  const EnvSpec& spec() const override {
    static constexpr EnvSpec kSpec{.name = "counters", .obs = 2, .actions = 2};
    return kSpec;
  }
  bool has_mask() const override { return true; }
  void begin(std::uint64_t seed, Purpose, const VectorResults& to) override {
    seed_ = static_cast<int>(seed);
    std::fill(counts_.begin(), counts_.end(), 0);
    std::fill(episodes_.begin(), episodes_.end(), 0);
    show(to);
  }
  void step_all(const ActionRows& actions, const VectorResults& to) override {
    EXPECT_TRUE(actions.continuous.empty());
    for (std::size_t row = 0; row < counts_.size(); ++row) {
      ++counts_[row];
      to.rewards[row] = static_cast<float>(counts_[row]);
      to.terminated[row] = actions.discrete[row] == 1;
      to.truncated[row] = counts_[row] == static_cast<int>(row) + 2;
      if ((to.terminated[row] | to.truncated[row]) == 0) continue;
      to.final_obs[2 * row] = static_cast<float>(counts_[row]);
      to.final_obs[2 * row + 1] = static_cast<float>(episodes_[row]);
      counts_[row] = 0;
      ++episodes_[row];
    }
    show(to);
  }
  std::vector<std::byte> save_all() const override {
    std::vector<std::byte> state(2 * sizeof(int) * counts_.size());
    std::memcpy(state.data(), counts_.data(), state.size() / 2);
    std::memcpy(state.data() + state.size() / 2, episodes_.data(), state.size() / 2);
    return state;
  }
  void restore_all(std::uint64_t seed, Purpose, std::span<const std::byte> from,
                   const VectorResults& to) override {
    if (from.size() != 2 * sizeof(int) * counts_.size()) throw RunError("another size");
    seed_ = static_cast<int>(seed);
    std::memcpy(counts_.data(), from.data(), from.size() / 2);
    std::memcpy(episodes_.data(), from.data() + from.size() / 2, from.size() / 2);
    show(to);
  }

 private:
  void show(const VectorResults& to) const {
    for (std::size_t row = 0; row < counts_.size(); ++row) {
      to.obs[2 * row] = static_cast<float>(counts_[row]);
      to.obs[2 * row + 1] = static_cast<float>(seed_);
      to.mask[2 * row] = to.mask[2 * row + 1] = 1;
    }
  }

  int seed_ = 0;
  std::vector<int> counts_, episodes_;  // [N]
};

BatchEnv counters(int count, std::uint64_t seed = 7) {
  return {std::make_unique<Counters>(count), count, seed, Purpose::test};
}

TEST(VectorWorlds, EpisodesAreCountedAndTerminationOutranksTruncation) {
  BatchEnv env = counters(2);
  ThreadTeam team(1);
  EXPECT_EQ(env.obs()[1], 7);
  const std::vector<std::int32_t> stay = {0, 0}, end_first = {1, 0};
  env.step(stay, team);
  EXPECT_TRUE(env.finished().empty());
  env.step(end_first, team);  // row 0 terminates and is out of time
  ASSERT_EQ(env.finished().size(), 1u);
  EXPECT_EQ(env.finished()[0].total_return, 1 + 2);
  EXPECT_EQ(env.finished()[0].length, 2);
  EXPECT_EQ(env.terminated()[0], 1);
  EXPECT_EQ(env.truncated()[0], 0);
  EXPECT_EQ(env.final_obs()[0], 2);
  EXPECT_EQ(env.obs()[0], 0);
  env.step(stay, team);
  ASSERT_EQ(env.finished().size(), 1u);  // row 1, after three steps
  EXPECT_EQ(env.finished()[0].length, 3);
  EXPECT_EQ(env.truncated()[1], 1);
}

TEST(VectorWorlds, RestoredContinues) {
  ThreadTeam team(1);
  const std::vector<std::int32_t> stay = {0, 0, 0};
  BatchEnv straight = counters(3);
  straight.step(stay, team);
  const std::vector<std::byte> state = straight.save();
  BatchEnv resumed = counters(3);
  resumed.restore(state);
  EXPECT_EQ(resumed.steps(), 1u);
  for (int t = 0; t < 5; ++t) {
    straight.step(stay, team);
    resumed.step(stay, team);
    ASSERT_EQ(straight.save(), resumed.save());
    ASSERT_EQ(straight.finished().size(), resumed.finished().size());
    ASSERT_TRUE(std::equal(straight.obs().begin(), straight.obs().end(), resumed.obs().begin()));
  }
  EXPECT_THROW(resumed.restore(std::span(state).first(10)), RunError);
}

TEST(BatchEnv, WritesItsResultsToMemoryOfTheCaller) {
  BatchEnv env = counters(2);
  ThreadTeam team(1);
  std::vector<float> obs(4), rewards(2);
  std::vector<std::uint8_t> terminated(2), truncated(2);
  env.show_in({obs, rewards, terminated, truncated});
  const std::vector<std::int32_t> actions = {0, 1};
  env.step(actions, team);
  EXPECT_EQ(rewards, (std::vector<float>{1, 1}));
  EXPECT_EQ(terminated, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(obs, (std::vector<float>{1, 7, 0, 7}));
  EXPECT_EQ(env.obs().data(), obs.data());
}

TEST(BatchEnv, ANewSeedTakesEffectAtTheNextReset) {
  BatchEnv env = counters(1);
  env.set_seed(9);
  EXPECT_EQ(env.obs()[1], 7);
  env.reset();
  EXPECT_EQ(env.obs()[1], 9);
}

}  // namespace
}  // namespace hotloop
