// What HOTLOOP_ENV generates for a world: storage and stepping of N copies, and a registry entry.
// Authors include <hotloop/env.hpp>, which includes this.
#pragma once

#include <hotloop/env.hpp>
#include <hotloop/worlds.hpp>

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

namespace hotloop {

namespace detail {

template <class T>
std::span<T> row_of(std::span<T> all, int row, int width) {
  return all.subspan(static_cast<std::size_t>(row) * width, width);
}

// The actions of all rows, of the kind that the world takes.
template <HasDiscreteStep W>
std::span<const std::int32_t> actions_of(const ActionRows& rows) {
  return rows.discrete;
}
template <HasContinuousStep W>
std::span<const float> actions_of(const ActionRows& rows) {
  return rows.continuous;
}

// The action that `step` gets in row `row`.
template <HasDiscreteStep W>
int action_of(std::span<const std::int32_t> actions, int row) {
  return actions[row];
}
template <HasContinuousStep W>
std::span<const float> action_of(std::span<const float> actions, int row) {
  return row_of(actions, row, W::spec.action_size);
}

// Saved bytes depend only on the state: the padding between members is zeroed.
template <class W>
void save_world(W world, std::byte* to) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&world);
#endif
#endif
  std::memcpy(to, &world, sizeof(W));
}

// Copies a world out of saved bytes; false if it says that it is not valid.
template <class W>
bool load_world(const std::byte* from, W& world) {
  std::memcpy(static_cast<void*>(&world), from, sizeof(W));
  if constexpr (HasIsValid<W>) return world.is_valid();
  return true;
}

// The default storage: an array of structs, stepped one by one.
template <World W>
class OneByOneArray final : public WorldArray {
 public:
  explicit OneByOneArray(int count) : worlds_(count) {}

  const EnvSpec& spec() const override { return W::spec; }
  bool has_mask() const override { return HasMask<W>; }
  void clear() override { worlds_.assign(worlds_.size(), W{}); }
  void reset(int row, Rng& rng) override { worlds_[row].reset(rng); }

  void step(int begin, int end, const ActionRows& rows, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    const auto actions = actions_of<W>(rows);
    for (int row = begin; row < end; ++row) {
      Rng rng(seed, purpose, static_cast<std::uint32_t>(row), step);
      const Step result = worlds_[row].step(action_of<W>(actions, row), rng);
      rewards[row] = result.reward;
      terminated[row] = result.terminated ? 1 : 0;
    }
  }

  void observe(int begin, int end, std::span<float> obs) const override {
    for (int row = begin; row < end; ++row) worlds_[row].observe(row_of(obs, row, W::spec.obs));
  }

  void mask(int begin, int end, std::span<std::uint8_t> allowed) const override {
    if constexpr (HasMask<W>) {
      for (int row = begin; row < end; ++row) {
        worlds_[row].mask(row_of(allowed, row, W::spec.actions));
      }
    }
  }

  void measure(int row, std::span<float> values) const override {
    if constexpr (HasMeasure<W>) worlds_[row].measure(values);
  }

  void reward_parts(int begin, int end, std::span<float> parts) const override {
    if constexpr (HasRewardParts<W>) {
      for (int row = begin; row < end; ++row) {
        worlds_[row].reward_parts(row_of(parts, row, W::spec.reward_part_count()));
      }
    }
  }

  Picture picture(int row) const override {
    if constexpr (HasPicture<W>) {
      return worlds_[row].picture();
    } else {
      return WorldArray::picture(row);
    }
  }

  std::size_t row_bytes() const override { return sizeof(W); }
  void save_row(int row, std::byte* to) const override { save_world(worlds_[row], to); }
  bool restore_row(int row, const std::byte* from) override {
    W world;
    const bool valid = load_world(from, world);
    if (valid) std::memcpy(static_cast<void*>(&worlds_[row]), &world, sizeof(W));
    return valid;
  }
  bool checks_state() const override { return HasIsValid<W>; }

