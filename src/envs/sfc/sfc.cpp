#include "envs/sfc/sfc.hpp"

#include <algorithm>
#include <cassert>

namespace hotloop {
namespace {

std::unique_ptr<WorldArray> make_sfc(int count, std::span<const double> values) {
  return std::make_unique<SfcArray>(count, sfc_rules(values));
}

const EnvSpec kInitialSpec = sfc_spec(sfc_rules({}));

// There is only one implementation. Its slow twin is in reference/.
[[maybe_unused]] const bool kRegistered =
    register_env({&kInitialSpec, &make_sfc, &make_sfc, sfc_options()});

constexpr std::array<std::string_view, 2> kScripts = {"heuristic", "greedy"};

}  // namespace

SfcArray::SfcArray(int count, const SfcRules& rules)
    : rules_(rules), spec_(sfc_spec(rules)), scale_(sfc_scale(rules)) {
  const auto capacity = static_cast<std::size_t>(rules.capacity());
  requests_ = arena_.take<SfcRequest>(capacity * count);
  worlds_ = arena_.take<SfcWorld>(count);
  for (int row = 0; row < count; ++row) {
    worlds_[row] = SfcWorld{};
    worlds_[row].rules = &rules_;
    worlds_[row].requests = &requests_[capacity * row];
  }
  SfcArray::clear();
}

void SfcArray::clear() {
  for (SfcWorld& world : worlds_) world.clear();
}

void SfcArray::step(int begin, int end, const ActionRows& actions, std::uint64_t seed,
                    Purpose purpose, std::uint64_t step, std::span<float> rewards,
                    std::span<std::uint8_t> terminated) {
  for (int row = begin; row < end; ++row) {
    Rng rng(seed, purpose, static_cast<std::uint32_t>(row), step);
    const Step result = worlds_[row].step(actions.discrete[row], rng);
    rewards[row] = result.reward;
    terminated[row] = result.terminated;
  }
}

void SfcArray::observe(int begin, int end, std::span<float> obs) const {
  for (int row = begin; row < end; ++row) {
    worlds_[row].observe(detail::row_of(obs, row, spec_.obs).data(),
                         rules_.scale ? &scale_ : nullptr);
  }
}

void SfcArray::mask(int begin, int end, std::span<std::uint8_t> allowed) const {
  for (int row = begin; row < end; ++row) {
    worlds_[row].mask(detail::row_of(allowed, row, spec_.actions).data());
  }
}

std::span<const std::string_view> SfcArray::scripts() const { return kScripts; }

void SfcArray::play(int script, int begin, int end, std::uint64_t, Purpose, std::uint64_t,
                    std::span<std::int32_t> actions) const {
  assert(script >= 0 && script < static_cast<int>(kScripts.size()));
  for (int row = begin; row < end; ++row) {
    actions[row] = script == 0 ? worlds_[row].play_heuristic() : worlds_[row].play_greedy();
  }
}

}  // namespace hotloop
