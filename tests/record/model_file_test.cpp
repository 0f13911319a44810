#include "record/model_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hotloop/error.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "env/registry.hpp"
#include "record/env_facts.hpp"
#include "record/safetensors.hpp"
#include "tests/record/forgery.hpp"
#include "tests/train/variants.hpp"
#include "train/feasible.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

Model small_model(const TrainSpec& spec = small_spec()) {
  Model model{.spec = spec, .structure = {}, .parameters = {}};
  model.structure = network_structure(model.spec);
  model.parameters.resize(model.structure.storage);
  initialise(model.structure, Initialiser::pytorch, 1, model.parameters);
  model.env_facts = env_facts(*make_worlds(spec.world(), 1));
  return model;
}

void expect_parameters_come_back(const Model& model) {
  const std::string path = testing::TempDir() + "model_file_test.safetensors";
  save_model(path, model);
  const Model loaded = load_model(path);
  EXPECT_EQ(loaded.parameters, model.parameters);
  EXPECT_TRUE(loaded.input_mean.empty());
  EXPECT_EQ(parameters_hash(loaded.structure, loaded.parameters),
            parameters_hash(model.structure, model.parameters));
  const Safetensors file(path);
  for (const TensorInfo& tensor : tensors(model.structure)) {
    const Shape expected =
        tensor.is_vector() ? Shape{tensor.columns} : Shape{tensor.rows, tensor.columns};
    EXPECT_EQ(file.shape(tensor.name), expected) << tensor.name;
  }
  EXPECT_EQ(file.names().size(), tensors(model.structure).size());
}

TEST(ModelFile, ParametersComeBackUnderTheirNames) {
  expect_parameters_come_back(small_model());
  TrainSpec streams = small_spec();
  streams.net.dueling = true;
  streams.net.dueling_hidden = {16};
  streams.net.noisy = Noisy::all;
  expect_parameters_come_back(small_model(streams));
}

TEST(ModelFile, TheNormaliserComesBack) {
  const std::string path = testing::TempDir() + "model_file_normaliser_test.safetensors";
  Model model = small_model();
  for (int i = 0; i < model.structure.inputs; ++i) {
    model.input_mean.push_back(0.5f * static_cast<float>(i));
    model.input_factor.push_back(1.0f + static_cast<float>(i));
  }
  save_model(path, model);
  const Model loaded = load_model(path);
  EXPECT_EQ(loaded.input_mean, model.input_mean);
  EXPECT_EQ(loaded.input_factor, model.input_factor);
  EXPECT_EQ(loaded.parameters, model.parameters);
}

// A model whose environment is missing can still be queried, but not played.
TEST(ModelFile, CarriesTheFactsOfItsEnvironment) {
  const std::string path = testing::TempDir() + "model_file_facts_test.safetensors";
  const Model model = small_model();
  save_model(path, model);
  const Safetensors file(path);
  remember_env({"left_behind"}, file.metadata("env"), "FILE");
  const EnvSpec known = env_spec(model.spec.world()), remembered = env_spec({"left_behind"});
  EXPECT_EQ(remembered.obs, known.obs);
  EXPECT_EQ(remembered.actions, known.actions);
  EXPECT_EQ(remembered.max_steps, known.max_steps);
  EXPECT_EQ(remembered.solved_return, known.solved_return);
  TrainSpec spec = model.spec;
  spec.env = "left_behind";
  EXPECT_EQ(network_structure(spec).describe(), model.structure.describe());
  EXPECT_THROW(BatchEnv(make_worlds(spec.world(), 2), 2, 1, Purpose::test), UsageError);
  EXPECT_THROW(remember_env({"nonsense"}, R"({"obs": "many"})", "FILE"), RunError);
}

// Worlds with only a spec and a note.
class Boxes final : public VectorWorlds {
 public:
  explicit Boxes(const EnvSpec& spec) : spec_(spec) {}
  const EnvSpec& spec() const override { return spec_; }
  bool has_mask() const override { return false; }
  std::string notes() const override { return R"({"scale": 2})"; }
  void begin(std::uint64_t, Purpose, const VectorResults&) override {}
  void step_all(const ActionRows&, const VectorResults&) override {}
  std::vector<std::byte> save_all() const override { return {}; }
  void restore_all(std::uint64_t, Purpose, std::span<const std::byte>,
                   const VectorResults&) override {}

