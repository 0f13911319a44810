// What the author of an environment includes.
//
// A world is a plain, trivially copyable struct with a constexpr `spec`, `reset`, `observe` and
// `step`. Everything else is the engine's: N copies, auto-reset, the time limit, random streams,
// episode statistics, saving and restoring, and the test battery.
//
//   struct Corridor {
//     static constexpr auto spec = hotloop::EnvSpec{.name = "corridor", .obs = 2, .actions = 2,
//                                                   .max_steps = 100};
//     int x = 0, goal = 9;
//     void reset(hotloop::Rng& rng)            { x = 0; goal = 5 + rng.below(10); }
//     void observe(std::span<float> obs) const { obs[0] = x / 20.f; obs[1] = goal / 20.f; }
//     hotloop::Step step(int a, hotloop::Rng&) { x += a ? 1 : -1; const bool there = x == goal;
//                                                return {there ? 1.f : -.01f, there || x < 0}; }
//   };
//   HOTLOOP_ENV(Corridor)
//
// That world takes numbered actions. One that takes a box of floats says so in its spec,
//   .action_size = 1, .action_low = {-2}, .action_high = {2}
// and has `hotloop::Step step(std::span<const float> action, hotloop::Rng&)`. The engine hands the
// floats on as they come; a world that minds values beyond its bounds clips them itself.
//
// Optional: `void mask(std::span<std::uint8_t> allowed) const` (1 = the action may be taken),
// `void measure(std::span<float> values) const` (what is told of an episode besides its return: see
// spec.measures), `void reward_parts(std::span<float> parts) const` (what the latest reward was made
// of: see spec.reward_parts), `hotloop::Picture picture() const` (what people are to see) and a nested
// type `Batch`, a whole-batch step (see BatchedWorld below).
#pragma once

#include <hotloop/rng.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hotloop {

// A named stretch of the observation row, e.g. {"dc_sfc", {6, 13}}; unused dimensions are 0.
struct ObsPart {
  std::string_view name;
  std::array<int, 3> shape{};

  constexpr int size() const {
    int n = 1;
    for (int extent : shape) n *= extent > 0 ? extent : 1;
    return n;
  }
};

inline constexpr int kMaxActionSize = 64;
inline constexpr int kMaxMeasures = 20;
inline constexpr int kMaxRewardParts = 8;

// The fact sheet of an environment. Either `actions` or `action_size` is set, never both.
struct EnvSpec {
  std::string_view name;
  int obs = 0;          // floats in one observation row
  int actions = 0;      // number of discrete actions; 0 = the actions are a box
  int action_size = 0;  // floats in one box action; 0 = the actions are numbered
  std::array<float, kMaxActionSize> action_low{};   // the first action_size of each count: an
  std::array<float, kMaxActionSize> action_high{};  // action lies in [low, high], ends included
  int max_steps = 0;  // time limit after which an episode is truncated; 0 = none
  // The mean return that counts as solved; NaN = none is agreed on.
  double solved_return = std::numeric_limits<double>::quiet_NaN();
  std::array<ObsPart, 8> parts{};  // names of the row's parts in order; may stay empty
  std::string_view about{};        // one line for `hotloop list envs`
  // Names of what `measure` gives at the end of an episode; the one called "score", if there is one,
  // is reported with results. A value may be NaN: it means nothing in that episode, and means over
  // episodes leave it out.
  std::array<std::string_view, kMaxMeasures> measures{};
  // Names of the parts of a reward that `reward_parts` tells apart, for agents that value them each.
  std::array<std::string_view, kMaxRewardParts> reward_parts{};

  constexpr int measure_count() const { return count_names(measures); }
  constexpr int reward_part_count() const { return count_names(reward_parts); }

 private:
  template <std::size_t kMost>
  static constexpr int count_names(const std::array<std::string_view, kMost>& names) {
    int n = 0;
    while (n < static_cast<int>(kMost) && !names[n].empty()) ++n;
    return n;
  }
};

