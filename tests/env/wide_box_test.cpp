// The largest number of continuous action dimensions: every number reaches the world within its
// bounds, in play and in training, and a resumed run ends with the same bits.
#include <gtest/gtest.h>

#include <hotloop/env.hpp>
#include <hotloop/train.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "env/check/battery.hpp"
#include "env/registry.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// Rewards `goal` in each dimension, scaled to its bounds [-1 - i, 2 + i]. A number beyond them ends
// the episode with a large negative reward, which the test would notice.
struct WideBox {
  static constexpr EnvSpec spec = [] {
    EnvSpec wide{.name = "wide_box", .obs = 2, .action_size = kMaxActionSize, .max_steps = 16};
    for (int i = 0; i < kMaxActionSize; ++i) {
      wide.action_low[i] = -1.0f - static_cast<float>(i);
      wide.action_high[i] = 2.0f + static_cast<float>(i);
    }
    return wide;
  }();
  static constexpr float kPunishment = -1000;

  std::array<float, kMaxActionSize> last{};
  float goal = 0;

  void reset(Rng& rng) {
    last.fill(0);
    goal = static_cast<float>(rng.uniform());
  }
  void observe(std::span<float> obs) const { obs[0] = goal, obs[1] = last[kMaxActionSize - 1]; }
  Step step(std::span<const float> action, Rng&) {
    if (action.size() != kMaxActionSize) return {kPunishment, true};
    float distance = 0;
    for (int i = 0; i < kMaxActionSize; ++i) {
      const float low = spec.action_low[i], high = spec.action_high[i];
      if (!(action[i] >= low && action[i] <= high)) return {kPunishment, true};
      last[i] = (action[i] - low) / (high - low);
      distance += std::abs(last[i] - goal);
    }
    return {-distance / kMaxActionSize, false};
  }
};
HOTLOOP_ENV(WideBox)

TEST(WideBox, MeetsTheContract) {
  static_assert(WideBox::spec.action_size == 64);
  EXPECT_EQ(check_env(find_env("wide_box")), std::vector<std::string>{});
}

class WideBoxRun : public testing::Test {
 protected:
  WideBoxRun() : folder_(fs::path(testing::TempDir()) / ("wide_box" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(folder_ / "wide.yaml") << "env: {name: wide_box, count: 4}\n"
                                            "algo: {name: ppo}\n"
                                            "net: {hidden: [16]}\n"
                                            "optimiser: {learning_rate: 0.001}\n"
                                            "evaluation: {every: 0, episodes: 4}\n";
  }
  ~WideBoxRun() override { fs::remove_all(folder_); }

  TrainResult run(int steps) {
    return train((folder_ / "wide.yaml").string(), {"run.steps=" + std::to_string(steps)},
                 (folder_ / "runs").string());
  }

  fs::path folder_;
};

TEST_F(WideBoxRun, TrainsAndResumesToTheSameBits) {
  const TrainResult whole = run(16384), half = run(8192);
  EXPECT_GT(half.updates, 0);
  EXPECT_GT(half.episode_return_mean, -16) << "a number left its bounds";
  EXPECT_NE(half.params_hash, whole.params_hash);
  const TrainResult resumed = resume(half.run_dir, {"run.steps=16384"});
  EXPECT_EQ(resumed.params_hash, whole.params_hash);
  EXPECT_EQ(resumed.updates, whole.updates);
  EXPECT_EQ(resumed.eval_return_mean, whole.eval_return_mean);
  EXPECT_EQ(resumed.episode_return_mean, whole.episode_return_mean);
}

}  // namespace
}  // namespace hotloop