 private:
  EnvSpec spec_;
};

TEST(ModelFile, FactsKeepBoundsPartsAndNotes) {
  EnvSpec spec{
      .name = "box", .obs = 7, .action_size = 2, .action_low = {-1, -2}, .action_high = {1, 3}};
  spec.parts = {ObsPart{"a", {2, 3}}, ObsPart{"b", {1}}};
  const std::string facts = env_facts(Boxes(spec));
  EXPECT_NE(facts.find(R"("notes":{"scale":2})"), std::string::npos) << facts;
  remember_env({"remembered_box"}, facts, "FILE");
  const EnvSpec back = env_spec({"remembered_box"});
  EXPECT_EQ(back.action_size, 2);
  EXPECT_EQ(back.action_low, spec.action_low);
  EXPECT_EQ(back.action_high, spec.action_high);
  EXPECT_EQ(back.parts[0].name, "a");
  EXPECT_EQ(back.parts[0].shape, spec.parts[0].shape);
  EXPECT_EQ(back.parts[1].size(), 1);
  EXPECT_TRUE(std::isnan(back.solved_return));
}

TEST(ModelFile, FactsWithTooManyActionDimensionsAreRefused) {
  EnvSpec spec{.name = "box", .obs = 1, .action_size = kMaxActionSize};
  std::string facts = env_facts(Boxes(spec));
  const std::string size = R"("action_size":64)";
  facts.replace(facts.find(size), size.size(), R"("action_size":65)");
  try {
    remember_env({"too_wide"}, facts, "FILE");
    FAIL() << "nothing was thrown";
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(),
                 "FILE: field env.action_size: expected an integer from 0 to 64, found 65");
  }
}

