// Checkpoints that somebody made to do harm: changed at will, with a correct checksum. Each is
// refused with a message of ours that names the file and what is wrong, or trains on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include <hotloop/error.hpp>

#include "record/checkpoint.hpp"
#include "tests/record/forgery.hpp"
#include "tests/train/variants.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class ForgedCheckpoint : public testing::Test {
 protected:
  ForgedCheckpoint()
      : folder_(fs::temp_directory_path() / ("hotloop-forged-" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "checkpoints");
  }
  ~ForgedCheckpoint() override { fs::remove_all(folder_); }

  // Trains a little and saves.
  Forgery make(const TrainSpec& spec, int rounds = 40) {
    spec_ = spec;
    Trainer trainer(spec);
    for (int i = 0; i < rounds; ++i) trainer.round();
    const std::vector<float> best(3, 1.0f);
    return Forgery::of(save_checkpoint(folder_.string(), trainer, {}, best));
  }

  // The message that refuses it; "" if it is accepted, and then it trains on. Other exceptions than
  // RunError end the test.
  std::string refusal(const Forgery& forgery) const {
    const std::string text = forgery.text();
    Trainer trainer(spec_);
    RunRecord record;
    std::vector<float> best(3);
    try {
      load_checkpoint(Safetensors(contents_of(text), "FILE"), "FILE", trainer, record, best);
    } catch (const RunError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("FILE: ")) << error.what();
      return error.what();
    }
    for (int i = 0; i < 3; ++i) trainer.round();
    return "";
  }

  // With one field of the state replaced.
  std::string refusal_with(const Forgery& good, const std::string& pointer,
                           const Json& value) const {
    Forgery forgery = good;
    Json state = forgery.state();
    state[Json::json_pointer(pointer)] = value;
    forgery.set_state(state);
    return refusal(forgery);
  }

  template <class T>
  std::string refusal_with_number(const Forgery& good, const std::string& tensor, T value,
                                  std::size_t at = 0) const {
    Forgery forgery = good;
    forgery.values<T>(tensor)[at] = value;
    return refusal(forgery);
  }

  fs::path folder_;
  TrainSpec spec_;
};

TrainSpec replay_spec() {
  TrainSpec spec = small_spec();
  dqn(spec).replay.prioritised = true;
  return spec;
}

TrainSpec rollout_spec(std::string_view algorithm, const std::string& env = "cartpole") {
  TrainSpec spec = small_spec();
  spec.env = env;
  become_rollout_learner(spec, algorithm);
  return spec;
}

TEST_F(ForgedCheckpoint, AnUnchangedOneIsAccepted) { EXPECT_EQ(refusal(make(replay_spec())), ""); }

// It decides how long other arrays are.
TEST_F(ForgedCheckpoint, WrongLengthsOfTheReplay) {
  const Forgery good = make(replay_spec());
  EXPECT_EQ(refusal_with_number<std::int64_t>(good, "replay.pushed", INT64_MAX),
            "FILE: tensor \"replay.pushed\": number 0 is 9.223372036854776e+18; allowed: integers "
            "from 0 to 9007199254740992");
  const std::int64_t pushed = Forgery(good).values<std::int64_t>("replay.pushed")[0];
  for (const std::int64_t wrong :
       {std::int64_t{-1}, INT64_MIN, pushed - 1, pushed + 1, std::int64_t{1} << 50}) {
    EXPECT_NE(refusal_with_number<std::int64_t>(good, "replay.pushed", wrong), "") << wrong;
  }
}

TEST_F(ForgedCheckpoint, CountersThatNoRunCanHave) {
  const Forgery good = make(replay_spec());
  for (const char* name : {"env_steps", "updates", "episodes", "train_events", "batches"}) {
    const std::string place = std::string("/counters/") + name;
    const std::int64_t is = good.state()[Json::json_pointer(place)];
    for (const std::int64_t wrong :
         {std::int64_t{-1}, is + 1, std::int64_t{1} << 50, INT64_MAX, INT64_MIN}) {
      EXPECT_NE(refusal_with(good, place, wrong), "") << name << " " << wrong;
    }
  }
  EXPECT_NE(refusal_with(good, "/counters/updates", 0), "") << "years of updates would be due";
  EXPECT_EQ(refusal_with(good, "/counters/train_events", std::int64_t{1} << 50),
            "FILE: train_events is 1125899906842624; allowed: at most the rounds, 40");
  EXPECT_EQ(refusal_with(good, "/counters/target_updates", -1),
            "FILE: field counters.target_updates: expected an integer from 0 to 9007199254740992, "
            "found -1");
}