 private:
  std::vector<W> worlds_;  // [N]
};

// The world's own storage. Resets, masks and saving are rare or cheap: they work on a copy of one
// world, so an author writes them only once.
template <BatchedWorld W>
class WholeBatchArray final : public WorldArray {
 public:
  explicit WholeBatchArray(int count) : count_(count) {
    batch_.resize(count);
    WholeBatchArray::clear();
  }

  const EnvSpec& spec() const override { return W::spec; }
  bool has_mask() const override { return HasMask<W>; }

  void clear() override {
    for (int row = 0; row < count_; ++row) batch_.set(row, W{});
  }

  void reset(int row, Rng& rng) override {
    W world = batch_.get(row);
    world.reset(rng);
    batch_.set(row, world);
  }

  void step(int begin, int end, const ActionRows& actions, std::uint64_t, Purpose, std::uint64_t,
            std::span<float> rewards, std::span<std::uint8_t> terminated) override {
    batch_.step(begin, end, actions_of<W>(actions), rewards, terminated);
  }

  void observe(int begin, int end, std::span<float> obs) const override {
    batch_.observe(begin, end, obs);
  }

  void mask(int begin, int end, std::span<std::uint8_t> allowed) const override {
    if constexpr (HasMask<W>) {
      for (int row = begin; row < end; ++row) {
        batch_.get(row).mask(row_of(allowed, row, W::spec.actions));
      }
    }
  }

  void measure(int row, std::span<float> values) const override {
    if constexpr (HasMeasure<W>) batch_.get(row).measure(values);
  }

  void reward_parts(int begin, int end, std::span<float> parts) const override {
    if constexpr (HasRewardParts<W>) {
      for (int row = begin; row < end; ++row) {
        batch_.get(row).reward_parts(row_of(parts, row, W::spec.reward_part_count()));
      }
    }
  }

  Picture picture(int row) const override {
    if constexpr (HasPicture<W>) {
      return batch_.get(row).picture();
    } else {
      return WorldArray::picture(row);
    }
  }

  std::size_t row_bytes() const override { return sizeof(W); }
  void save_row(int row, std::byte* to) const override { save_world<W>(batch_.get(row), to); }
  bool restore_row(int row, const std::byte* from) override {
    W world;
    const bool valid = load_world(from, world);
    if (valid) batch_.set(row, world);
    return valid;
  }
  bool checks_state() const override { return HasIsValid<W>; }

 private:
  int count_;
  typename W::Batch batch_;
};

template <class W>
std::unique_ptr<WorldArray> make_one_by_one(int count, std::span<const double>) {
  return std::make_unique<OneByOneArray<W>>(count);
}

template <class W>
std::unique_ptr<WorldArray> make_array(int count, std::span<const double> values) {
  if constexpr (BatchedWorld<W>) {
    (void)values;
    return std::make_unique<WholeBatchArray<W>>(count);
  } else {
    return make_one_by_one<W>(count, values);
  }
}

constexpr bool bounds_are_sound(const EnvSpec& spec) {
  constexpr float kMax = std::numeric_limits<float>::max();
  for (int i = 0; i < spec.action_size; ++i) {
    const float low = spec.action_low[i];
    const float high = spec.action_high[i];
    if (!(low >= -kMax && low < high && high <= kMax)) return false;
  }
  return true;
}