// Something that a training spec may set under `env.options`. Its value is a number; where there are
// choices, it is the index of the word chosen.
struct EnvOption {
  std::string_view name;
  std::string_view about;
  double initial = 0;  // NaN = it follows from other options, as `about` says
  double low = 0;
  double high = 0;
  bool whole = false;                         // whole numbers only
  std::array<std::string_view, 8> choices{};  // the words, if it is not a number
  bool is_view = false;   // it changes what is shown or allowed, not what happens
  bool is_speed = false;  // it changes only how fast: what is seen and happens is the same, to the bit
};

constexpr EnvOption view(EnvOption option) {
  option.is_view = true;
  return option;
}

// A choice between ways to compute the same thing; `hotloop doctor` tries the others.
constexpr EnvOption speed(EnvOption option) {
  option.is_speed = true;
  return option;
}

constexpr EnvOption whole_option(std::string_view name, int initial, int low, int high,
                                 std::string_view about) {
  return {name,
          about,
          static_cast<double>(initial),
          static_cast<double>(low),
          static_cast<double>(high),
          true};
}
constexpr EnvOption number_option(std::string_view name, double initial, double low, double high,
                                  std::string_view about) {
  return {name, about, initial, low, high};
}
constexpr EnvOption word_option(std::string_view name, std::array<std::string_view, 8> choices,
                                int initial, std::string_view about) {
  return {name, about, static_cast<double>(initial), 0, 0, true, choices};
}

// What one step yields. The time limit is not the world's business: it never sets truncation.
struct Step {
  float reward = 0;
  bool terminated = false;
};

// An image, a pixel for the smallest thing there is to see.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb{};  // [height, width, 3]
};

// clang-format off
template <class W>
concept TriviallyCopyable = std::is_trivially_copyable_v<W> && std::default_initializable<W>;
template <class W>
concept HasSpec = requires { { W::spec } -> std::convertible_to<const EnvSpec&>; };
template <class W>
concept HasReset = requires(W w, Rng& rng) { { w.reset(rng) } -> std::same_as<void>; };
template <class W>
concept HasObserve = requires(const W w, std::span<float> obs) {
  { w.observe(obs) } -> std::same_as<void>;
};
template <class W>
concept HasDiscreteStep = requires(W w, int action, Rng& rng) {
  { w.step(action, rng) } -> std::same_as<Step>;
};
template <class W>
concept HasBoxStep = requires(W w, std::span<const float> action, Rng& rng) {
  { w.step(action, rng) } -> std::same_as<Step>;
};
template <class W>
concept HasStep = HasDiscreteStep<W> != HasBoxStep<W>;  // exactly one of them
template <class W>
concept HasMask = requires(const W w, std::span<std::uint8_t> allowed) { w.mask(allowed); };
template <class W>
concept HasMeasure = requires(const W w, std::span<float> values) { w.measure(values); };
template <class W>
concept HasRewardParts = requires(const W w, std::span<float> parts) { w.reward_parts(parts); };
template <class W>
concept HasPicture = requires(const W w) { { w.picture() } -> std::same_as<Picture>; };

// The contract. A missing member is named by the sub-concept that fails.
template <class W>
concept World = TriviallyCopyable<W> && HasSpec<W> && HasReset<W> && HasObserve<W> && HasStep<W>;

// What a batch of actions is made of: one number per row, or spec.action_size floats per row.
template <class W>
using ActionOf = std::conditional_t<HasBoxStep<W>, float, std::int32_t>;

// A world may bring its own storage for N copies, laid out for SIMD. Rows are [begin, end) of the
// batch, spans cover all N; `step` must give exactly the bits that N single worlds give (the battery
// compares them). Such a world must draw no random numbers in `step`.
template <class W>
concept BatchedWorld = World<W> &&
    requires(typename W::Batch b, const typename W::Batch c, int i, W w,
             std::span<const ActionOf<W>> actions, std::span<float> floats,
             std::span<std::uint8_t> flags) {
  b.resize(i);                           // storage for i worlds
  { c.get(i) } -> std::same_as<W>;       // copy one world out
  b.set(i, w);                           // and in
  b.step(i, i, actions, floats, flags);  // rows [begin, end): actions -> rewards, terminated
  c.observe(i, i, floats);               // rows [begin, end) -> obs [N, D]
};
// clang-format on

}  // namespace hotloop

#include <hotloop/world_array.hpp>  // HOTLOOP_ENV and what it makes of a world
