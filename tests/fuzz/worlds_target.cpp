// The first byte chooses an environment and its options. The others change the saved state of a game
// in progress, which is then restored and played on.
#include <array>
#include <memory>
#include <vector>

#include "env/check/battery_play.hpp"
#include "env/options.hpp"
#include "tests/fuzz/target.hpp"

namespace hotloop {
namespace {

constexpr int kRows = 2, kBefore = 9, kAfter = 40;

const std::vector<EnvChoice>& choices() {
  static const std::vector<EnvChoice> all = {
      {"cartpole", {}},
      {"acrobot", {}},
      {"mountaincar", {}},
      {"mountaincar_continuous", {}},
      {"pendulum", {}},
      {"snake", {}},
      {"snake", {{"grid", "4"}, {"obs", "lookahead"}}},
      {"snake", {{"obs", "enhanced"}, {"faithful", "true"}, {"soft_entrapment", "true"}}},
      {"snake", {{"grid", "32"}, {"obs", "grid"}, {"actions", "absolute"}}},
      {"sfc", {}},
      {"sfc", {{"mode", "paper"}, {"mask", "on"}}},
      {"sfc", {{"mode", "paper"}, {"centres", "8"}, {"pending_cap", "20"}, {"mask", "on"}}},
      {"durotaxis", {}},
      {"durotaxis", {{"reward", "normal"}, {"substrate", "random"}, {"recovery", "on"}}},
      {"durotaxis", {{"hard_limit", "7"}, {"soft_limit", "6"}, {"cells", "5"}}},
  };
  return all;
}

void play(BatchEnv& env, int steps, std::uint64_t seed) {
  static ThreadTeam team(1);
  Actions actions(env.spec(), kRows);
  for (int t = 0; t < steps; ++t) {
    choose_actions(env.spec(), env.mask(), seed, static_cast<std::uint64_t>(t), actions);
    env.step(actions, team);
  }
}

std::unique_ptr<BatchEnv> make(const EnvChoice& choice) {
  return std::make_unique<BatchEnv>(make_worlds(choice, kRows), kRows, 1, Purpose::test);
}

// The state after a few steps, for each choice.
const std::vector<std::vector<std::byte>>& games() {
  static const std::vector<std::vector<std::byte>> all = fuzz::prepared([] {
    std::vector<std::vector<std::byte>> saved;
    for (const EnvChoice& choice : choices()) {
      const auto env = make(choice);
      play(*env, kBefore, 1);
      saved.push_back(env->save());
    }
    return saved;
  });
  return all;
}

}  // namespace
}  // namespace hotloop

HOTLOOP_FUZZ_TARGET(worlds) {
  using namespace hotloop;
  fuzz::Input input(bytes);
  const std::size_t which = input.next<std::uint8_t>() % choices().size();
  std::vector<std::byte> state = games()[which];
  const std::size_t own = (sizeof(std::uint64_t) * (1 + 2 * kRows));  // of BatchEnv: not changed
  while (!input.empty()) {
    const auto kind = input.next<std::uint8_t>();
    const std::size_t at = own + input.below(state.size() - own);
    if (kind < 16) {  // everything from here on
      std::fill(state.begin() + static_cast<std::ptrdiff_t>(at), state.end(),
                input.next<std::byte>());
    } else if (kind < 128) {
      state[at] = input.next<std::byte>();
    } else {  // a number, where numbers are
      const std::array<std::uint64_t, 8> kOdd = {
          0, 1, ~0ull, 0x7ff0000000000000, 0x7fffffff, 0xff800000, 0x4000, 0x8000000000000000};
      const auto value = kind < 192 ? kOdd[kind % 8] : input.next<std::uint64_t>();
      const std::size_t size = kind % 2 == 0 ? 8 : 4, start = at / size * size;
      if (start + size <= state.size()) std::memcpy(&state[start], &value, size);
    }
  }
  const auto env = make(choices()[which]);
  env->restore(state);
  play(*env, kAfter, 2);
  for (int row = 0; row < kRows; ++row) {
    std::array<float, kMaxMeasures> values{};
    env->worlds().measure(row, values);
    env->worlds().picture(row);
  }
}
