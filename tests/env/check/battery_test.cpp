// The battery must be able to fail: each world here breaks one rule, and exactly that is reported.
#include "env/check/battery.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace hotloop {
namespace {

// A correct world, to be broken below: starts at a random number, counts its steps, ends at 20.
// Only the first action is always allowed.
struct Sound {
  static constexpr EnvSpec spec{.name = "sound",
                                .obs = 3,
                                .actions = 2,
                                .max_steps = 50,
                                .parts = {{{"time", {1}}, {"rest", {1, 2}}}}};
  int steps = 0, start = 0;
  void reset(Rng& rng) {
    steps = 0;
    start = static_cast<int>(rng.below(10));
  }
  void observe(std::span<float> obs) const {
    obs[0] = static_cast<float>(steps);
    obs[1] = static_cast<float>(start);
    obs[2] = 0;
  }
  void mask(std::span<std::uint8_t> allowed) const {
    allowed[0] = 1;
    allowed[1] = steps % 3 == 0 ? 0 : 1;
  }
  Step step(int action, Rng& rng) {
    steps += 1 + action;
    return {static_cast<float>(rng.uniform()), steps + start >= 20};
  }
};

struct WritesTooMuch : Sound {
  void observe(std::span<float> obs) const {
    Sound::observe(obs);
    if (steps >= 5) obs.data()[3] = 1;  // not through the span, which may check bounds
  }
};

struct WritesTooLittle : Sound {
  void observe(std::span<float> obs) const {
    obs[0] = static_cast<float>(steps);
    obs[1] = 0;
  }
};

struct NotFinite : Sound {
  void observe(std::span<float> obs) const {
    Sound::observe(obs);
    if (steps >= 7) obs[2] = std::numeric_limits<float>::quiet_NaN();
  }
};

struct InfiniteReward : Sound {
  Step step(int action, Rng& rng) {
    Step result = Sound::step(action, rng);
    if (steps >= 7) result.reward = std::numeric_limits<float>::infinity();
    return result;
  }
};

struct NothingAllowed : Sound {
  void mask(std::span<std::uint8_t> allowed) const { allowed[0] = allowed[1] = steps < 9 ? 1 : 0; }
};

struct MaskOfTwos : Sound {
  void mask(std::span<std::uint8_t> allowed) const { allowed[0] = allowed[1] = 2; }
};

struct PartsDoNotAddUp : Sound {
  static constexpr EnvSpec spec{.name = "parts do not add up",
                                .obs = 3,
                                .actions = 2,
                                .parts = {{{"time", {1}}, {"rest", {3}}}}};
};

int other_dice = 0;  // randomness from outside the streams
struct OtherDice : Sound {
  Step step(int action, Rng& rng) {
    Step result = Sound::step(action, rng);
    result.reward += static_cast<float>(++other_dice % 7);
    return result;
  }
};

struct DeafToSeeds : Sound {
  void reset(Rng& rng) {
    Sound::reset(rng);
    start = 3;
  }
  Step step(int action, Rng&) {
    steps += 1 + action;
    return {1, steps + start >= 20};
  }
};

// Keeps its state outside the struct, indexed by a handle: repeatable, but not copied.
int outside[1 << 20];
int handles = 0;
struct StateElsewhere : Sound {
  int handle = -1;
  void reset(Rng& rng) {
    Sound::reset(rng);
    if (handle < 0) handle = handles++;
    outside[handle] = 0;
  }
  Step step(int action, Rng&) {
    steps += 1 + action;
    return {static_cast<float>(++outside[handle]), steps + start >= 20};
  }
};

// A batch whose row 5 has slightly larger rewards from the fourth step of an episode on.
struct BatchDiffers {
  static constexpr EnvSpec spec{.name = "batch differs", .obs = 1, .actions = 2, .max_steps = 10};
  int steps = 0;
  void reset(Rng& rng) { steps = static_cast<int>(rng.below(2)); }
  void observe(std::span<float> obs) const { obs[0] = static_cast<float>(steps); }
  Step step(int, Rng&) { return {static_cast<float>(++steps), false}; }