// One message per way to violate the contract. Without the checks at the end, near misses would be
// ignored silently.
template <class W>
constexpr void check_contract() {
  static_assert(TriviallyCopyable<W>,
                "a world must be default-constructible and trivially copyable: plain numbers and "
                "arrays, no std::vector, no std::string");
  static_assert(HasSpec<W>, "the world lacks `static constexpr hotloop::EnvSpec spec`");
  static_assert(HasReset<W>, "the world lacks `void reset(hotloop::Rng& rng)`");
  static_assert(HasObserve<W>, "the world lacks `void observe(std::span<float> obs) const`");
  static_assert(HasDiscreteStep<W> || HasContinuousStep<W>,
                "the world lacks `hotloop::Step step(int action, hotloop::Rng& rng)`, or for "
                "continuous actions `hotloop::Step step(std::span<const float> action, "
                "hotloop::Rng& rng)`");
  static_assert(!(HasDiscreteStep<W> && HasContinuousStep<W>),
                "the world has a `step` for discrete actions and one for continuous ones: keep one "
                "of them");
  if constexpr (HasSpec<W>) {
    static_assert(!W::spec.name.empty(), "spec.name is empty");
    static_assert(W::spec.obs > 0, "spec.obs must be at least 1");
    if constexpr (HasStep<W> && HasDiscreteStep<W>) {
      static_assert(W::spec.actions > 0 && W::spec.action_size == 0,
                    "`step` takes an int: spec.actions must be at least 1, and spec.action_size, "
                    "which is for continuous actions, left out");
    }
    if constexpr (HasStep<W> && HasContinuousStep<W>) {
      constexpr bool kSizeIsSound =
          W::spec.action_size > 0 && W::spec.action_size <= kMaxActionSize && W::spec.actions == 0;
      static_assert(kMaxActionSize == 64, "the next message says 64");
      static_assert(kSizeIsSound,
                    "`step` takes floats: spec.action_size must be 1 to 64, and "
                    "spec.actions, which is for discrete actions, left out");
      static_assert(!kSizeIsSound || bounds_are_sound(W::spec),
                    "spec.action_low must be below spec.action_high, both finite, in each of the "
                    "spec.action_size dimensions");
      static_assert(!HasMask<W>,
                    "`mask` is for discrete actions: continuous ones have bounds instead");
    }
    static_assert(W::spec.max_steps >= 0, "spec.max_steps must be 0 (no limit) or more");
  }
  if constexpr (requires { &W::mask; }) {
    static_assert(HasMask<W>, "`mask` must be `void mask(std::span<std::uint8_t> allowed) const`");
  }
  if constexpr (requires { &W::picture; }) {
    static_assert(HasPicture<W>, "`picture` must be `hotloop::Picture picture() const`");
  }
  if constexpr (requires { &W::is_valid; }) {
    static_assert(HasIsValid<W>, "`is_valid` must be `bool is_valid() const`");
  }
  if constexpr (HasSpec<W>) {
    static_assert(HasMeasure<W> == (W::spec.measure_count() > 0),
                  "`void measure(std::span<float> values) const` and names in spec.measures belong "
                  "together: give both or neither");
    static_assert(
        HasRewardParts<W> == (W::spec.reward_part_count() > 0),
        "`void reward_parts(std::span<float> parts) const` and names in spec.reward_parts "
        "belong together: give both or neither");
  }
  if constexpr (World<W> && requires { typename W::Batch; }) {
    static_assert(BatchedWorld<W>,
                  "the world's `Batch` lacks one of resize, get, set, step, observe: see "
                  "BatchedWorld in <hotloop/env.hpp>");
  }
}

}  // namespace detail

template <class W>
EnvEntry env_entry() {
  detail::check_contract<W>();
  if constexpr (World<W>) {
    return {&W::spec, &detail::make_array<W>, &detail::make_one_by_one<W>, {}};
  } else {
    return {};  // the assertions above say why; more errors would be noise
  }
}

}  // namespace hotloop

#define HOTLOOP_JOIN_(a, b) a##b
#define HOTLOOP_JOIN(a, b) HOTLOOP_JOIN_(a, b)

// Registers `Type` when the program or plug-in that contains this line is loaded.
#define HOTLOOP_ENV(Type)                                                  \
  namespace {                                                              \
  [[maybe_unused]] const bool HOTLOOP_JOIN(hotloop_registered, __LINE__) = \
      ::hotloop::register_env(::hotloop::env_entry<Type>());               \
  }
