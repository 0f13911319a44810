// hotloop bench sac: complete updates of SAC and its kin (draw, gather, targets, critics, actor,
// temperature, sync) on one thread, against their bare matrix products in the fastest library for
// each, and the FMA peak of the core, all interleaved in one run; and against the slow twin.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "algo/common/algorithm.hpp"
#include "algo/common/continuous/learner.hpp"
#include "bench/benchmarks.hpp"
#include "bench/libraries.hpp"
#include "bench/measure.hpp"
#include "bench/sac_twin.hpp"
#include "spec/spec.hpp"

namespace hotloop::bench {
namespace {

struct Shape {
  int obs, width, actions, batch;
};

struct Case {
  std::string name;  // of the variant
  std::vector<std::string> settings;
  Passes actor, critic;  // per update; of the critics together
  int policy_delay = 1;
};

// Two critics; per update: two target passes, two online ones, and two for the actor.
constexpr Passes kActor = {.forward = 2};
constexpr Passes kCritics = {
    .forward = 6, .weight_gradient = 2, .input_gradient = 4, .to_inputs = 2};
// One pass over both halves for each critic, without target networks; the actor's forward pass for
// s' and every third of its own.
constexpr Passes kThirdActor = {
    .forward = 4.0 / 3, .weight_gradient = 1.0 / 3, .input_gradient = 1.0 / 3};
constexpr Passes kJointCritics = {.forward = 4 + 2.0 / 3,
                                  .weight_gradient = 4,
                                  .input_gradient = 4 + 2.0 / 3,
                                  .to_inputs = 2.0 / 3};
// The actor is updated every second time, through the first critic.
constexpr Passes kDelayedActor = {.forward = 1.5, .weight_gradient = 0.5, .input_gradient = 0.5};
constexpr Passes kDelayedCritics = {
    .forward = 4.5, .weight_gradient = 2, .input_gradient = 2.5, .to_inputs = 0.5};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"sac", {"algo.name=sac"}, kActor, kCritics},
      {"td3", {"algo.name=td3"}, kDelayedActor, kDelayedCritics, 2},
      {"tqc", {"algo.name=sac", "algo.quantiles=25"}, kActor, kCritics},
      {"crossq",
       {"algo.name=sac", "algo.crossq=true", "algo.policy_delay=3"},
       kThirdActor,
       kJointCritics,
       3}};
  return all;
}

// A learner on a full replay of random transitions.
struct Contest {
  WorldFacts world;
  TrainSpec spec;
  std::unique_ptr<Learner> learner;
  ThreadTeam team{1};
  Counters counters;
  Window window;

  Contest(const Shape& shape, const Case& variant) {
    world.spec = {.name = "bench", .obs = shape.obs, .action_size = shape.actions};
    std::fill_n(world.spec.action_low.begin(), shape.actions, -2.0f);
    std::fill_n(world.spec.action_high.begin(), shape.actions, 2.0f);
    std::vector<std::string> settings = variant.settings;
    settings.push_back(fmt::format("algo.batch={}", shape.batch));
    settings.push_back(fmt::format("net.hidden=[{0},{0}]", shape.width));
    settings.push_back("replay.capacity=20000");
    spec = load_spec_text("env: {name: pendulum}", "bench", settings);
    learner = spec.algorithm->make_learner(spec, world, 1);
    fill(20'000);
  }

  void fill(std::int64_t steps) {
    Rng rng(1, Purpose::test, 0, 0);
    std::vector<float> obs(world.spec.obs), action(world.spec.action_size), reward(1);
    std::vector<std::uint8_t> terminated(1), truncated(1);
    const auto draw = [&](std::vector<float>& values) {
      for (float& value : values) value = static_cast<float>(rng.uniform(-1, 1));
    };
    draw(obs);
    learner->begin(obs, {});
    for (std::int64_t t = 0; t < steps; ++t) {
      draw(obs), draw(action), draw(reward);
      terminated[0] = rng.below(200) == 0;
      learner->push({.actions = {},
                     .rewards = reward,
                     .terminated = terminated,
                     .truncated = truncated,
                     .next_obs = obs,
                     .next_mask = {},
                     .final_obs = obs,
                     .final_mask = {},
                     .continuous_actions = action},
                    counters);
    }
  }

  void make_updates(int count) {
    for (int i = 0; i < count; ++i) {
      ++counters.train_events;
      learner->learn({counters, window, team});
    }
  }
};

Json measure(const Shape& shape, const Case& variant) {
  const auto contest = std::make_shared<Contest>(shape, variant);
  Measurement measurement;
  measurement.add("peak", fma_kernel);
  const int cycle = variant.policy_delay;  // one of them also updates the actor
  measurement.add("updates", [=] { contest->make_updates(cycle); });
  const std::vector<NamedNetwork> networks = contest->learner->networks();
  std::map<std::string, UpdateProduct> products;
  const auto add = [&](const Structure& net, const Passes& passes) {
    for (const UpdateProduct& product : update_products(net, shape.batch, passes)) {
      const auto [at, is_new] = products.emplace(product.name(), product);
      if (!is_new) at->second.times += product.times;
    }
  };
  add(networks[0].network->structure(), variant.actor);
  add(networks[1].network->structure(), variant.critic);
  for (const auto& [name, product] : products) {
    for (const Contender& c : contenders(product)) measurement.add(name + "/" + c.library, c.run);
  }
  const auto times = measurement.run(15, 0.01);

  double products_us = 0, flop = 0;
  for (const auto& [name, product] : products) {
    double best = 1e300;
    for (const Contender& c : contenders(product))
      best = std::min(best, times.at(name + "/" + c.library).median_us);
    products_us += best * product.times;
    flop += product.flop() * product.times;
  }
  const double update_us = times.at("updates").median_us / cycle;
  Measurement twins;  // of its own, because an update of the twin takes up to a second
  twins.add("slow",
            slow_updates(variant.name, *contest->learner, shape.actions, shape.batch, cycle));
  const double slow_us = twins.run(3, 0.01).at("slow").median_us / cycle;
  const double peak_gflops = fma_kernel_flop() / times.at("peak").median_us / 1e3;
  return {{"name", fmt::format("{} {}-{}-{}-{} b{}", variant.name, shape.obs, shape.width,
                               shape.width, shape.actions, shape.batch)},
          {"update_us", update_us},
          {"products_us", products_us},
          {"ratio", update_us / products_us},
          {"peak_fraction", flop / (update_us * peak_gflops * 1e3)},
          {"reference_us", slow_us},
          {"speedup", slow_us / update_us},
          {"peak_gflops", peak_gflops},
          {"spread", times.at("updates").spread}};
}

}  // namespace

Json sac_benchmark() {
  Json rows = Json::array();
  for (const Case& variant : cases()) {
    const int small = variant.name == "crossq" ? 96 : 100;  // CrossQ needs a multiple of 32
    for (const Shape& shape :
         {Shape{3, 64, 1, small}, Shape{3, 256, 1, 256}, Shape{17, 256, 6, 256}})
      rows.push_back(measure(shape, variant));
  }
  return rows;
}

}  // namespace hotloop::bench
