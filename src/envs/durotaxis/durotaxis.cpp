#include "envs/durotaxis/durotaxis.hpp"

#include <algorithm>
#include <cassert>

namespace hotloop {
namespace {

std::unique_ptr<WorldArray> make_durotaxis(int count, std::span<const double> values) {
  return std::make_unique<DurotaxisArray>(count, durotaxis_rules(values));
}

const EnvSpec kInitialSpec = durotaxis_spec(durotaxis_rules({}));

// There is only one implementation. Its slow twin is in reference/.
[[maybe_unused]] const bool kRegistered =
    register_env({&kInitialSpec, &make_durotaxis, &make_durotaxis, durotaxis_options()});

// Baselines for a learnt policy: half of the cells are deleted, the others grow straight ahead.
//   fixed    the largest gamma, with alpha and noise of stage 1
//   fastest  all parameters set for the longest steps
constexpr std::array<std::string_view, 2> kScripts = {"fixed", "fastest"};
constexpr std::array<std::array<float, 5>, 2> kScriptActions = {
    {{0.5f, 15, 2, 0.1f, 0}, {0.5f, 15, 0.5f, 0.5f, 0}}};

}  // namespace

DurotaxisArray::DurotaxisArray(int count, const DurotaxisRules& rules)
    : rules_(rules), spec_(durotaxis_spec(rules)) {
  const auto capacity = static_cast<std::size_t>(rules.capacity());
  worlds_ = arena_.take<DurotaxisWorld>(count);
  for (DurotaxisWorld& world : worlds_) {
    world = DurotaxisWorld{};
    world.rules = &rules_;
    world.cells.x = arena_.take<float>(capacity).data();
    world.cells.y = arena_.take<float>(capacity).data();
    world.cells.parent = arena_.take<std::int32_t>(capacity).data();
    world.cells.since = arena_.take<std::int32_t>(capacity).data();
    world.cells.grown = arena_.take<std::uint8_t>(capacity).data();
    world.cells.marked = arena_.take<std::uint8_t>(capacity).data();
    world.cells.intensity = arena_.take<double>(capacity).data();
    world.cells.children = arena_.take<std::int32_t>(capacity).data();
    world.cells.boundary = arena_.take<std::uint8_t>(capacity).data();
  }
  DurotaxisArray::clear();
}

void DurotaxisArray::clear() {
  for (DurotaxisWorld& world : worlds_) world.clear();
}

void DurotaxisArray::step(int begin, int end, const ActionRows& actions, std::uint64_t seed,
                          Purpose purpose, std::uint64_t step, std::span<float> rewards,
                          std::span<std::uint8_t> terminated) {
  for (int row = begin; row < end; ++row) {
    Rng rng(seed, purpose, static_cast<std::uint32_t>(row), step);
    const auto action = detail::row_of(actions.continuous, row, spec_.action_size);
    const Step result = worlds_[row].step(action, rng);
    rewards[row] = result.reward;
    terminated[row] = result.terminated;
  }
}

void DurotaxisArray::observe(int begin, int end, std::span<float> obs) const {
  for (int row = begin; row < end; ++row) {
    worlds_[row].observe(detail::row_of(obs, row, spec_.obs).data());
  }
}

void DurotaxisArray::reward_parts(int begin, int end, std::span<float> parts) const {
  for (int row = begin; row < end; ++row) {
    worlds_[row].reward_parts(detail::row_of(parts, row, spec_.reward_part_count()));
  }
}

std::span<const std::string_view> DurotaxisArray::scripts() const { return kScripts; }

void DurotaxisArray::play(int script, int begin, int end, std::uint64_t, Purpose, std::uint64_t,
                          std::span<float> actions) const {
  assert(script >= 0 && script < static_cast<int>(kScripts.size()));
  for (int row = begin; row < end; ++row) {
    const std::span<float> action = detail::row_of(actions, row, spec_.action_size);
    std::copy_n(kScriptActions[script].begin(), spec_.action_size, action.begin());
    action[0] = std::min(action[0], spec_.action_high[0]);
  }
}

}  // namespace hotloop
