#include "record/transitions/transition_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include <hotloop/error.hpp>

#include "record/safetensors.hpp"
#include "tests/memory/random_demonstrations.hpp"
#include "tests/record/forgery.hpp"

namespace hotloop {
namespace {

std::vector<TransitionKind> kinds() {
  return {{.obs = 3, .actions = 4, .action_size = 0, .masks = false},
          {.obs = 1, .actions = 2, .action_size = 0, .masks = true},
          {.obs = 2,
           .actions = 0,
           .action_size = 2,
           .masks = false,
           .action_low = {-2, 0.1f},
           .action_high = {3, 0.2f}}};
}

class TransitionFileTest : public testing::Test {
 protected:
  TransitionFileTest()
      : path_(testing::TempDir() + "transitions_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors") {}
  ~TransitionFileTest() override { std::remove(path_.c_str()); }

  std::string refusal(const Forgery& forgery) const {
    forgery.write(path_);
    try {
      load_transitions(path_);
    } catch (const RunError& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(path_ + ": ")) << text;
      return text.substr(path_.size() + 2);
    }
    return "";
  }
  Forgery good(int kind) const {
    save_transitions(path_, {"maze", random_demonstrations(kinds()[kind], 5, 3)});
    return Forgery::of(path_);
  }
  std::string refusal_with_env(int kind, const char* field, const Json& value) const {
    Forgery forgery = good(kind);
    Json env = Json::parse(forgery.metadata("env"));
    env[field] = value;
    forgery.set_metadata("env", env.dump());
    return refusal(forgery);
  }
  template <class T>
  std::string refusal_with(int kind, const char* tensor, std::size_t at, T value) const {
    Forgery forgery = good(kind);
    forgery.values<T>(tensor)[at] = value;
    return refusal(forgery);
  }

