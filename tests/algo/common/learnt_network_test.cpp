#include "algo/common/learnt_network.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/random_net.hpp"

namespace hotloop {
namespace {

// Weight decay, momentum and clipping reach all trained tensors, but no running statistics. What is
// behind the trained part of the gradient has no influence.
TEST(LearntNetwork, OptimisersLeaveRunningStatisticsAlone) {
  const Structure net = make_mlp(3, 2, {.hidden = {8}, .batch_norm = true});
  ASSERT_LT(net.trainable, net.storage);
  ThreadTeam team(1);
  Rng rng(1, Purpose::test, 0, 0);
  for (std::size_t kind = 0; kind < kOptimiserNames.size(); ++kind) {
    SCOPED_TRACE(std::string(kOptimiserNames[kind]));
    const OptimiserOptions options{.kind = static_cast<OptimiserKind>(kind),
                                   .momentum = 0.5f,
                                   .weight_decay = 0.1f,
                                   .max_grad_norm = 0.5f};
    LearntNetwork network(net, Initialiser::pytorch, options, 1, nullptr);
    LearntNetwork other(net, Initialiser::pytorch, options, 1, nullptr);
    std::vector<float> start = random_floats(net.storage, rng);
    for (LearntNetwork* each : {&network, &other})
      std::copy(start.begin(), start.end(), each->online().begin());
    std::vector<float> gradient = random_floats(net.storage, rng), more = gradient;
    std::fill(gradient.begin() + net.trainable, gradient.end(), 0.0f);
    for (int step = 0; step < 3; ++step) {
      const float norm = network.descend(gradient, 0, 0.1, team);
      EXPECT_EQ(other.descend(more, 0, 0.1, team), norm);
    }
    for (std::size_t i = 0; i < net.storage; ++i) {
      if (i < net.trainable) {
        EXPECT_NE(network.online()[i], start[i]) << i;
      } else {
        EXPECT_EQ(network.online()[i], start[i]) << i;
      }
      EXPECT_EQ(network.online()[i], other.online()[i]) << i;
    }
  }
}

}  // namespace
}  // namespace hotloop
