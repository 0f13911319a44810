#include "record/model_file.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <hotloop/error.hpp>

#include "algo/common/learner.hpp"
#include "core/text.hpp"
#include "env/file/world_file.hpp"
#include "record/env_facts.hpp"
#include "record/safetensors.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

constexpr const char* kModelFormat = "hotloop-model-2";

template <class T>
constexpr T kLargest = std::numeric_limits<T>::max();

// Text in the metadata that our own `fmt::format("{}", number)` wrote.
template <class T>
T number_in(const Safetensors& file, const std::string& path, const std::string& key) {
  const std::string& text = file.metadata(key);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(std::abs(value) < kLargest<T>)) {
    throw RunError(fmt::format("{}: metadata {}: expected a number, found \"{}\"", path, key,
                               printable(text)));
  }
  return value;
}

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
      {{"format", kModelFormat},
       {"spec", to_yaml(portable(model.spec))},
       {"env", model.env_facts},
       {"structure", model.structure.describe()},
       {"env_steps", fmt::format("{}", model.env_steps)},
       {"greedy_return",
        std::isfinite(model.greedy_return) ? fmt::format("{}", model.greedy_return) : ""}});
}

Model load_model(const std::string& path, FileKind kind) {
  const Safetensors file(InputFile(path, kind), path);
  if (file.metadata("format") != kModelFormat) {
    throw RunError(fmt::format("{}: format '{}', expected a model ('{}')", path,
                               printable(file.metadata("format")), kModelFormat));
  }
  Model model;
  model.spec = load_spec_text(file.metadata("spec"), path, {});
  if (file.metadata().contains("env")) {
    model.env_facts = file.metadata("env");
    remember_env(model.spec.world(), model.env_facts, path);
  } else if (is_world_file(model.spec.env)) {  // loading a model must not run code
    throw RunError(fmt::format("{}: has no facts about its environment {}", path, model.spec.env));
  }
  model.env_steps = number_in<std::int64_t>(file, path, "env_steps");
  const bool evaluated = !file.metadata("greedy_return").empty();
  model.greedy_return = evaluated ? number_in<double>(file, path, "greedy_return") : std::nan("");
  model.structure = network_structure(model.spec);
  // The spec may claim any size. Memory is taken only for tensors that the file really has.
  for (const TensorInfo& info : tensors(model.structure)) {
    file.expect(info.name, Dtype::f32, shape_of(info));
  }
  model.parameters.assign(model.structure.storage, 0.0f);
  for (const TensorInfo& info : tensors(model.structure)) {
    std::vector<float> values(info.size());
    file.copy(info.name, std::span<float>(values), shape_of(info), info.limits);
    for (int r = 0; r < info.rows; ++r) {
      std::copy_n(
          values.data() + static_cast<std::size_t>(r) * info.columns, info.columns,
          model.parameters.data() + info.offset + static_cast<std::size_t>(r) * info.stride);
    }
  }
  if (file.contains(kMean)) {
    file.expect(kMean, Dtype::f32, {model.structure.inputs});
    model.input_mean.resize(model.structure.inputs);
    model.input_factor.resize(model.structure.inputs);
    file.copy(kMean, std::span<float>(model.input_mean), Limits::finite());
    file.copy(kFactor, std::span<float>(model.input_factor), Limits::at_least(0));
  }
  if (file.contains(kRewardFactor)) {
    file.copy(kRewardFactor, std::span(&model.reward_factor, 1), Limits::at_least(0));
  }
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