  struct Batch {
    std::vector<BatchDiffers> worlds;
    void resize(int count) { worlds.resize(count); }
    BatchDiffers get(int row) const { return worlds[row]; }
    void set(int row, const BatchDiffers& world) { worlds[row] = world; }
    void step(int begin, int end, std::span<const std::int32_t>, std::span<float> rewards,
              std::span<std::uint8_t> terminated) {
      for (int row = begin; row < end; ++row) {
        rewards[row] = static_cast<float>(++worlds[row].steps);
        if (row == 5 && worlds[row].steps >= 4) rewards[row] += 0.5f;
        terminated[row] = 0;
      }
    }
    void observe(int begin, int end, std::span<float> obs) const {
      for (int row = begin; row < end; ++row) obs[row] = static_cast<float>(worlds[row].steps);
    }
  };
};

// A batch that is correct only if all rows are stepped together.
struct BatchNeedsTheFirstRow : BatchDiffers {
  static constexpr EnvSpec spec{
      .name = "batch needs the first row", .obs = 1, .actions = 2, .max_steps = 10};

  struct Batch {
    std::vector<BatchNeedsTheFirstRow> worlds;
    void resize(int count) { worlds.resize(count); }
    BatchNeedsTheFirstRow get(int row) const { return worlds[row]; }
    void set(int row, const BatchNeedsTheFirstRow& world) { worlds[row] = world; }
    void step(int begin, int end, std::span<const std::int32_t>, std::span<float> rewards,
              std::span<std::uint8_t> terminated) {
      for (int row = begin; row < end; ++row) {
        rewards[row] = static_cast<float>(++worlds[row].steps) + (begin > 0 ? 0.5f : 0.0f);
        terminated[row] = 0;
      }
    }
    void observe(int begin, int end, std::span<float> obs) const {
      for (int row = begin; row < end; ++row) obs[row] = static_cast<float>(worlds[row].steps);
    }
  };
};

// A batch that plays correctly, but forgets reward parts and measures.
struct BatchForgetsReports : BatchDiffers {
  static constexpr EnvSpec spec{.name = "batch forgets what is reported",
                                .obs = 1,
                                .actions = 2,
                                .max_steps = 10,
                                .measures = {"reported"},
                                .reward_parts = {"reported"}};
  float reported = 0;
  void reset(Rng&) { *this = {}; }
  Step step(int, Rng&) {
    reported = static_cast<float>(++steps);
    return {reported, false};
  }
  void measure(std::span<float> values) const { values[0] = steps == 10 ? reported : 0; }
  void reward_parts(std::span<float> parts) const { parts[0] = steps < 10 ? reported : 0; }

  template <bool kKeepsParts>
  struct BatchOf {
    std::vector<BatchForgetsReports> worlds;
    void resize(int count) { worlds.resize(count); }
    BatchForgetsReports get(int row) const { return worlds[row]; }
    void set(int row, const BatchForgetsReports& world) { worlds[row] = world; }
    void step(int begin, int end, std::span<const std::int32_t>, std::span<float> rewards,
              std::span<std::uint8_t> terminated) {
      for (int row = begin; row < end; ++row) {
        rewards[row] = static_cast<float>(++worlds[row].steps);
        const bool reports = kKeepsParts && worlds[row].steps < 10;
        worlds[row].reported = reports ? rewards[row] : 0;
        terminated[row] = 0;
      }
    }
    void observe(int begin, int end, std::span<float> obs) const {
      for (int row = begin; row < end; ++row) obs[row] = static_cast<float>(worlds[row].steps);
    }
  };
  using Batch = BatchOf<false>;
};
struct BatchForgetsMeasures : BatchForgetsReports {
  struct Batch : BatchOf<true> {
    BatchForgetsMeasures get(int row) const { return {BatchOf::get(row)}; }
    void set(int row, const BatchForgetsMeasures& world) { BatchOf::set(row, world); }
  };
};

// A batch that counts its own steps and forgets truncation: correct until a time limit is reached.
struct BatchForgetsCuts : BatchDiffers {
  static constexpr EnvSpec spec{.name = "batch forgets cuts", .obs = 1, .actions = 2};
  void reset(Rng&) { steps = 0; }
  Step step(int, Rng&) { return {static_cast<float>(++steps), steps == 9}; }

