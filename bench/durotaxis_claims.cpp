// Durotaxis: the four optimisations that its authors described.
#include <array>
#include <memory>

#include "algo/common/policy.hpp"
#include "algo/common/returns.hpp"
#include "bench/claims.hpp"
#include "envs/durotaxis/world.hpp"
#include "reference/durotaxis.hpp"
#include "reference/gae.hpp"
#include "reference/policy.hpp"
#include "reference/reward_record.hpp"

namespace hotloop::bench {
namespace {

std::vector<float> random_floats(std::size_t count, double low, double high) {
  Rng rng(1, Purpose::test, 0, count);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(rng.uniform(low, high));
  return values;
}

struct Selection {
  static constexpr int kCells = 100;
  std::vector<float> x = random_floats(kCells, 0, 600);
  std::vector<std::uint8_t> chosen = std::vector<std::uint8_t>(kCells), sorted = chosen;

  void fast() { durotaxis_leftmost(x, kCells / 2, chosen.data()); }
  void slow() {
    std::fill(sorted.begin(), sorted.end(), std::uint8_t{0});
    for (const int i : reference::leftmost(x, kCells / 2)) sorted[i] = 1;
  }
};

struct Entropy {
  static constexpr int kBlocks = 2, kDimensions = 5, kSamples = 16;
  struct alignas(64) Block {
    std::array<float, 2 * kDimensions * kLanes> policies;  // means, log stds
    std::array<float, kLanes> entropies;
  };
  PolicyHead head{.kind = PolicyKind::gaussian, .actions = kDimensions, .low = {}, .high = {}};
  std::array<Block, kBlocks> blocks;
  reference::Estimate estimate{};  // of the mean over all policies

  Entropy() {
    const auto values = random_floats(blocks.size() * blocks[0].policies.size(), -1, 1);
    auto from = values.begin();
    for (Block& block : blocks) {
      std::copy_n(from, block.policies.size(), block.policies.begin());
      from += static_cast<std::ptrdiff_t>(block.policies.size());
    }
  }
  void fast() {
    for (Block& block : blocks) {
      entropy(head, block.policies.data(), kLanes, block.entropies.data());
    }
  }
  void slow() {
    Rng rng(1, Purpose::test, 0, 0);
    double sum = 0, variance = 0;
    for (const Block& block : blocks) {
      for (int lane = 0; lane < kLanes; ++lane) {
        std::vector<double> outputs;
        for (int i = 0; i < 2 * kDimensions; ++i) {
          outputs.push_back(block.policies[i * kLanes + lane]);
        }
        const reference::Policy policy{.head = head, .outputs = outputs};
        const auto [mean, error] = reference::sampled_entropy(policy, kSamples, rng);
        sum += mean;
        variance += error * error;
      }
    }
    constexpr int kPolicies = kBlocks * kLanes;
    estimate = {sum / kPolicies, std::sqrt(variance) / kPolicies};
  }
  double standard_errors() {
    fast();
    slow();
    double sum = 0;
    for (const Block& block : blocks) {
      for (const float value : block.entropies) sum += value;
    }
    return std::abs(estimate.mean - sum / (kBlocks * kLanes)) / estimate.error;
  }
};

struct Advantages {
  static constexpr int kSteps = 64, kEnvs = 32, kAll = kSteps * kEnvs;
  static constexpr double kGamma = 0.99, kLambda = 0.95;
  std::vector<float> rewards = random_floats(kAll, -1, 1);
  std::vector<float> values = random_floats(kAll + kEnvs, -5, 5);
  std::vector<std::uint8_t> ended = std::vector<std::uint8_t>(kAll), never = ended;
  std::vector<float> returns = rewards, slow_returns = rewards;

  Advantages() {
    for (int i = 0; i < kAll; i += 37) ended[i] = 1;
  }
  void fast() {
    lambda_returns(kSteps, kEnvs, kGamma, kLambda, rewards, 1, ended, never,
                   std::span(values).subspan(kEnvs), returns);
  }
  void slow() {
    for (int lane = 0; lane < kEnvs; ++lane) {
      std::vector<reference::GaeStep> list;
      for (int i = lane; i < kAll; i += kEnvs) {
        list.push_back({rewards[i], values[i], values[i + kEnvs], ended[i] != 0, false});
      }
      const std::vector<double> advantages = reference::gae(list, kGamma, kLambda);
      for (int t = 0; t < kSteps; ++t) {
        const int i = t * kEnvs + lane;
        slow_returns[i] = static_cast<float>(advantages[t] + values[i]);
      }
    }
  }
};

struct Records {
  static constexpr int kSteps = 50;
  std::array<DurotaxisReward, kSteps> steps;
  DurotaxisReward sums;
  reference::RewardRecord record;

  Records() {
    const std::vector<float> v = random_floats(kSteps * 12, -10, 10);
    for (int t = 0; t < kSteps; ++t) {
      const float* r = &v[t * 12];
      steps[t] = {r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], t};
    }
  }
  void fast() {
    sums = {};
    for (const DurotaxisReward& step : steps) sums += step;
  }
  void slow() {
    record = reference::reward_record({});
    for (const DurotaxisReward& step : steps) {
      reference::add_record(reference::reward_record(step), record);
    }
  }
  double difference() {
    fast();
    slow();
    double largest = 0;
    for (const auto& [key, value] : reference::reward_record(sums)) {
      largest = std::max(largest, std::abs(value - record.at(key)));
    }
    return largest;
  }
};

}  // namespace

std::vector<Claim> durotaxis_claims() {
  const auto selection = std::make_shared<Selection>();
  const auto entropy = std::make_shared<Entropy>();
  const auto advantages = std::make_shared<Advantages>();
  const auto records = std::make_shared<Records>();
  const auto compare = [](auto contest, const auto& fast, const auto& slow) {
    contest->fast();
    contest->slow();
    return largest_difference(fast, slow);
  };
  return {
      {.name = "sort against selection",
       .system = "durotaxis",
       .claimed = "2 to 3 x (§15)",
       .conditions = "the leftmost 50 of 100 cells",
       .slow = [=] { selection->slow(); },
       .fast = [=] { selection->fast(); },
       .difference = [=] { return compare(selection, selection->chosen, selection->sorted); }},
      {.name = "sampled against closed-form entropy",
       .system = "durotaxis",
       .claimed = "5 to 10 x (§15)",
       .conditions = "64 policies of 5 dimensions, 16 samples each or none",
       .slow = [=] { entropy->slow(); },
       .fast = [=] { entropy->fast(); },
       .difference = [=] { return entropy->standard_errors(); },
       .tolerance = 3,
       .unit = "standard errors"},
      {.name = "list against array GAE",
       .system = "durotaxis",
       .claimed = "2 to 3 x (§15)",
       .conditions = "64 steps of 32 environments",
       .slow = [=] { advantages->slow(); },
       .fast = [=] { advantages->fast(); },
       .difference =
           [=] { return compare(advantages, advantages->returns, advantages->slow_returns); },
       .tolerance = 1e-5},
      {.name = "reward record",
       .system = "durotaxis",
       .claimed = "1.05 to 1.1 x (§15)",
       .conditions = "an episode of 50 steps: 13 values each, added up",
       .slow = [=] { records->slow(); },
       .fast = [=] { records->fast(); },
       .difference = [=] { return records->difference(); }},
  };
}

}  // namespace hotloop::bench
