// What the author of an environment includes.
//
// A world is a plain, trivially copyable struct with a constexpr `spec`, `reset`, `observe` and
// `step`. The engine does everything else: N copies, auto-reset, the time limit, random streams,
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
// That world takes discrete actions. A world with continuous actions declares them in its spec,
//   .action_size = 1, .action_low = {-2}, .action_high = {2}
// and has `hotloop::Step step(std::span<const float> action, hotloop::Rng&)`. The engine does not
// clip actions; a world that cannot handle values beyond its bounds clips them itself.
//
// Optional: `void mask(std::span<std::uint8_t> allowed) const` (1 = the action may be taken),
// `void measure(std::span<float> values) const` (reported per episode, besides the return: see
// spec.measures), `void reward_parts(std::span<float> parts) const` (the parts of the latest
// reward: see spec.reward_parts), `hotloop::Picture picture() const` (for people to look at),
// `bool is_valid() const` (see HasIsValid below) and a nested type `Batch`, which steps the whole
// batch (see BatchedWorld below).
//
// The members of EnvSpec are in <hotloop/env_spec.hpp>.
#pragma once

#include <hotloop/env_spec.hpp>
#include <hotloop/rng.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace hotloop {

// The result of one step. The engine applies the time limit: a world never sets truncation.
struct Step {
  float reward = 0;
  bool terminated = false;
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
concept HasContinuousStep = requires(W w, std::span<const float> action, Rng& rng) {
  { w.step(action, rng) } -> std::same_as<Step>;
};
template <class W>
concept HasStep = HasDiscreteStep<W> != HasContinuousStep<W>;  // exactly one of them
template <class W>
concept HasMask = requires(const W w, std::span<std::uint8_t> allowed) { w.mask(allowed); };
template <class W>
concept HasMeasure = requires(const W w, std::span<float> values) { w.measure(values); };
template <class W>
concept HasRewardParts = requires(const W w, std::span<float> parts) { w.reward_parts(parts); };
template <class W>
concept HasPicture = requires(const W w) { { w.picture() } -> std::same_as<Picture>; };
// Whether the world can continue from this state. A checkpoint may come from somebody else, and its
// bytes are copied into the world: any member may hold anything. Check every number that `step`,
// `observe` or `mask` uses as an index, a divisor or the bound of a loop. Accept every state that
// `reset` and `step` can produce. For a bool or an enum, see `byte_of`.
template <class W>
concept HasIsValid = requires(const W w) { { w.is_valid() } -> std::same_as<bool>; };

// The contract. A missing member is named by the sub-concept that fails.
template <class W>
concept World = TriviallyCopyable<W> && HasSpec<W> && HasReset<W> && HasObserve<W> && HasStep<W>;

// The byte of a bool, or of an enum of one byte, for `is_valid`: a value that is not one of its own
// must not be read as that type. `byte_of(done) <= 1`.
template <class T>
  requires(sizeof(T) == 1)
unsigned byte_of(const T& member) {
  unsigned char byte;
  std::memcpy(&byte, &member, 1);
  return byte;
}

// The element of a batch of actions: one integer per row, or spec.action_size floats per row.
template <class W>
using ActionOf = std::conditional_t<HasContinuousStep<W>, float, std::int32_t>;

// A world may have its own storage for N copies, laid out for SIMD. Rows are [begin, end) of the
// batch, spans cover all N; `step` must give exactly the bits of N single worlds (the battery
// compares them). Such a world must not draw random numbers in `step`.
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

#include <hotloop/world_array.hpp>  // HOTLOOP_ENV