  std::string path_;
};

TEST_F(TransitionFileTest, ComesBackAsItWas) {
  for (const TransitionKind& kind : kinds()) {
    const Demonstrations d = random_demonstrations(kind, 20, 1);
    save_transitions(path_, {"maze", d});
    const TransitionFile file = load_transitions(path_);
    const Demonstrations& back = file.transitions;
    EXPECT_EQ(file.env, "maze");
    EXPECT_EQ(back.kind.obs, kind.obs);
    EXPECT_EQ(back.kind.actions, kind.actions);
    EXPECT_EQ(back.kind.action_size, kind.action_size);
    EXPECT_EQ(back.kind.masks, kind.masks);
    EXPECT_EQ(back.kind.action_low, kind.action_low);
    EXPECT_EQ(back.kind.action_high, kind.action_high);
    EXPECT_EQ(back.obs, d.obs);
    EXPECT_EQ(back.mask, d.mask);
    EXPECT_EQ(back.actions, d.actions);
    EXPECT_EQ(back.continuous_actions, d.continuous_actions);
    EXPECT_EQ(back.rewards, d.rewards);
    EXPECT_EQ(back.terminated, d.terminated);
    EXPECT_EQ(back.truncated, d.truncated);
    EXPECT_EQ(back.final_obs, d.final_obs);
    EXPECT_EQ(back.final_mask, d.final_mask);
    EXPECT_EQ(back.episodes(), 20);
  }
}

TEST_F(TransitionFileTest, TheHashIsThatOfTheContent) {
  const TransitionFile file{"maze", random_demonstrations(kinds()[1], 5, 3)};
  const std::string hash = transitions_hash(file);
  EXPECT_EQ(hash.size(), 16u);
  save_transitions(path_, file);
  EXPECT_EQ(transitions_hash(load_transitions(path_)), hash);
  const auto changed = [&](const std::function<void(TransitionFile&)>& change) {
    TransitionFile other = file;
    change(other);
    return transitions_hash(other) != hash;
  };
  EXPECT_TRUE(changed([](TransitionFile& f) { f.env = "mace"; }));
  EXPECT_TRUE(changed([](TransitionFile& f) { f.transitions.kind.actions = 3; }));
  EXPECT_TRUE(changed([](TransitionFile& f) { f.transitions.obs[3] += 1; }));
  EXPECT_TRUE(changed([](TransitionFile& f) { f.transitions.actions[0] ^= 1; }));
  EXPECT_TRUE(changed([](TransitionFile& f) { f.transitions.rewards[1] += 1; }));
  EXPECT_TRUE(changed([](TransitionFile& f) { f.transitions.terminated[1] ^= 1; }));
  EXPECT_TRUE(changed([](TransitionFile& f) { f.transitions.truncated[1] ^= 1; }));
  EXPECT_TRUE(changed([](TransitionFile& f) { f.transitions.final_obs[1] += 1; }));
  EXPECT_TRUE(changed([](TransitionFile& f) { f.transitions.mask[1] ^= 1; }));
  EXPECT_TRUE(changed([](TransitionFile& f) { f.transitions.final_mask[1] ^= 1; }));
}

TEST_F(TransitionFileTest, AnEnvironmentIsKnownByTheNameThatOtherProcessesShare) {
  EXPECT_EQ(recorded_name("cartpole"), "cartpole");
  EXPECT_EQ(recorded_name("/some/where/maze.cpp"), "maze.cpp");
  EXPECT_EQ(recorded_name("gymnasium:CartPole-v1"), "gymnasium:CartPole-v1");
  EXPECT_EQ(recorded_name("python:make_env@12ab34cd"), "python:make_env");
}

TEST_F(TransitionFileTest, NumbersThatCouldNotBeReadAreNotWritten) {
  Demonstrations d = random_demonstrations(kinds()[0], 5, 3);
  d.rewards[2] = std::nanf("");
  try {
    save_transitions(path_, {"maze", d});
    FAIL() << "accepted";
  } catch (const RunError& error) {
    EXPECT_EQ(error.what(),
              path_ + ": not written: number 2 of rewards is nan; allowed: finite numbers");
  }
  EXPECT_THROW(load_transitions(path_), RunError);
}

using ForgedTransitions = TransitionFileTest;

TEST_F(ForgedTransitions, AnUnchangedFileIsAccepted) {
  for (int kind = 0; kind < 3; ++kind) EXPECT_EQ(refusal(good(kind)), "");
}

TEST_F(ForgedTransitions, AnotherFormatIsRefused) {
  Forgery forgery = good(0);
  forgery.set_metadata("format", "hotloop-model-2");
  EXPECT_EQ(refusal(forgery),
            "format 'hotloop-model-2', expected transitions ('hotloop-transitions-1')");
}

TEST_F(ForgedTransitions, NumbersOutsideTheirRangesAreRefused) {
  EXPECT_EQ(refusal_with(0, "obs", 5, std::nanf("")),
            "tensor \"obs\": number 5 is nan; allowed: finite numbers");
  EXPECT_NE(refusal_with(0, "final_obs", 0, HUGE_VALF), "");
  EXPECT_NE(refusal_with(0, "rewards", 0, -HUGE_VALF), "");
  EXPECT_EQ(refusal_with<std::int32_t>(0, "actions", 1, 4),
            "tensor \"actions\": number 1 is 4; allowed: integers from 0 to 3");
  EXPECT_NE(refusal_with<std::int32_t>(0, "actions", 0, -1), "");
  EXPECT_NE(refusal_with<std::uint8_t>(0, "terminated", 0, 2), "");
  EXPECT_NE(refusal_with<std::uint8_t>(0, "truncated", 0, 255), "");
  EXPECT_NE(refusal_with<std::uint8_t>(1, "mask", 0, 2), "");
  EXPECT_NE(refusal_with(2, "actions", 0, std::nanf("")), "");
  EXPECT_EQ(refusal_with(2, "actions", 2, -2.5f),
            "transition 1: value 0 of its action is -2.5; allowed: -2 to 3");
  EXPECT_EQ(refusal_with(2, "actions", 3, 0.21f),
            "transition 1: value 1 of its action is 0.21; allowed: 0.1 to 0.2");
}

TEST_F(ForgedTransitions, FlagsThatMakeNoEpisodesAreRefused) {
  const Forgery file = good(0);
  Forgery forgery = file;
  const auto count = static_cast<std::int64_t>(forgery.values<float>("rewards").size());
  const auto with = [&](std::int64_t at, std::uint8_t terminated, std::uint8_t truncated) {
    forgery = file;
    forgery.values<std::uint8_t>("terminated")[at] = terminated;
    forgery.values<std::uint8_t>("truncated")[at] = truncated;
    return refusal(forgery);
  };
  EXPECT_EQ(with(3, 1, 1), "transition 3: is both terminated and truncated");
  const std::string lacks = with(count - 1, 0, 0);
  EXPECT_EQ(lacks, "4 episodes end, but there are 5 final observations");
  // The first step of all ends an episode, too, the last one does not.
  forgery = file;
  ASSERT_EQ(
      forgery.values<std::uint8_t>("terminated")[0] + forgery.values<std::uint8_t>("truncated")[0],
      0);
  EXPECT_EQ(with(0, 1, 0), "6 episodes end, but there are 5 final observations");
  forgery = file;
  forgery.values<std::uint8_t>("terminated")[0] = 1;
  forgery.values<std::uint8_t>("terminated")[count - 1] = 0;
  forgery.values<std::uint8_t>("truncated")[count - 1] = 0;
  EXPECT_EQ(refusal(forgery),
            "transition " + std::to_string(count - 1) + ": is the last one, but ends no episode");
}

TEST_F(ForgedTransitions, MasksThatForbidWhatWasDoneAreRefused) {
  Forgery forgery = good(1);
  const std::int32_t action = forgery.values<std::int32_t>("actions")[0];
  forgery.values<std::uint8_t>("mask")[action] = 0;
  EXPECT_EQ(refusal(forgery),
            "transition 0: its mask does not allow its action " + std::to_string(action));
  forgery = good(1);
  for (std::uint8_t& allowed : forgery.values<std::uint8_t>("final_mask")) allowed = 0;
  EXPECT_TRUE(refusal(forgery).ends_with(": its final mask allows no action"));
}

// Whatever the metadata says, the tensors must have these shapes before memory is taken.
TEST_F(ForgedTransitions, MetadataThatClaimsOtherSizesIsRefused) {
  EXPECT_TRUE(refusal_with_env(0, "obs", 16'000'000).starts_with("tensor \"obs\": expected F32"));
  EXPECT_EQ(refusal_with_env(0, "obs", 1'000'000'000),
            "field env.obs: expected an integer from 1 to 16777216, found 1000000000");
  EXPECT_NE(refusal_with_env(0, "obs", 0), "");
  EXPECT_NE(refusal_with_env(0, "obs", "3"), "");
  EXPECT_EQ(refusal_with_env(0, "action_size", 1),
            "field env.actions: expected either discrete or continuous actions");
  EXPECT_EQ(refusal_with_env(2, "action_size", 3),
            "field env.action_low: expected 3 bounds, one per action value");
  EXPECT_NE(refusal_with_env(2, "action_size", 65), "");
  EXPECT_EQ(refusal_with_env(0, "mask", true), "no tensor \"mask\"");
  EXPECT_EQ(refusal_with_env(1, "mask", false), "8 tensors; expected 6");
  EXPECT_EQ(refusal_with_env(2, "mask", true), "field env.mask: only discrete actions have masks");
  EXPECT_NE(refusal_with_env(2, "action_low", Json::array({"a", "b"})), "");
  EXPECT_NE(refusal_with_env(0, "name", 5), "");
  Forgery forgery = good(0);
  forgery.set_metadata("env", std::string(100, '['));
  EXPECT_NE(refusal(forgery), "");
}

TEST_F(ForgedTransitions, TensorsOfOtherShapesOrTypesAreRefused) {
  const auto with = [&](const char* name, const Json& shape, const char* dtype) {
    Forgery forgery = good(0);
    forgery.header[name]["shape"] = shape;
    forgery.header[name]["dtype"] = dtype;
    return refusal(forgery);
  };
  const auto count = static_cast<std::int64_t>(good(0).values<float>("rewards").size());
  EXPECT_NE(with("actions", Json::array({count}), "F32"), "");
  EXPECT_NE(with("obs", Json::array({3, count}), "F32"), "");
  EXPECT_NE(with("obs", Json::array({count * 3}), "F32"), "");
  EXPECT_NE(with("rewards", Json::array({1, count}), "F32"), "");
  EXPECT_NE(with("rewards", Json::array(), "F32"), "");
  EXPECT_NE(with("final_obs", Json::array({3, 5}), "F32"), "");
}

}  // namespace
}  // namespace hotloop