  struct Batch {
    std::vector<int> steps;
    std::vector<int> clock;  // not copied by get and set
    void resize(int count) {
      steps.resize(count);
      clock.resize(count);
    }
    BatchForgetsCuts get(int row) const {
      BatchForgetsCuts world;
      world.steps = steps[row];
      return world;
    }
    void set(int row, const BatchForgetsCuts& world) { steps[row] = world.steps; }
    void step(int begin, int end, std::span<const std::int32_t>, std::span<float> rewards,
              std::span<std::uint8_t> terminated) {
      for (int row = begin; row < end; ++row) {
        rewards[row] = static_cast<float>(++steps[row]);
        clock[row] = clock[row] % 9 + 1;
        terminated[row] = clock[row] == 9 ? 1 : 0;
      }
    }
    void observe(int begin, int end, std::span<float> obs) const {
      for (int row = begin; row < end; ++row) obs[row] = static_cast<float>(steps[row]);
    }
  };
};

// Neither its constructor nor reset initialises a member.
struct NoInitialValue : Sound {
  NoInitialValue() {}
  int forgotten;
  void observe(std::span<float> obs) const {
    Sound::observe(obs);
    obs[2] = static_cast<float>(forgotten);
  }
};

// Keeps its total across episodes, and rewards grow with it.
struct ForgetsToReset : Sound {
  float total = 0;
  Step step(int action, Rng& rng) {
    Step result = Sound::step(action, rng);
    total += 1;
    return {total, result.terminated};
  }
};

// Keep something across episodes that only the measure or the mask shows.
struct KeepsMeasure : Sound {
  static constexpr EnvSpec spec{
      .name = "keeps measure", .obs = 3, .actions = 2, .max_steps = 50, .measures = {"reported"}};
  int reported = 0;
  Step step(int action, Rng& rng) {
    ++reported;
    return Sound::step(action, rng);
  }
  void measure(std::span<float> values) const { values[0] = static_cast<float>(reported); }
};
struct KeepsMask : Sound {
  int reported = 0;
  Step step(int action, Rng& rng) {
    reported = 1;
    return Sound::step(action, rng);
  }
  void mask(std::span<std::uint8_t> allowed) const {
    allowed[0] = 1;
    allowed[1] = steps == 0 && reported == 1 ? 0 : 1;
  }
};

// Keeps something that no observation shows: the step count may continue after a reset.
struct KeepsSecret : Sound {
  int secret = 0;
  Step step(int action, Rng& rng) {
    ++secret;
    return Sound::step(action, rng);
  }
};

// A correct world with continuous actions, which records when an action is out of bounds.
struct SoundBox {
  static constexpr EnvSpec spec{.name = "sound box",
                                .obs = 2,
                                .action_size = 2,
                                .action_low = {-2, 0},
                                .action_high = {2, 0.125f},
                                .max_steps = 50};
  float x = 0, y = 0;
  void reset(Rng& rng) {
    x = static_cast<float>(rng.uniform());
    y = 0;
  }
  void observe(std::span<float> obs) const {
    obs[0] = x;
    obs[1] = y;
  }
  Step step(std::span<const float> action, Rng&) {
    const bool inside = action.size() == 2 && action[0] >= -2 && action[0] <= 2 && action[1] >= 0 &&
                        action[1] <= 0.125f;
    x += action[0];
    y += action[1];
    return {inside ? x : std::numeric_limits<float>::infinity(), y > 1};
  }
};

// Fails when random play reaches a corner of the box.
struct FailsAtTheCorner : SoundBox {
  Step step(std::span<const float> action, Rng& rng) {
    Step result = SoundBox::step(action, rng);
    if (action[0] == 2 && action[1] == 0) result.reward = std::numeric_limits<float>::quiet_NaN();
    return result;
  }
};

// Fails when random play is between the bounds.
struct FailsInside : SoundBox {
  void observe(std::span<float> obs) const {
    SoundBox::observe(obs);
    if (y > 0 && y < 0.125f) obs[0] = std::numeric_limits<float>::quiet_NaN();
  }
};

// Swaps the two action values from the eighth row on.
struct BoxBatchDiffers : SoundBox {
  struct Batch {
    std::vector<BoxBatchDiffers> worlds;
    void resize(int count) { worlds.resize(count); }
    BoxBatchDiffers get(int row) const { return worlds[row]; }
    void set(int row, const BoxBatchDiffers& world) { worlds[row] = world; }
    void step(int begin, int end, std::span<const float> actions, std::span<float> rewards,
              std::span<std::uint8_t> terminated) {
      Rng unused(0, Purpose::test, 0, 0);
      for (int row = begin; row < end; ++row) {
        const auto own = actions.subspan(2 * static_cast<std::size_t>(row), 2);
        const std::array<float, 2> mixed{own[0], row < 8 ? own[1] : 0.125f - own[1]};
        const Step result = worlds[row].step(mixed, unused);
        rewards[row] = result.reward;
        terminated[row] = result.terminated ? 1 : 0;
      }
    }
    void observe(int begin, int end, std::span<float> obs) const {
      for (int row = begin; row < end; ++row) worlds[row].observe(obs.subspan(2 * row, 2));
    }
  };
};

std::string all(const std::vector<std::string>& failures) {
  std::string text;
  for (const std::string& failure : failures) text += failure + "\n";
  return text;
}

// The first failure begins with `start` and contains `fact`.
template <class W>
void expect_failure(std::size_t count, const std::string& start, const std::string& fact) {
  const std::vector<std::string> failures = check_env(env_entry<W>());
  ASSERT_EQ(failures.size(), count) << all(failures);
  EXPECT_EQ(failures[0].substr(0, start.size()), start) << all(failures);
  EXPECT_NE(failures[0].find(fact), std::string::npos) << all(failures);
}

TEST(Battery, SoundWorldPasses) { EXPECT_EQ(all(check_env(env_entry<Sound>())), ""); }

TEST(Battery, SoundBoxPasses) { EXPECT_EQ(all(check_env(env_entry<SoundBox>())), ""); }

TEST(Battery, BoxIsPlayedAtItsBounds) {
  expect_failure<FailsAtTheCorner>(1, "sound box: random play: row ",
                                   "reward: expected a finite number, found nan");
}

TEST(Battery, BoxIsPlayedBetweenItsBounds) {
  expect_failure<FailsInside>(1, "sound box: random play: row ",
                              "observation: expected a finite value 0, found nan");
}

TEST(Battery, BoxBatchThatDiffersFromItsTwin) {
  expect_failure<BoxBatchDiffers>(
      1, "sound box: batch against one by one, 1 thread(s): step 1, row 8: observation[1]",
      "expected ");
}

TEST(Battery, WriteBeyondTheRow) {
  expect_failure<WritesTooMuch>(
      1, "sound: random play: row ",
      "observation: expected exactly 3 values to be written, found a write after the row");
}

TEST(Battery, ValueNotWritten) {
  expect_failure<WritesTooLittle>(
      1, "sound: random play: row 0, step 0: ",
      "observation: expected value 2 to be written, found it untouched");
}

TEST(Battery, NonFiniteObservation) {
  expect_failure<NotFinite>(1, "sound: random play: row ",
                            "observation: expected a finite value 2, found nan");
}

TEST(Battery, NonFiniteReward) {
  expect_failure<InfiniteReward>(1, "sound: random play: row ",
                                 "reward: expected a finite number, found inf");
}

TEST(Battery, NoActionAllowed) {
  expect_failure<NothingAllowed>(1, "sound: random play: row ",
                                 "mask: expected at least one allowed action, found none");
}

TEST(Battery, MaskNeitherZeroNorOne) {
  expect_failure<MaskOfTwos>(
      1, "sound: random play: row 0, step 0: ", "mask: expected 0 or 1 for action 0, found 2");
}

TEST(Battery, PartSizes) {
  expect_failure<PartsDoNotAddUp>(1, "parts do not add up: parts: ",
                                  "expected the named parts to add up to spec.obs = 3, found 4");
}

TEST(Battery, RandomnessFromOutside) {
  expect_failure<OtherDice>(1, "sound: same seed: step 1, row 0: reward: expected ", "found ");
}

TEST(Battery, SeedWithoutEffect) {
  expect_failure<DeafToSeeds>(1,
                              "sound: other seed: ", "expected seeds 1 and 2 to play differently");
}

TEST(Battery, MemberWithoutInitialValue) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer fills memory itself";
#endif
  // Any check may find it first, because the content of the memory is undefined.
  const std::string failures = all(check_env(env_entry<NoInitialValue>()));
  EXPECT_NE(failures.find("observation[2]: expected "), std::string::npos) << failures;
}

