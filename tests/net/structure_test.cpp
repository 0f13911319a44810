#include "net/structure.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hotloop
