#include "run/model_file.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "run/safetensors.hpp"
#include "run/trainer.hpp"
#include "tests/run/small_spec.hpp"

namespace hotloop {
namespace {

Model small_model(const TrainSpec& spec = small_spec()) {
  Model model{.spec = spec, .structure = {}, .parameters = {}};
  model.structure = network_structure(model.spec);
  model.parameters.resize(model.structure.storage);
  initialise(model.structure, Initialiser::pytorch, 1, model.parameters);
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

}  // namespace
}  // namespace hotloop