TEST(Battery, MemberThatIsNotReset) {
  expect_failure<ForgetsToReset>(
      1, "sound: reset: step 1, row 0: reward: expected 1, found ",
      "; after reset, bytes 8 to 11 of its 12 bytes of state differ from a fresh");
  expect_failure<KeepsMeasure>(1, "keeps measure: reset: step ", ": reported: expected ");
  expect_failure<KeepsMask>(1, "sound: reset: step 0, row 0: mask[1]: expected 1, found 0", "");
  EXPECT_EQ(all(check_env(env_entry<KeepsSecret>())), "");
}

TEST(Battery, StateOutsideTheWorld) {
  expect_failure<StateElsewhere>(1, "sound: save and restore: step 104, row ", "reward: expected ");
}

// Row 5 starts at 0 or 1 and shows the difference when it reaches 4.
TEST(Battery, BatchThatDiffersFromItsTwin) {
  const std::vector<std::string> failures = check_env(env_entry<BatchDiffers>());
  ASSERT_FALSE(failures.empty());
  EXPECT_NE(all(failures).find("batch differs: batch against one by one, 1 thread(s): step "),
            std::string::npos)
      << all(failures);
  EXPECT_NE(all(failures).find("row 5: reward: expected 4, found 4.5"), std::string::npos)
      << all(failures);
}

