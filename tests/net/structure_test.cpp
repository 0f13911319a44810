#include "net/structure.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hotloop {
namespace {

TEST(Structure, PlainNetworksAreDenseLayers) {
  const Structure net = make_mlp(4, 2, {.hidden = {64}});
  EXPECT_EQ(net.describe(), "4-64-2 relu, 450 parameters");
  const std::vector<TensorInfo> list = tensors(net);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].name, "layer0.weight");
  EXPECT_EQ(list[1].name, "layer0.bias");
  EXPECT_EQ(list[2].name, "layer1.weight");
  EXPECT_EQ(list[3].name, "layer1.bias");
  EXPECT_EQ(list[0].rows, 64);
  EXPECT_EQ(list[0].columns, 4);
  EXPECT_EQ(list[0].stride, 8);
  EXPECT_FALSE(list[0].is_vector());
  EXPECT_TRUE(list[3].is_vector());
  EXPECT_EQ(list[3].size(), 2u);
}

TEST(Structure, EverySwitchHasItsLayers) {
  const NetOptions options{.hidden = {8, 6},
                           .activation = Activation::selu,
                           .layer_norm = true,
                           .dueling = true,
                           .noisy = Noisy::head};
  const Structure net = make_mlp(3, 2, options, 5);
  EXPECT_EQ(net.outputs, 10);
  ASSERT_EQ(net.layers.size(), 6u);
  EXPECT_EQ(std::get<DenseLayer>(net.layers[0]).activation, Activation::linear);
  EXPECT_EQ(std::get<NormLayer>(net.layers[1]).activation, Activation::selu);
  EXPECT_FALSE(std::get<DenseLayer>(net.layers[2]).noisy);
  EXPECT_EQ(std::get<NormLayer>(net.layers[3]).width, 6);
  EXPECT_EQ(std::get<DenseLayer>(net.layers[4]).out, 15);  // V and A, five atoms each
  EXPECT_TRUE(std::get<DenseLayer>(net.layers[4]).noisy);
  EXPECT_EQ(std::get<DuelingLayer>(net.layers[5]).outputs(), 10);
  for (std::size_t i = 1; i < net.layers.size(); ++i)
    EXPECT_EQ(inputs_of(net.layers[i]), outputs_of(net.layers[i - 1]));
  const int parameters = (3 * 8 + 8) + 2 * 8 + (8 * 6 + 6) + 2 * 6 + 2 * (6 * 15 + 15);
  EXPECT_EQ(net.parameters, static_cast<std::size_t>(parameters));
  EXPECT_EQ(net.describe(), "3-8-6-10 selu, layer norm, dueling, noisy head, 324 parameters");
  EXPECT_EQ(net, make_mlp(3, 2, options, 5));
  EXPECT_NE(net, make_mlp(3, 5, options, 2));
}

std::vector<std::string> names(const Structure& net) {
  std::vector<std::string> list;
  for (const TensorInfo& tensor : tensors(net)) list.push_back(tensor.name);
  return list;
}

TEST(Structure, ConvolutionsComeFirst) {
  const NetOptions options{
      .channels = {5, 4}, .hidden = {6}, .layer_norm = true, .noisy = Noisy::all};
  const Structure net = make_mlp(4 * 3 * 2, 3, options, 1, {4, 3, 2});
  ASSERT_EQ(net.layers.size(), 5u);
  const auto& first = std::get<ConvLayer>(net.layers[0]);
  const auto& second = std::get<ConvLayer>(net.layers[1]);
  EXPECT_EQ(first.stride, 24);
  EXPECT_EQ(first.outputs(), 60);
  EXPECT_EQ(second.inputs(), 60);
  EXPECT_EQ(second.activation, Activation::relu);
  EXPECT_EQ(std::get<DenseLayer>(net.layers[2]).in, 48);
  EXPECT_TRUE(std::get<DenseLayer>(net.layers[2]).noisy);
  EXPECT_EQ(names(net), (std::vector<std::string>{
                            "layer0.weight", "layer0.bias", "layer1.weight", "layer1.bias",
                            "layer2.weight", "layer2.bias", "layer2.weight_sigma",
                            "layer2.bias_sigma", "layer3.scale", "layer3.shift", "layer4.weight",
                            "layer4.bias", "layer4.weight_sigma", "layer4.bias_sigma"}));
  EXPECT_EQ(tensors(net)[2].columns, 9 * 5);
  EXPECT_EQ(net.describe(), "4x3x2 conv 5-4, 6-3 relu, layer norm, noisy, 921 parameters");
}

TEST(Structure, StreamsAreDenseLayersOfTheirOwn) {
  const NetOptions options{.hidden = {8},
                           .activation = Activation::tanh,
                           .dueling = true,
                           .dueling_hidden = {6},
                           .noisy = Noisy::head};
  const Structure net = make_mlp(3, 2, options, 5);
  ASSERT_EQ(net.layers.size(), 4u);
  const auto& first = std::get<StreamsLayer>(net.layers[1]);
  const auto& second = std::get<StreamsLayer>(net.layers[2]);
  EXPECT_FALSE(first.split_input);
  EXPECT_EQ(first.value.activation, Activation::tanh);
  EXPECT_EQ(first.outputs(), 12);
  EXPECT_TRUE(second.split_input);
  EXPECT_EQ(second.inputs(), 12);
  EXPECT_EQ(second.value.out, 5);
  EXPECT_EQ(second.advantage.out, 10);
  EXPECT_EQ(second.advantage.activation, Activation::linear);
  // `head` is the last pair.
  EXPECT_FALSE(std::get<DenseLayer>(net.layers[0]).noisy || first.value.noisy ||
               first.advantage.noisy);
  EXPECT_TRUE(second.value.noisy && second.advantage.noisy);
  EXPECT_EQ(names(net),
            (std::vector<std::string>{
                "layer0.weight", "layer0.bias", "layer1.value.weight", "layer1.value.bias",
                "layer1.advantage.weight", "layer1.advantage.bias", "layer2.value.weight",
                "layer2.value.bias", "layer2.value.weight_sigma", "layer2.value.bias_sigma",
                "layer2.advantage.weight", "layer2.advantage.bias", "layer2.advantage.weight_sigma",
                "layer2.advantage.bias_sigma"}));
  EXPECT_EQ(net.describe(), "3-8-(6+6)-10 tanh, dueling, noisy head, 350 parameters");
}

