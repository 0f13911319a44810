#include "record/model_file.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <hotloop/error.hpp>

#include "algo/common/learner.hpp"
#include "env/file/world_file.hpp"
#include "record/env_facts.hpp"
#include "record/safetensors.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

constexpr const char* kFormat = "hotloop-model-2";

// A tensor without the padding of its rows.
std::vector<float> packed(const TensorInfo& info, std::span<const float> parameters) {
  std::vector<float> values;
  values.reserve(info.size());
  for (int r = 0; r < info.rows; ++r) {
    const float* row = parameters.data() + info.offset + static_cast<std::size_t>(r) * info.stride;
    values.insert(values.end(), row, row + info.columns);
  }
  return values;
}

Shape shape_of(const TensorInfo& info) {
  if (info.is_vector()) return {info.columns};
  return {info.rows, info.columns};
}

constexpr const char* kMean = "normaliser.mean";
constexpr const char* kFactor = "normaliser.factor";
constexpr const char* kRewardFactor = "normaliser.reward_factor";

}  // namespace

void save_model(const std::string& path, const Model& model) {
  const std::vector<TensorInfo> infos = tensors(model.structure);
  std::vector<std::vector<float>> values;  // keeps the bytes alive until they are written
  for (const TensorInfo& info : infos) values.push_back(packed(info, model.parameters));
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    views.push_back(tensor(infos[i].name, std::span<const float>(values[i]), shape_of(infos[i])));
  }
  if (!model.input_mean.empty()) {
    views.push_back(tensor(kMean, std::span<const float>(model.input_mean)));
    views.push_back(tensor(kFactor, std::span<const float>(model.input_factor)));
  }
  if (model.spec.learn.normalise_rewards) {
    views.push_back(tensor(kRewardFactor, std::span<const float>(&model.reward_factor, 1)));
  }
  write_safetensors(
      path, views,
      {{"format", kFormat},
       {"spec", to_yaml(portable(model.spec))},
       {"env", model.env_facts},
       {"structure", model.structure.describe()},
       {"env_steps", fmt::format("{}", model.env_steps)},
       {"greedy_return",
        std::isfinite(model.greedy_return) ? fmt::format("{}", model.greedy_return) : ""}});
}

Model load_model(const std::string& path) {
  const Safetensors file(path);
  if (file.metadata("format") != kFormat) {
    throw RunError(fmt::format("{}: format '{}', expected a model ('{}')", path,
                               file.metadata("format"), kFormat));
  }
  Model model;
  model.spec = load_spec_text(file.metadata("spec"), path, {});
  if (file.metadata().contains("env")) {
    model.env_facts = file.metadata("env");
    remember_env(model.spec.env, model.env_facts);
  } else if (is_world_file(model.spec.env)) {  // loading a model must not run code
    throw RunError(fmt::format("{}: has no facts about its environment {}", path, model.spec.env));
  }
  model.structure = network_structure(model.spec);
  model.parameters.assign(model.structure.storage, 0.0f);
  model.env_steps = std::atoll(file.metadata("env_steps").c_str());
  const std::string& greedy = file.metadata("greedy_return");
  model.greedy_return = greedy.empty() ? std::nan("") : std::atof(greedy.c_str());
  for (const TensorInfo& info : tensors(model.structure)) {
    std::vector<float> values(info.size());
    file.copy(info.name, std::span<float>(values), shape_of(info));
    for (int r = 0; r < info.rows; ++r) {
      std::copy_n(
          values.data() + static_cast<std::size_t>(r) * info.columns, info.columns,
          model.parameters.data() + info.offset + static_cast<std::size_t>(r) * info.stride);
    }
  }
  if (file.contains(kMean)) {
    model.input_mean.resize(model.structure.inputs);
    model.input_factor.resize(model.structure.inputs);
    file.copy(kMean, std::span<float>(model.input_mean));
    file.copy(kFactor, std::span<float>(model.input_factor));
  }
  if (file.contains(kRewardFactor)) file.copy(kRewardFactor, std::span(&model.reward_factor, 1));
  return model;
}

namespace {

void append_packed(const Structure& structure, std::span<const float> parameters,
                   std::vector<float>& all) {
  for (const TensorInfo& info : tensors(structure)) {
    const std::vector<float> values = packed(info, parameters);
    all.insert(all.end(), values.begin(), values.end());
  }
}

std::string hash_of(const std::vector<float>& all) {
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size() * sizeof(float)));
}

}  // namespace

std::string parameters_hash(const Structure& structure, std::span<const float> parameters) {
  std::vector<float> all;
  append_packed(structure, parameters, all);
  return hash_of(all);
}

std::string parameters_hash(Learner& learner) {
  std::vector<float> all;
  for (const NamedNetwork& named : learner.networks()) {
    append_packed(named.network->structure(), named.network->online(), all);
  }
  return hash_of(all);
}

}  // namespace hotloop