// Two threads step rows 0 to 33 and the rest; one thread starts at row 0.
TEST(Battery, BatchThatCannotBeSplit) {
  expect_failure<BatchNeedsTheFirstRow>(
      1, "batch needs the first row: batch against one by one, 2 thread(s): step 1, row 3",
      "reward: expected ");
}

TEST(Battery, BatchThatForgetsRewardPartsAndMeasures) {
  const auto expect_said = [](const EnvEntry& entry, const std::string& text) {
    const std::string failures = all(check_env(entry));
    EXPECT_NE(failures.find(text), std::string::npos) << failures;
  };
  expect_said(env_entry<BatchForgetsReports>(),
              "step 1, row 0: part reported of the reward: expected 1, found 0");
  expect_said(env_entry<BatchForgetsMeasures>(),
              "step 10, finished episode 0: reported: expected 10, found 0");
}

TEST(Battery, BatchThatForgetsTruncation) {
  const std::string failures = all(check_env(env_entry<BatchForgetsCuts>()));
  EXPECT_NE(failures.find("time limit of 5: step 9, row 0: terminated: expected 0, found 1"),
            std::string::npos)
      << failures;
  EXPECT_EQ(failures.find("batch against one by one"), std::string::npos) << failures;
}

}  // namespace
}  // namespace hotloop
