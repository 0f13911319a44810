#include "run/model_file.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <hotloop/error.hpp>

#include "env/registry.hpp"
#include "run/safetensors.hpp"

namespace hotloop {
namespace {

constexpr const char* kFormat = "hotloop-model-1";

// Weights without the padding of their rows.
std::vector<float> packed_weight(const DenseLayer& layer, std::span<const float> parameters) {
  std::vector<float> packed;
  packed.reserve(static_cast<std::size_t>(layer.in) * layer.out);
  for (int o = 0; o < layer.out; ++o) {
    const float* row =
        parameters.data() + layer.weight + static_cast<std::size_t>(o) * layer.stride;
    packed.insert(packed.end(), row, row + layer.in);
  }
  return packed;
}

}  // namespace

void save_model(const std::string& path, const Model& model) {
  std::vector<std::vector<float>> weights;  // keeps the bytes alive until they are written
  for (const DenseLayer& layer : model.structure.layers)
    weights.push_back(packed_weight(layer, model.parameters));
  std::vector<TensorView> tensors;
  for (std::size_t l = 0; l < weights.size(); ++l) {
    const DenseLayer& layer = model.structure.layers[l];
    tensors.push_back(tensor(fmt::format("layer{}.weight", l), std::span<const float>(weights[l]),
                             {layer.out, layer.in}));
    tensors.push_back(
        tensor(fmt::format("layer{}.bias", l),
               std::span<const float>(model.parameters).subspan(layer.bias, layer.out)));
  }
  write_safetensors(
      path, tensors,
      {{"format", kFormat},
       {"spec", to_yaml(model.spec)},
       {"structure", model.structure.describe()},
       {"env_steps", fmt::format("{}", model.env_steps)},
       {"greedy_return",
        std::isfinite(model.greedy_return) ? fmt::format("{}", model.greedy_return) : ""}});
}

Model load_model(const std::string& path) {
  const Safetensors file(path);
  if (file.metadata("format") != kFormat) {
    throw RunError(fmt::format("{}: format '{}' where a model ('{}') is needed", path,
                               file.metadata("format"), kFormat));
  }
  Model model;
  model.spec = load_spec_text(file.metadata("spec"), path, {});
  const EnvSpec& env = *find_env(model.spec.env).spec;
  model.structure = make_mlp(env.obs, env.actions, model.spec.net);
  model.parameters.assign(model.structure.storage, 0.0f);
  model.env_steps = std::atoll(file.metadata("env_steps").c_str());
  const std::string& greedy = file.metadata("greedy_return");
  model.greedy_return = greedy.empty() ? std::nan("") : std::atof(greedy.c_str());
  for (std::size_t l = 0; l < model.structure.layers.size(); ++l) {
    const DenseLayer& layer = model.structure.layers[l];
    std::vector<float> weight(static_cast<std::size_t>(layer.in) * layer.out);
    file.copy(fmt::format("layer{}.weight", l), std::span<float>(weight), {layer.out, layer.in});
    for (int o = 0; o < layer.out; ++o) {
      std::copy_n(
          weight.data() + static_cast<std::size_t>(o) * layer.in, layer.in,
          model.parameters.data() + layer.weight + static_cast<std::size_t>(o) * layer.stride);
    }
    file.copy(fmt::format("layer{}.bias", l),
              std::span<float>(model.parameters).subspan(layer.bias, layer.out));
  }
  return model;
}

std::string parameters_hash(const Structure& structure, std::span<const float> parameters) {
  std::vector<float> all;
  for (const DenseLayer& layer : structure.layers) {
    const std::vector<float> weight = packed_weight(layer, parameters);
    all.insert(all.end(), weight.begin(), weight.end());
    all.insert(all.end(), parameters.begin() + layer.bias,
               parameters.begin() + layer.bias + layer.out);
  }
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size() * sizeof(float)));
}

}  // namespace hotloop