// DroQ: dense, dropout, layer norm, activation.
TEST(Structure, DropoutComesBeforeLayerNorm) {
  const Structure net = make_mlp(3, 2, {.hidden = {8, 6}, .layer_norm = true, .dropout = 0.01});
  ASSERT_EQ(net.layers.size(), 7u);
  for (const int l : {0, 3}) {
    const auto& dense = std::get<DenseLayer>(net.layers[l]);
    EXPECT_EQ(dense.activation, Activation::linear);
    EXPECT_EQ(std::get<DropoutLayer>(net.layers[l + 1]), (DropoutLayer{dense.out, 0.01}));
    EXPECT_EQ(std::get<NormLayer>(net.layers[l + 2]).activation, Activation::relu);
  }
  EXPECT_FALSE(net.needs_whole_batch());
  EXPECT_EQ(net.trainable, net.storage);
  EXPECT_EQ(net.describe(), "3-8-6-2 relu, dropout 0.01, layer norm, 128 parameters");
  const Structure plain = make_mlp(3, 2, {.hidden = {8}, .dropout = 0.1});
  EXPECT_EQ(std::get<DenseLayer>(plain.layers[0]).activation, Activation::relu);
  EXPECT_EQ(std::get<DropoutLayer>(plain.layers[1]).width, 8);
  EXPECT_EQ(plain.describe(), "3-8-2 relu, dropout 0.1, 50 parameters");
}

// CrossQ: batch norm of the input and after each activation. Its statistics lie behind all trained
// tensors, and do not count as parameters.
TEST(Structure, BatchNormComesFirstAndAfterActivations) {
  const Structure net = make_mlp(3, 2, {.hidden = {8, 6}, .batch_norm = true});
  ASSERT_EQ(net.layers.size(), 6u);
  EXPECT_EQ(std::get<BatchNormLayer>(net.layers[0]).width, 3);
  EXPECT_EQ(std::get<DenseLayer>(net.layers[1]).activation, Activation::relu);
  EXPECT_EQ(std::get<BatchNormLayer>(net.layers[2]).width, 8);
  EXPECT_EQ(std::get<BatchNormLayer>(net.layers[4]).width, 6);
  EXPECT_EQ(std::get<DenseLayer>(net.layers[5]).activation, Activation::linear);
  EXPECT_TRUE(net.needs_whole_batch());
  EXPECT_EQ(net.describe(), "3-8-6-2 relu, batch norm, 134 parameters");
  const Structure without = make_mlp(3, 2, {.hidden = {8, 6}});
  EXPECT_EQ(net.parameters, without.parameters + 2 * (3 + 8 + 6));
  const std::vector<std::string> list = names(net);
  EXPECT_EQ(std::vector(list.begin(), list.begin() + 6),
            (std::vector<std::string>{"layer0.scale", "layer0.shift", "layer0.mean",
                                      "layer0.variance", "layer0.passes", "layer1.weight"}));
  std::vector<int> owner(net.storage, -1);
  int index = 0;
  for (const TensorInfo& tensor : tensors(net)) {
    const bool statistic = tensor.name.ends_with(".mean") || tensor.name.ends_with(".variance") ||
                           tensor.name.ends_with(".passes");
    EXPECT_EQ(tensor.offset >= net.trainable, statistic) << tensor.name;
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c) {
        int& who = owner.at(tensor.offset + r * tensor.stride + c);
        EXPECT_EQ(who, -1) << "tensors overlap";
        who = index;
      }
    }
    ++index;
  }
}

// Section 7 of the Snake specification.
TEST(Structure, ParameterCountsOfTheSnakeNetworks) {
  const auto mlp = [](int inputs) {
    return make_mlp(inputs, 3, {.hidden = {128, 128}}).parameters;
  };
  EXPECT_EQ(mlp(10), 18307u);
  EXPECT_EQ(mlp(13), 18691u);
  EXPECT_EQ(mlp(18), 19331u);
  EXPECT_EQ(mlp(23), 19971u);
  const NetOptions dueling{.hidden = {128}, .dueling = true, .dueling_hidden = {128}};
  EXPECT_EQ(make_mlp(10, 3, dueling).parameters, 34948u);
  EXPECT_EQ(make_mlp(13, 3, dueling).parameters, 35332u);
  const NetOptions noisy{.hidden = {128, 128}, .noisy = Noisy::all};
  EXPECT_EQ(make_mlp(10, 3, noisy).parameters, 36614u);
  EXPECT_EQ(make_mlp(13, 3, noisy).parameters, 37382u);
  NetOptions rainbow = dueling;
  rainbow.noisy = Noisy::all;
  EXPECT_EQ(make_mlp(10, 3, rainbow, 51).parameters, 121496u);
  EXPECT_EQ(make_mlp(13, 3, rainbow, 51).parameters, 122264u);
  const NetOptions convolutions{.channels = {32, 64, 64}, .hidden = {256}};
  EXPECT_EQ(make_mlp(300, 3, convolutions, 1, {10, 10, 3}).parameters, 1695747u);
}

}  // namespace
}  // namespace hotloop
