// hotloop bench qloss: one complete update (draw, gather, targets, loss, backward, clip, Adam,
// priorities) of each member of the Q-learning family, against the plain target-network update, one
// forward pass and its slow twin, interleaved; then prioritised against uniform sampling for
// several replay sizes.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "bench/bench_learner.hpp"
#include "bench/benchmarks.hpp"
#include "bench/measure.hpp"
#include "reference/dqn.hpp"

namespace hotloop::bench {
namespace {

constexpr std::int64_t kCapacity = 50'000;
constexpr int kTurns = 101;          // resolves differences of half a microsecond
constexpr int kCapacityTurns = 301;  // repeatable to a few hundredths on a busy machine

struct Variant {
  const char* name;
  DqnOptions options{};
  NetOptions net{};
};

std::vector<Variant> family() {
  return {{"target"},
          {"vanilla", {.target = {.every = 0}}},
          {"double", {.double_q = true}},
          {"munchausen", {.munchausen = {.alpha = 0.9}}},
          {"dueling", {}, {.dueling = true}},
          {"n-step", {.n_step = 3}},
          {"per", {.replay = {.prioritised = true}}},
          {"c51", {.head = {.kind = HeadKind::c51}}},
          {"qr", {.head = {.kind = HeadKind::quantile}}},
          {"noisy", {}, {.noisy = Noisy::all}}};
}

// The twin draws from the same replay.
struct Contest {
  BenchLearner fast;
  reference::Dqn<float> slow;

  Contest(const Shape& shape, const Variant& variant)
      : fast(shape, variant.options, variant.net, kCapacity),
        slow(fast.structure, fast.spec, fast.dqn.online()) {}

  void slow_update() { slow.update(fast.draw(), 1e-4f, fast.updates); }
};

void add_shape(const Shape& shape, Json& rows) {
  Measurement measurement, slow_measurement;
  for (const Variant& variant : family()) {
    const auto contest = std::make_shared<Contest>(shape, variant);
    measurement.add(variant.name, [contest] { contest->fast.update(); });
    slow_measurement.add(variant.name, [contest] { contest->slow_update(); });
  }
  const auto forward_case = std::make_shared<Contest>(shape, Variant{"target"});
  const auto workspace =
      std::make_shared<Workspace>(forward_case->fast.structure, shape.batch, Use::inference);
  const Batch batch = forward_case->fast.draw();
  measurement.add("forward", [=] {
    forward(forward_case->fast.dqn.network().plan(), forward_case->fast.dqn.online(), batch.obs,
            shape.batch, *workspace);
  });
  const auto times = measurement.run(kTurns, 0.01);
  const auto slow_times = slow_measurement.run(9, 0.01);
  const Timing &plain = times.at("target"), &forward_time = times.at("forward");
  for (const Variant& variant : family()) {
    const Timing& time = times.at(variant.name);
    const double slow = slow_times.at(variant.name).median_us;
    rows.push_back({{"name", variant.name},
                    {"shape", shape.name()},
                    {"capacity", kCapacity},
                    {"update_us", time.median_us},
                    {"base", "target"},
                    {"base_us", plain.median_us},
                    {"over_base", ratio(time, plain)},
                    {"more_forwards", difference(time, plain, forward_time)},
                    {"forward_us", forward_time.median_us},
                    {"reference_us", slow},
                    {"speedup", slow / time.median_us},
                    {"spread", time.spread}});
  }
}

void add_capacities(const Shape& shape, Json& rows) {
  for (const std::int64_t capacity : {10'000, 100'000, 1'000'000, 10'000'000}) {
    Measurement measurement;
    const auto uniform =
        std::make_shared<BenchLearner>(shape, DqnOptions{}, NetOptions{}, capacity);
    const auto per = std::make_shared<BenchLearner>(
        shape, DqnOptions{.replay = {.prioritised = true}}, NetOptions{}, capacity);
    measurement.add("uniform", [uniform] { uniform->update(); });
    measurement.add("per", [per] { per->update(); });
    const auto times = measurement.run(kCapacityTurns, 0.01);
    const Timing &uniform_time = times.at("uniform"), &per_time = times.at("per");
    rows.push_back({{"name", "per"},
                    {"shape", shape.name()},
                    {"capacity", capacity},
                    {"update_us", per_time.median_us},
                    {"base", "uniform"},
                    {"base_us", uniform_time.median_us},
                    {"over_base", ratio(per_time, uniform_time)},
                    {"more_forwards", nullptr},
                    {"forward_us", nullptr},
                    {"reference_us", nullptr},
                    {"speedup", nullptr},
                    {"spread", per_time.spread}});
  }
}

}  // namespace

Json qloss_benchmark() {
  const std::vector<Shape> shapes = {{{4, 64, 2}, 32}, {{10, 128, 128, 3}, 64}};
  Json rows = Json::array();
  for (const Shape& shape : shapes) add_shape(shape, rows);
  for (const Shape& shape : shapes) add_capacities(shape, rows);
  return rows;
}

}  // namespace hotloop::bench
