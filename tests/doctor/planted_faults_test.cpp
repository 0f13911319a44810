// Worlds and specs with one fault each, profiled as a user would. The doctor must name the fault
// first in at least nine of ten profiles, and must not name it where it is absent.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "doctor/findings.hpp"
#include "tests/allocations.hpp"
#include "tests/spec/spec_text.hpp"

namespace hotloop {
namespace {

constexpr int kRepetitions = 10;
constexpr int kMisses = 1;
constexpr double kSeconds = 0.4;

// A walk in which one of two actions is rewarded, and which ends at random after about 32 steps.
struct Walk {
  float x = 0;
  void reset(Rng& rng) { x = static_cast<float>(rng.uniform()); }
  void observe(std::span<float> obs) const {
    for (std::size_t i = 0; i < obs.size(); ++i) obs[i] = x * static_cast<float>(i + 1);
  }
  Step step(int action, Rng& rng) {
    const bool pays = (action == 1) == (x > 0.5f);
    x = static_cast<float>(rng.uniform());
    return {pays ? 1.0f : 0.0f, rng.below(32) == 0};
  }
};

struct Healthy : Walk {
  static constexpr auto spec = EnvSpec{.name = "test_planted_none", .obs = 4, .actions = 2};
};
HOTLOOP_ENV(Healthy)

struct Sleeping : Walk {
  static constexpr auto spec = EnvSpec{.name = "test_planted_sleep", .obs = 4, .actions = 2};
  Step step(int action, Rng& rng) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return Walk::step(action, rng);
  }
};
HOTLOOP_ENV(Sleeping)

struct Allocating : Walk {
  static constexpr auto spec = EnvSpec{.name = "test_planted_allocate", .obs = 4, .actions = 2};
  static inline std::atomic<float*> kept = nullptr;  // or the compiler would remove the allocation
  Step step(int action, Rng& rng) {
    std::vector<float> history(64, x);
    kept.store(history.data(), std::memory_order_relaxed);
    return Walk::step(action, rng);
  }
};
HOTLOOP_ENV(Allocating)

// Every step takes a little longer than the previous one, across episodes.
struct Slowing : Walk {
  static constexpr auto spec = EnvSpec{.name = "test_planted_slow", .obs = 4, .actions = 2};
  static inline std::atomic<std::int64_t> work = 0;
  std::int64_t lived = 0;
  Step step(int action, Rng& rng) {
    ++lived;
    for (std::int64_t i = 0; i < lived / 8; ++i) work.store(i, std::memory_order_relaxed);
    return Walk::step(action, rng);
  }
};
HOTLOOP_ENV(Slowing)

// Each episode is one step longer than the previous one.
struct Lengthening : Walk {
  static constexpr auto spec = EnvSpec{.name = "test_planted_longer", .obs = 4, .actions = 2};
  int episodes = 0;
  int steps = 0;
  void reset(Rng& rng) {
    Walk::reset(rng);
    ++episodes;
    steps = 0;
  }
  Step step(int action, Rng& rng) {
    return {Walk::step(action, rng).reward, ++steps >= 10 + episodes};
  }
};
HOTLOOP_ENV(Lengthening)

TrainSpec planted(const std::string& env, const std::vector<std::string>& overrides = {}) {
  return read("env: {name: " + env + R"(, count: 4}
algo:
  name: dqn
  batch: 32
  learning_starts: 1000
  updates_per_step: 0.25
  train_every: 8
  target: {every: 250}
  epsilon: {kind: linear, from: 1, to: 0.05, over: 10000}
replay: {capacity: 10000}
net: {hidden: [64], activation: tanh}
optimiser: {name: adam, learning_rate: 1.0e-3}
evaluation: {every: 0, episodes: 10}
run: {steps: 200000, log_every: 10000}
)",
              overrides);
}

std::string in_words(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) {
    text += std::string(f.name()) + " (" + std::to_string(f.share) + "): " + f.text + " [" +
            f.evidence + "]\n";
  }
  return text.empty() ? "nothing\n" : text;
}

std::vector<std::vector<Finding>> examine(const TrainSpec& spec) {
  std::vector<std::vector<Finding>> all;
  for (int i = 0; i < kRepetitions; ++i) {
    all.push_back(find_causes(take_profile(spec, {.seconds = kSeconds})));
  }
  return all;
}

constexpr Cause kPlanted[] = {Cause::sleeping,        Cause::allocating,   Cause::slowing,
                              Cause::longer_episodes, Cause::many_updates, Cause::logging,
                              Cause::threads};

void expect_absent(const std::vector<std::vector<Finding>>& all, Cause except = Cause::failure) {
  for (const Cause cause : kPlanted) {
    if (cause == except) continue;
    int named = 0;
    std::string words;
    for (const std::vector<Finding>& findings : all) {
      const bool is_named = std::any_of(findings.begin(), findings.end(),
                                        [&](const Finding& f) { return f.cause == cause; });
      named += is_named;
      if (is_named) words += in_words(findings) + "\n";
    }
    EXPECT_LE(named, kMisses) << kCauseNames[static_cast<std::size_t>(cause)] << "\n" << words;
  }
}

void expect_first(const TrainSpec& spec, Cause cause) {
  const std::vector<std::vector<Finding>> all = examine(spec);
  int hits = 0;
  std::string misses;
  for (const std::vector<Finding>& findings : all) {
    const bool is_first = !findings.empty() && findings.front().cause == cause;
    hits += is_first;
    if (!is_first) misses += in_words(findings) + "\n";
  }
  ::testing::Test::RecordProperty("hits", hits);
  EXPECT_GE(hits, kRepetitions - kMisses) << misses;
  expect_absent(all, cause);
}

TEST(PlantedFaults, AnEnvironmentThatSleeps) {
  expect_first(planted("test_planted_sleep", {"algo.learning_starts=0"}), Cause::sleeping);
}

TEST(PlantedFaults, AnEnvironmentThatAllocates) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer counts allocations itself";
  expect_first(planted("test_planted_allocate"), Cause::allocating);
}

TEST(PlantedFaults, AnEnvironmentThatSlowsDown) {
  expect_first(planted("test_planted_slow"), Cause::slowing);
}

TEST(PlantedFaults, EpisodesThatLengthen) {
  expect_first(planted("test_planted_longer"), Cause::longer_episodes);
}

TEST(PlantedFaults, SixtyFourUpdatesPerStep) {
  expect_first(planted("test_planted_none", {"algo.updates_per_step=64"}), Cause::many_updates);
}

TEST(PlantedFaults, LoggingEveryStep) {
  expect_first(planted("test_planted_none", {"run.log_every=1"}), Cause::logging);
}

TEST(PlantedFaults, FourUnitsOnTwoThreads) {
  expect_first(planted("test_planted_none", {"net.hidden=[4]", "run.threads=2"}), Cause::threads);
}

TEST(PlantedFaults, NoFaultIsFoundWhereThereIsNone) {
  expect_absent(examine(planted("test_planted_none")));
}

}  // namespace
}  // namespace hotloop
