// hotloop bench update: complete DQN updates (draw, gather, target forward, forward, loss,
// backward, clip, Adam) on one thread, against their bare matrix products in the fastest library
// for each, the FMA peak of the core, and the naive twin; all interleaved in one run.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/bench_learner.hpp"
#include "bench/benchmarks.hpp"
#include "bench/libraries.hpp"
#include "bench/measure.hpp"
#include "reference/dqn.hpp"
#include "train/feasible.hpp"

namespace hotloop::bench {
namespace {

// The fast learner and its slow twin, on the same replay.
struct Contest {
  std::string name;
  BenchLearner fast;
  reference::Dqn<float> slow;

  Contest(const Shape& shape)
      : name(shape.name()),
        fast(shape, {}, {}, 50'000),
        slow(fast.structure, fast.spec, fast.dqn.online()) {}
  // The network of a ready-made spec.
  Contest(const std::string& title, const std::string& spec, int batch)
      : name(fmt::format("{} b{}", title, batch)),
        fast(network_structure(load_spec(spec)), {}, batch, 10'000),
        slow(fast.structure, fast.spec, fast.dqn.online()) {}

  void slow_update() { slow.update(fast.draw(), 1e-4f); }
};

Json measure(const std::shared_ptr<Contest>& contest) {
  const Structure& net = contest->fast.structure;
  const int batch = contest->fast.spec.learn.batch;
  Measurement measurement;
  measurement.add("peak", fma_kernel);
  measurement.add("update", [contest] { contest->fast.update(); });
  measurement.add("reference", [contest] { contest->slow_update(); });
  const std::vector<UpdateProduct> products = update_products(net, batch);
  for (const UpdateProduct& product : products) {
    for (const Contender& c : contenders(product))
      measurement.add(product.name() + "/" + c.library, c.run);
  }
  const auto times = measurement.run(15, 0.01);

  double matmul_us = 0, flop = 0;
  for (const UpdateProduct& product : products) {
    double best = 1e300;
    for (const Contender& c : contenders(product))
      best = std::min(best, times.at(product.name() + "/" + c.library).median_us);
    matmul_us += best * product.times;
    flop += product.flop() * product.times;
  }
  const double update_us = times.at("update").median_us;
  const double reference_us = times.at("reference").median_us;
  const double peak_gflops = fma_kernel_flop() / times.at("peak").median_us / 1e3;
  return {{"name", contest->name},
          {"batch", batch},
          {"network", net.describe()},
          {"update_us", update_us},
          {"matmul_us", matmul_us},
          {"ratio", update_us / matmul_us},
          {"peak_fraction", flop / (update_us * peak_gflops * 1e3)},
          {"reference_us", reference_us},
          {"speedup", reference_us / update_us},
          {"peak_gflops", peak_gflops},
          {"spread", times.at("update").spread}};
}

}  // namespace

Json update_benchmark() {
  const std::vector<Shape> shapes = {{{4, 64, 2}, 32},       {{4, 64, 64, 2}, 64},
                                     {{4, 120, 84, 2}, 128}, {{10, 128, 128, 3}, 64},
                                     {{4, 256, 256, 2}, 64}, {{24, 256, 256, 4}, 256}};
  Json rows = Json::array();
  for (const Shape& shape : shapes) rows.push_back(measure(std::make_shared<Contest>(shape)));
  for (const int batch : {16, 32})
    rows.push_back(measure(std::make_shared<Contest>("sfc", "sfc_before", batch)));
  return rows;
}

Json products_benchmark() {
  Json rows = Json::array();
  for (const auto& [in, out, batch] : std::vector<std::array<int, 3>>{{4, 64, 32},
                                                                      {64, 64, 64},
                                                                      {64, 2, 64},
                                                                      {120, 84, 128},
                                                                      {128, 128, 64},
                                                                      {256, 256, 64},
                                                                      {256, 256, 256}}) {
    for (const auto kind :
         {UpdateProduct::kForward, UpdateProduct::kWeightGradient, UpdateProduct::kInputGradient}) {
      const UpdateProduct product{kind, batch, in, out, 1};
      Measurement measurement;
      measurement.add("peak", fma_kernel);
      for (const Contender& c : contenders(product)) measurement.add(c.library, c.run);
      auto times = measurement.run(9, 0.005);
      Json row = {{"name", product.name()},
                  {"peak_gflops", fma_kernel_flop() / times.at("peak").median_us / 1e3}};
      times.erase("peak");
      for (const auto& [library, timing] : times)
        row[library] = product.flop() / timing.median_us / 1e3;
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace hotloop::bench