// Every field of the state with every kind of value: ours is the only error.
TEST_F(ForgedCheckpoint, FieldsOfAnotherType) {
  const Forgery good = make(rollout_spec("pqn"), 3);
  EXPECT_EQ(refusal_with(good, "/counters/updates", Json::array()),
            "FILE: field counters.updates: expected an integer from 0 to 9007199254740992, found a "
            "list of 0");
  EXPECT_EQ(refusal_with(good, "/record/greedy_measures", Json::array()),
            "FILE: field record.greedy_measures: expected a list of 24, found a list of 0");
  EXPECT_EQ(refusal_with(good, "/record/warnings", {1}),
            "FILE: field record.warnings[0]: expected text, found 1");
  const Json flat = good.state().flatten();
  std::vector<std::string> places = {"/counters", "/window", "/window/sums",
                                     "/rewards",  "/record", "/record/group_seconds"};
  for (const auto& [place, value] : flat.items()) places.push_back(place);
  for (const std::string& place : places) {
    for (const Json& wrong : {Json::array(), Json::object()}) {
      const bool is_same = good.state()[Json::json_pointer(place)] == wrong;
      const std::string refused = refusal_with(good, place, wrong);
      EXPECT_TRUE(is_same || refused.starts_with("FILE: field ")) << place << " " << refused;
    }
    for (const Json& odd : {Json(nullptr), Json("x"), Json(true), Json(-0.5)}) {
      refusal_with(good, place, odd);
    }
  }
  Forgery missing = good;
  Json state = missing.state();
  state.erase("record");
  missing.set_state(state);
  EXPECT_EQ(refusal(missing), "FILE: field record: missing");
  missing.set_metadata("state", "{");
  EXPECT_EQ(refusal(missing), "FILE: state: not valid JSON");
  missing.set_metadata("state", std::string(100'000, '['));
  EXPECT_NE(refusal(missing), "");
  missing.set_metadata("state", "[]");
  EXPECT_EQ(refusal(missing), "FILE: expected an object, found a list of 0");
}

// NaN in any array of floats, and -1 or a huge number in any array of integers, except where every
// number is allowed because it is only reported.
TEST_F(ForgedCheckpoint, NumbersOutsideTheirLimits) {
  for (const TrainSpec& spec : {replay_spec(), rollout_spec("ppo"), rollout_spec("pqn")}) {
    const Forgery good = make(spec, 30);
    for (const auto& [name, tensor] : good.header.items()) {
      if (name == "__metadata__" || name == "env" || tensor["shape"][0] == 0) continue;
      const bool reported = name == "target_lag" || name == "episodes.sums" ||
                            name == "episodes.largest" || name == "episodes.last";
      if (tensor["dtype"] == "F32") {
        EXPECT_NE(refusal_with_number(good, name, std::nanf("")), "") << name;
        EXPECT_NE(refusal_with_number(good, name, -HUGE_VALF), "") << name;
      } else if (tensor["dtype"] == "F64") {
        EXPECT_EQ(refusal_with_number(good, name, std::nan("")) == "", reported) << name;
      } else if (tensor["dtype"] == "I32") {
        EXPECT_NE(refusal_with_number(good, name, -1), "") << name;
        EXPECT_NE(refusal_with_number(good, name, INT32_MAX), "") << name;
      } else if (tensor["dtype"] == "I64") {
        EXPECT_NE(refusal_with_number<std::int64_t>(good, name, -1), "") << name;
        EXPECT_NE(refusal_with_number(good, name, INT64_MAX), "") << name;
      } else if (tensor["dtype"] == "U8") {
        EXPECT_NE(refusal_with_number<std::uint8_t>(good, name, 2), "") << name;
      }
    }
  }
}

// 32 bits of reward, 30 of action, 2 of end.
TEST_F(ForgedCheckpoint, WordsOfTheReplay) {
  const Forgery good = make(replay_spec());
  const auto with = [&](std::uint64_t word) {
    return refusal_with_number<std::uint64_t>(good, "replay.outcomes", word);
  };
  EXPECT_EQ(with(2 << 2), "FILE: replay: transition 0: its action is 2; allowed: 0 to 1");
  EXPECT_EQ(with(0xFFFFFFFC),
            "FILE: replay: transition 0: its action is 1073741823; allowed: 0 to 1");
  EXPECT_EQ(with(3), "FILE: replay: transition 0: its end is 3");
  EXPECT_EQ(with(std::uint64_t{0x7F800000} << 32), "FILE: replay: transition 0: its reward is inf");
  Forgery none = good;
  for (float& priority : none.values<float>("replay.priorities")) priority = 0;
  EXPECT_EQ(refusal(none), "FILE: replay: the priority of transition 0 is 0; allowed: 1 or more");
}

TEST_F(ForgedCheckpoint, ARolloutThatIsFullerThanItsSteps) {
  const Forgery good = make(rollout_spec("ppo"), 3);
  EXPECT_NE(refusal_with_number<std::int64_t>(good, "rollout.filled", 8), "");
  EXPECT_NE(refusal_with_number<std::int64_t>(good, "rollout.filled", 1), "");
  EXPECT_NE(refusal_with_number(good, "acted.raw", 1e9f), "") << "an index";
  EXPECT_NE(refusal_with_number(good, "acted.raw", 0.5f), "");
}

TEST_F(ForgedCheckpoint, StatesOfEnvironmentsThatCannotBe) {
  for (const char* env : {"snake", "sfc", "durotaxis", "cartpole", "acrobot", "mountaincar"}) {
    const bool continuous = std::string_view(env) == "durotaxis";
    TrainSpec spec = rollout_spec(continuous ? "ppo" : "pqn", env);
    spec.net.hidden = {4};
    const Forgery good = make(spec, 1);
    const std::size_t own = sizeof(std::uint64_t) * (1 + 2 * spec.envs);  // of the batch
    for (const int byte : {0xff, 0x01}) {
      Forgery forgery = good;
      const std::span<char> bytes = forgery.values<char>("env");
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(own), bytes.end(),
                static_cast<char>(byte));
      const std::string refused = refusal(forgery);
      if (byte == 0x01 && refused.empty()) continue;  // tiny speeds, for example
      EXPECT_EQ(refused, "FILE: the saved state of environment \"" + std::string(env) +
                             "\", row 0: not a state that it can continue from");
    }
  }
}

TEST_F(ForgedCheckpoint, EpisodesLongerThanTheirLimit) {
  const Forgery good = make(rollout_spec("pqn"), 3);
  const std::size_t envs = 4;
  const auto with = [&](std::size_t at, std::uint64_t value) {
    return refusal_with_number<std::uint64_t>(good, "env", value, at);
  };
  const std::string row0 = "FILE: the saved state of environment \"cartpole\", row 0: ";
  EXPECT_EQ(with(0, ~std::uint64_t{0}), row0 + "too many steps");
  EXPECT_NE(with(0, 1000), "") << "another number of steps than the counters";
  EXPECT_EQ(with(1, 0x7FF0000000000000), row0 + "its return so far is not finite");
  EXPECT_EQ(with(1 + envs, ~std::uint64_t{0}),
            row0 + "its episode began before the run or after its end");
  EXPECT_EQ(with(1 + envs, 1'000'000), row0 + "its episode began before the run or after its end");
}

TEST_F(ForgedCheckpoint, StatisticsOfRewardsThatCannotBe) {
  TrainSpec spec = replay_spec();
  spec.learn.normalise_rewards = true;
  const Forgery good = make(spec);
  const auto with = [&](std::size_t at, double value) {
    return refusal_with_number(good, "normaliser.rewards.statistics", value, at);
  };
  EXPECT_EQ(with(0, -3),
            "FILE: normaliser.rewards: count is -3; allowed: integers from 0 to "
            "9007199254740992");
  EXPECT_NE(with(0, 0.5), "");
  EXPECT_EQ(with(1, -3), "") << "the mean";
  EXPECT_NE(with(2, -1e-9), "") << "squares";
  EXPECT_NE(with(3, -1), "") << "the factor";
}

// A variance below -1e-3 would make NaN.
TEST_F(ForgedCheckpoint, StatisticsOfBatchNormThatCannotBe) {
  for (const char* algorithm : {"sac", "td3"}) {
    TrainSpec spec = small_spec();
    become_continuous(spec, algorithm).critics.crossq = true;
    spec.learn.pipelined = true;  // acts with "frozen"
    const Forgery good = make(spec);
    Trainer trainer(spec);
    std::vector<std::pair<std::string, Structure>> arrays = {
        {"frozen", trainer.network().structure()}};
    for (const NamedNetwork& named : trainer.learner().networks()) {
      arrays.emplace_back(named.name, named.network->structure());
    }
    for (const auto& [name, structure] : arrays) {
      int found = 0;
      for (const TensorInfo& info : tensors(structure)) {
        const bool variance = info.name.ends_with(".variance");
        if (!variance && !info.name.ends_with(".passes")) continue;
        ++found;
        for (const float wrong :
             {-1.0f, variance ? -1e-9f : 0.5f, variance ? -1e9f : 16777218.0f}) {
          const std::string refused = refusal_with_number(good, name, wrong, info.offset);
          EXPECT_TRUE(refused.starts_with("FILE: " + name + ": " + info.name + ": number 0 is "))
              << refused;
        }
      }
      EXPECT_GE(found, 4) << name;
    }
  }
}

}  // namespace
}  // namespace hotloop
