// hotloop bench kernels: each fast kernel against its slow twin in reference/. The ratio shows the
// gain of the optimisation.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/measure.hpp"
#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "env/registry.hpp"
#include "memory/random_words.hpp"
#include "memory/replay.hpp"
#include "net/network.hpp"
#include "net/optimiser.hpp"
#include "reference/cartpole.hpp"
#include "reference/network.hpp"
#include "reference/optimiser.hpp"
#include "reference/priority_tree.hpp"
#include "reference/replay.hpp"

namespace hotloop::bench {
namespace {

struct Pair {
  std::string name;
  std::function<void()> fast, slow;  // `slow` is empty if it would take too long
};

std::vector<float> random_floats(std::size_t size) {
  Rng rng(1, Purpose::test, 0, 0);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

// A forward and backward pass of 64 samples through 4-64-64-2.
Pair network_pair() {
  struct State {
    Structure net = make_mlp(4, 2, {.hidden = {64, 64}});
    Plan plan{net};
    Workspace workspace{net, 64, Use::training};
    std::vector<float> parameters = std::vector<float>(net.storage), gradient = parameters;
    std::vector<float> rows = random_floats(64 * 4);
  };
  const auto s = std::make_shared<State>();
  initialise(s->net, Initialiser::pytorch, 1, s->parameters);
  for (int block = 0; block < 2; ++block)
    std::fill_n(s->workspace.output_gradient(block), 2 * kLanes, 1.0f);
  return {"forward and backward, 4-64-64-2 b64",
          [s] {
            forward(s->plan, s->parameters, s->rows.data(), 64, s->workspace);
            backward(s->plan, s->parameters, 64, s->workspace, s->gradient);
          },
          [s] {
            for (int row = 0; row < 64; ++row) {
              const auto trace = reference::forward<float>(
                  s->net, s->parameters, std::span<const float>(s->rows).subspan(row * 4, 4));
              reference::backward<float>(s->net, s->parameters, trace, {1.0f, 1.0f}, s->gradient);
            }
          }};
}

Pair adam_pair() {
  constexpr std::size_t kSize = 67'586;  // 4-256-256-2
  struct State {
    Optimiser fast{{.max_grad_norm = 1}, kSize};
    reference::Optimiser<float> slow{{.max_grad_norm = 1}, kSize};
    std::vector<float> parameters = random_floats(kSize), gradient = parameters,
                       scratch = parameters;
    ThreadTeam alone{1};
  };
  const auto s = std::make_shared<State>();
  return {"clip and Adam, 67,586 parameters",
          [s] {
            s->fast.step(s->parameters, s->gradient, 1e-4f,
                         clip_factor(euclidean_norm(s->gradient), 1), s->alone);
          },
          [s] {
            s->scratch = s->gradient;
            reference::clip<float>(s->scratch, 1);
            s->slow.step(s->parameters, s->scratch, 1e-4f);
          }};
}

// Pushing a vector step of 64 environments, and drawing 8 batches of 64.
std::vector<Pair> replay_pairs() {
  struct State {
    ReplayShape shape{.lanes = 64, .obs = 4, .actions = 2, .max_steps = 500, .capacity = 100'000};
    Replay fast{shape, 512};
    reference::Replay slow{shape};
    std::vector<float> obs = random_floats(64 * 4), rewards = random_floats(64),
                       gathered = random_floats(512 * 8);
    std::vector<std::int32_t> actions = std::vector<std::int32_t>(64);
    std::vector<std::uint8_t> no = std::vector<std::uint8_t>(64);
    std::uint64_t draw = 0;
    Transitions step() const { return {actions, rewards, no, no, obs, {}, obs, {}}; }
  };
  const auto s = std::make_shared<State>();
  s->fast.begin(s->obs, {});
  s->slow.begin(s->obs);
  for (int t = 0; t < 1600; ++t) s->fast.push(s->step()), s->slow.push(s->step());
  return {{"replay push, 64 environments", [s] { s->fast.push(s->step()); },
           [s] { s->slow.push(s->step()); }},
          {"replay draw and gather, 8 batches of 64", [s] { s->fast.sample(8, 64, 1, s->draw++); },
           [s] {
             Rng rng(1, Purpose::replay, 0, s->draw++);
             for (int i = 0; i < 512; ++i) {
               const reference::Window t = s->slow.draw(rng);
               std::copy(t.obs.begin(), t.obs.end(), s->gathered.begin() + i * 8);
               std::copy(t.next_obs.begin(), t.next_obs.end(), s->gathered.begin() + i * 8 + 4);
             }
           }}};
}

// A batch of 32 from a full replay: uniform, by priority with weights, and with new priorities
// written back. The twin searches its list of priorities linearly; it does not gather.
std::vector<Pair> priority_pairs(std::int64_t capacity) {
  struct State {
    ReplayShape shape;
    Replay replay{shape, 32};
    reference::PriorityTree list{std::vector<std::int64_t>(shape.capacity, PriorityTree::kOne)};
    std::vector<float> errors = random_floats(1024);
    std::vector<std::uint64_t> random = std::vector<std::uint64_t>(32);
    std::vector<double> weights = std::vector<double>(32);
    std::uint64_t draw = 0;

    explicit State(const ReplayShape& s) : shape(s) {
      const std::vector<float> obs = random_floats(s.lanes * s.obs), rewards(s.lanes);
      const std::vector<std::int32_t> actions(s.lanes);
      const std::vector<std::uint8_t> no(s.lanes);
      replay.begin(obs, {});
      for (std::int64_t t = 0; t <= s.capacity / s.lanes; ++t)
        replay.push({actions, rewards, no, no, obs, {}, obs, {}});
      for (float& error : errors) error = std::abs(error);
      for (int i = 0; s.prioritised && i < 100'000; ++i) cycle();
    }
    std::span<const float> next_errors() {
      return std::span(errors).subspan(draw * 32 % errors.size(), 32);
    }
    void sample() { replay.sample(1, 32, 1, draw++, 0.5); }
    void cycle() {
      sample();
      replay.set_priorities(0, next_errors());
    }
    void slow_cycle() {
      random_words(Rng(1, Purpose::replay, 0, draw++), random);
      const auto total = static_cast<double>(list.total());
      for (int k = 0; k < 32; ++k) {
        std::int64_t& priority = list.leaves[list.draw(random[k], k, 32)];
        weights[k] = std::pow(static_cast<double>(shape.capacity) * priority / total, -0.5);
        priority = std::llround(std::pow(next_errors()[k] + 1e-4, 0.6) * PriorityTree::kOne);
      }
    }
  };
  ReplayShape shape{.lanes = 8, .obs = 4, .actions = 2, .max_steps = 500, .capacity = capacity};
  const auto uniform = std::make_shared<State>(shape);
  shape.prioritised = true;
  const auto s = std::make_shared<State>(shape);
  const auto name = [&](const char* what) { return fmt::format("{}, 32 of {}", what, capacity); };
  std::function<void()> slow;
  if (capacity <= 1'000'000) slow = [s] { s->slow_cycle(); };
  return {{name("uniform sample"), [uniform] { uniform->sample(); }, {}},
          {name("prioritised sample"), [s] { s->sample(); }, {}},
          {name("prioritised sample and priorities"), [s] { s->cycle(); }, slow}};
}

Pair cartpole_pair() {
  struct State {
    BatchEnv fast{find_env("cartpole").make(1024), 1024, 1, Purpose::test};
    std::vector<reference::CartPole> slow = std::vector<reference::CartPole>(1024);
    std::vector<float> obs = std::vector<float>(1024 * 4);
    std::vector<std::int32_t> actions = std::vector<std::int32_t>(1024);
    ThreadTeam team{1};
    std::vector<std::int32_t> opposite = std::vector<std::int32_t>(1024);
  };
  const auto s = std::make_shared<State>();
  for (int i = 0; i < 1024; ++i)
    s->actions[i] = i % 2, s->opposite[i] = 1 - i % 2;  // left, right, left, ...
  return {"CartPole step, 1,024 environments",
          [s] {
            s->fast.step(s->actions, s->team);
            s->actions.swap(s->opposite);
          },
          [s] {
            for (int i = 0; i < 1024; ++i) {
              reference::CartPole& world = s->slow[i];
              if (world.step(s->actions[i])) world = {};
              const double state[4] = {world.x, world.x_dot, world.theta, world.theta_dot};
              std::copy_n(state, 4, s->obs.begin() + i * 4);
            }
            s->actions.swap(s->opposite);
          }};
}

}  // namespace

Json kernels_benchmark() {
  std::vector<Pair> pairs = replay_pairs();
  for (const std::int64_t capacity : {10'000, 100'000, 1'000'000, 10'000'000}) {
    for (Pair& pair : priority_pairs(capacity)) pairs.push_back(std::move(pair));
  }
  pairs.push_back(cartpole_pair());
  pairs.push_back(network_pair());
  pairs.push_back(adam_pair());
  Measurement measurement;
  for (const Pair& pair : pairs) {
    measurement.add(pair.name + "/fast", pair.fast);
    if (pair.slow) measurement.add(pair.name + "/slow", pair.slow);
  }
  const auto times = measurement.run();
  Json rows = Json::array();
  for (const Pair& pair : pairs) {
    const double fast = times.at(pair.name + "/fast").median_us;
    Json row = {{"name", pair.name}, {"fast_us", fast}, {"reference_us", ""}, {"speedup", ""}};
    if (pair.slow) {
      const double slow = times.at(pair.name + "/slow").median_us;
      row["reference_us"] = slow;
      row["speedup"] = slow / fast;
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace hotloop::bench