std::string refusal_of(const Json& facts, const char* env) {
  try {
    remember_env({env}, facts.dump(), "FILE");
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

TEST(ModelFile, FactsOfTheEnginesEnvironmentsAreAccepted) {
  for (const EnvEntry& entry : registered_envs()) {
    const std::string facts = env_facts(*entry.make_any(1));
    const std::string name = "like_" + std::string(entry.spec->name);
    EXPECT_EQ(refusal_of(Json::parse(facts), name.c_str()), "") << facts;
  }
}

class ForgedModel : public testing::Test {
 protected:
  // Tests run at the same time, each in its own process.
  ForgedModel()
      : path_(testing::TempDir() + "forged_model_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors") {
    save_model(path_, small_model());
  }
  ~ForgedModel() override { std::remove(path_.c_str()); }

  std::string refusal(const Forgery& forgery) const {
    forgery.write(path_);
    try {
      load_model(path_);
    } catch (const RunError& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(path_ + ": ")) << text;
      return text.substr(path_.size() + 2);
    }
    return "";
  }

  std::string path_;
};

TEST_F(ForgedModel, WeightsThatAreNotFiniteAreRefused) {
  for (const float wrong : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    Forgery forgery = Forgery::of(path_);
    forgery.values<float>("layer0.weight")[5] = wrong;
    EXPECT_EQ(refusal(forgery), fmt::format("tensor \"layer0.weight\": number 5 is {}; allowed: "
                                            "finite numbers",
                                            wrong));
  }
}

// The file is small: whatever its spec says, no memory is taken for tensors that it does not have.
TEST_F(ForgedModel, ASpecThatClaimsAHugeNetworkIsRefused) {
  Forgery forgery = Forgery::of(path_);
  std::string spec = forgery.metadata("spec");
  spec.replace(spec.find("hidden: [32]"), 12, "hidden: [16384, 16384, 16384, 16384]");
  forgery.set_metadata("spec", spec);
  EXPECT_EQ(refusal(forgery),
            "tensor \"layer0.weight\": expected F32 [16384, 4], found F32 [32, 4]");
}

TEST_F(ForgedModel, MetadataThatIsNoNumberIsRefused) {
  const Forgery good = Forgery::of(path_);
  Forgery forgery = good;
  forgery.set_metadata("env_steps", "12\x1b[31m");
  EXPECT_EQ(refusal(forgery), "metadata env_steps: expected a number, found \"12\\x1b[31m\"");
  forgery = good;
  forgery.set_metadata("greedy_return", "many");
  EXPECT_EQ(refusal(forgery), "metadata greedy_return: expected a number, found \"many\"");
}

// Facts are used if the environment is not here. Each field in turn has another type.
TEST_F(ForgedModel, FactsOfAnotherTypeAreRefused) {
  const auto good = Json::parse(Forgery::of(path_).metadata("env"));
  for (const auto& [name, value] : good.items()) {
    for (const Json& wrong : {Json("x"), Json::object(), Json(-1), Json({1, 2})}) {
      Json facts = good;
      facts[name] = wrong;
      const bool is_number = name == "solved_return" && wrong == -1;
      if (is_number) continue;
      EXPECT_TRUE(refusal_of(facts, "from_a_stranger").starts_with("FILE: field env." + name))
          << facts.dump();
    }
  }
  Json odd = good;
  odd["parts"] =
      Json::parse(R"([{"name": "a", "shape": [1, 0, 0]}, {"name": "b", "shape": [2, 1, 0]}])");
  EXPECT_EQ(refusal_of(odd, "from_a_stranger"),
            "FILE: field env.parts: expected 4 numbers, found 3");
  Json huge = good;
  huge["obs"] = 1'000'000'000;
  EXPECT_EQ(refusal_of(huge, "from_a_stranger"),
            "FILE: field env.obs: expected an integer from 1 to 16777216, found 1000000000");
}

// Python sizes arrays by the facts, also if the environment is here.
TEST_F(ForgedModel, FactsThatContradictTheEnvironmentAreRefused) {
  Forgery forgery = Forgery::of(path_);
  Json facts = Json::parse(forgery.metadata("env"));
  facts["obs"] = 4096;
  facts["parts"] = Json::array();
  forgery.set_metadata("env", facts.dump());
  EXPECT_EQ(refusal(forgery), "field env.obs: expected 4, as cartpole has now, found 4096");
  forgery.set_metadata("env", R"({"obs": 4})");
  EXPECT_EQ(refusal(forgery), "field env.actions: missing");
}

// How Python turns observations into rows, and actions back: all sizes must be those of the model.
TEST_F(ForgedModel, NotesThatDoNotFitAreRefused) {
  const Json facts = {{"obs", 6},
                      {"actions", 6},
                      {"action_size", 0},
                      {"max_steps", 0},
                      {"mask", false},
                      {"action_low", Json::array()},
                      {"action_high", Json::array()},
                      {"parts", Json::array()}};
  const auto refused = [&](const std::string& notes, bool is_box = false) {
    Json all = facts;
    all["notes"] = Json::parse(notes);
    if (is_box) all["actions"] = 0, all["action_size"] = 2, all["action_low"] = {0, 0};
    if (is_box) all["action_high"] = {1, 1};
    static int number = 0;
    return refusal_of(all, ("noted" + std::to_string(number++)).c_str());
  };
  for (const char* good :
       {R"({})", R"({"scale": 2})",
        R"({"observation": [{"kind": "one_hot", "n": 6, "start": -2}]})",
        R"({"observation": [{"kind": "box", "shape": [2, 3], "scale": null}], "action_start": -3})",
        R"({"observation": [{"key": "a", "kind": "one_hots", "n": [[1, 2]], "start": [[0, 5]]},
                            {"key": "b", "kind": "box", "shape": [1, 3, 1], "scale": 0.5,
                             "channels_first": true}]})",
        R"({"action_choices": {"n": [[3], [2]], "start": [[0], [-1]], "dtype": "int64"},
            "action_shape": [2, 1]})"}) {
    EXPECT_EQ(refused(good), "") << good;
  }
  EXPECT_EQ(refused(R"({"action_shape": [1, 2]})", true), "");
  const auto expect = [&](const char* notes, const std::string& text) {
    EXPECT_EQ(refused(notes), "FILE: field env.notes" + text) << notes;
  };
  expect("[]", ": expected an object");
  expect(R"({"observation": 3})", ".observation: expected a list, found 3");
  expect(R"({"observation": []})", ".observation: expected 6 numbers, found 0");
  expect(R"({"observation": [{"kind": "box", "shape": [4], "scale": null}]})",
         ".observation: expected 6 numbers, found 4");
  expect(R"({"observation": [{"kind": "box", "shape": [6]}]})", ".observation[0].scale: missing");
  expect(R"({"observation": [{"kind": "box", "shape": [3, 4294967296], "scale": null}]})",
         ".observation[0].shape[1]: expected an integer from 0 to 6, found 4294967296");
  expect(R"({"observation": [{"kind": "box", "shape": [6, 6], "scale": null}]})",
         ".observation[0].shape: expected at most 6 numbers");
  expect(R"({"observation": [{"kind": "box", "shape": [6], "scale": 1, "channels_first": true}]})",
         ".observation[0].shape: expected 3 extents");
  expect(R"({"observation": [{"kind": "box", "shape": [6], "scale": 1},
                             {"kind": "box", "shape": [0], "scale": 1}]})",
         ".observation[0].key: missing");
  expect(R"({"observation": [{"kind": "file"}]})",
         ".observation[0].kind: expected box, one_hot or one_hots");
  expect(R"({"observation": [{"kind": "one_hot", "n": 7, "start": 0}]})",
         ".observation[0].n: expected an integer from 1 to 6, found 7");
  expect(R"({"observation": [{"kind": "one_hot", "n": 6, "start": "x"}]})",
         ".observation[0].start: expected an integer");
  expect(R"({"observation": [{"kind": "one_hots", "n": [7, 8], "start": [0, 0]}]})",
         ".observation[0].n: expected up to 6");
  expect(R"({"observation": [{"kind": "one_hots", "n": [2, 4], "start": [[0, 0]]}]})",
         ".observation[0].start: expected the shape of n");
  expect(R"({"observation": [{"kind": "one_hots", "n": [[2], 4], "start": 0}]})",
         ".observation[0].n[1]: expected an integer");
  expect(R"({"observation": [{"kind": "one_hots", "n": [[2], [4, 1]], "start": 0}]})",
         ".observation[0].n[1]: expected lists of equal lengths");
  expect(R"({"observation": [{"kind": "one_hots", "n": [], "start": []}]})",
         ".observation[0].n: expected 1 or more");
  expect(R"({"action_start": 18446744073709551615})", ".action_start: expected an integer");
  expect(R"({"action_start": [1]})", ".action_start: expected an integer");
  expect(R"({"action_choices": {"n": [2, 2], "start": [0, 0], "dtype": "int64"}})",
         ".action_choices.n: expected 6 combinations");
  expect(R"({"action_choices": {"n": [6], "start": [0], "dtype": "S1000000000"}})",
         ".action_choices.dtype: expected a type of integers");
  EXPECT_EQ(refused(R"({"action_shape": [3]})", true),
            "FILE: field env.notes.action_shape[0]: expected an integer from 0 to 2, found 3");
  EXPECT_EQ(refused(R"({"action_shape": [1]})", true),
            "FILE: field env.notes.action_shape: expected 2 numbers");
}

TEST_F(ForgedModel, StatisticsThatCannotBeAreRefused) {
  TrainSpec spec = small_spec();
  become_continuous(spec, "sac").critics.crossq = true;
  save_model(path_, small_model(spec));
  const Forgery good = Forgery::of(path_);
  EXPECT_EQ(refusal(good), "");
  const auto with = [&](const char* tensor, float value) {
    Forgery forgery = good;
    forgery.values<float>(tensor)[0] = value;
    return refusal(forgery);
  };
  EXPECT_EQ(with("layer0.variance", -0.5f),
            "tensor \"layer0.variance\": number 0 is -0.5; allowed: finite numbers of at least 0");
  EXPECT_EQ(with("layer0.passes", 0.5f),
            "tensor \"layer0.passes\": number 0 is 0.5; allowed: integers from 0 to 16777216");
  EXPECT_EQ(with("layer0.mean", -0.5f), "");
}

}  // namespace
}  // namespace hotloop
