// What HOTLOOP_ENV makes of a world: storage and dynamics of N copies behind one interface, and an
// entry in the registry. Authors include <hotloop/env.hpp>, which brings this along.
//
// Invariant: a row's results depend on that row's state, action and random stream alone, so any
// split of the rows, over calls or threads, gives the same bits.
#pragma once

#include <hotloop/env.hpp>

#include <cassert>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace hotloop {

// N worlds without episodes. Rows are [begin, end); spans cover all N rows.
class WorldArray {
 public:
  virtual ~WorldArray() = default;
  virtual const EnvSpec& spec() const = 0;
  virtual bool has_mask() const = 0;
  virtual void clear() = 0;  // every row as default-constructed, not yet reset
  virtual void reset(int row, Rng& rng) = 0;
  // Row i draws from Rng(seed, purpose, i, step). Only the kind of action that the spec declares
  // may be given: numbers [N], or a box [N, spec().action_size].
  virtual void step(int begin, int end, std::span<const std::int32_t> actions, std::uint64_t seed,
                    Purpose purpose, std::uint64_t step, std::span<float> rewards,
                    std::span<std::uint8_t> terminated) = 0;
  virtual void step(int begin, int end, std::span<const float> actions, std::uint64_t seed,
                    Purpose purpose, std::uint64_t step, std::span<float> rewards,
                    std::span<std::uint8_t> terminated) = 0;
  virtual void observe(int begin, int end, std::span<float> obs) const = 0;          // [N, D]
  virtual void mask(int begin, int end, std::span<std::uint8_t> allowed) const = 0;  // [N, A]
  // What is told of row's episode so far, spec().measure_count() values.
  virtual void measure(int row, std::span<float> values) const = 0;
  // What the latest reward of each row was made of, [N, spec().reward_part_count()].
  virtual void reward_parts(int /*begin*/, int /*end*/, std::span<float> /*parts*/) const {}
  // A picture of the row, for people to look at: empty if the world cannot be drawn.
  virtual Picture picture(int /*row*/) const { return {}; }
  // Policies that the world knows by name, without learning, and what number `script` of them does.
  // Where it wants to choose at random, row i draws from Rng(seed, purpose, i, step).
  virtual std::span<const std::string_view> scripts() const { return {}; }
  virtual void play(int /*script*/, int /*begin*/, int /*end*/, std::uint64_t /*seed*/,
                    Purpose /*purpose*/, std::uint64_t /*step*/,
                    std::span<std::int32_t> /*actions*/) const {}
  virtual void play(int /*script*/, int /*begin*/, int /*end*/, std::uint64_t /*seed*/,
                    Purpose /*purpose*/, std::uint64_t /*step*/,
                    std::span<float> /*actions*/) const {}  // [N, spec().action_size]
  virtual std::size_t row_bytes() const = 0;
  virtual void save_row(int row, std::byte* to) const = 0;
  virtual void restore_row(int row, const std::byte* from) = 0;
};

// One line of the registry. The two arrays differ only in speed: `make` uses the world's Batch if it
// has one, `make_one_by_one` never does. `values` has one number for each of the options; none at all
// means the initial ones, for which `spec` is true: with others, ask the array.
struct EnvEntry {
  using Maker =
      std::function<std::unique_ptr<WorldArray>(int count, std::span<const double> values)>;

  const EnvSpec* spec = nullptr;
  Maker batch_maker = nullptr;
  Maker one_by_one_maker = nullptr;
  std::span<const EnvOption> options{};

  std::unique_ptr<WorldArray> make(int count, std::span<const double> values = {}) const {
    return batch_maker(count, values);
  }
  std::unique_ptr<WorldArray> make_one_by_one(int count,
                                              std::span<const double> values = {}) const {
    return one_by_one_maker(count, values);
  }
};

// Makes the world known by its name. Runs before main, where nothing can be caught: a name that is
// taken is reported by whoever asks the registry first.
bool register_env(const EnvEntry& entry);

namespace detail {

template <class T>
std::span<T> row_of(std::span<T> all, int row, int width) {
  return all.subspan(static_cast<std::size_t>(row) * width, width);
}

// What `step` of row `row` is handed.
template <HasDiscreteStep W>
int action_of(std::span<const std::int32_t> actions, int row) {
  return actions[row];
}
template <HasBoxStep W>
std::span<const float> action_of(std::span<const float> actions, int row) {
  return row_of(actions, row, W::spec.action_size);
}

// Saved bytes are a function of the state alone: whatever lies between the members is zeroed.
template <class W>
void save_world(W world, std::byte* to) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&world);
#endif
#endif
  std::memcpy(to, &world, sizeof(W));
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

  void step(int begin, int end, std::span<const std::int32_t> actions, std::uint64_t seed,
            Purpose purpose, std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    step_each(begin, end, actions, seed, purpose, step, rewards, terminated);
  }
  void step(int begin, int end, std::span<const float> actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    step_each(begin, end, actions, seed, purpose, step, rewards, terminated);
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
  void restore_row(int row, const std::byte* from) override {
    std::memcpy(static_cast<void*>(&worlds_[row]), from, sizeof(W));
  }

 private:
  template <class Action>
  void step_each(int begin, int end, std::span<const Action> actions, std::uint64_t seed,
                 Purpose purpose, std::uint64_t step, std::span<float> rewards,
                 std::span<std::uint8_t> terminated) {
    assert((std::same_as<Action, ActionOf<W>>));
    if constexpr (std::same_as<Action, ActionOf<W>>) {
      for (int row = begin; row < end; ++row) {
        Rng rng(seed, purpose, static_cast<std::uint32_t>(row), step);
        const Step result = worlds_[row].step(action_of<W>(actions, row), rng);
        rewards[row] = result.reward;
        terminated[row] = result.terminated ? 1 : 0;
      }
    }
  }

  std::vector<W> worlds_;  // [N]
};

// The world's own storage. Resets, masks and saving are rare or small: they go through a copy of
// the one world concerned, so an author writes them once.
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

  void step(int begin, int end, std::span<const std::int32_t> actions, std::uint64_t, Purpose,
            std::uint64_t, std::span<float> rewards, std::span<std::uint8_t> terminated) override {
    step_all(begin, end, actions, rewards, terminated);
  }
  void step(int begin, int end, std::span<const float> actions, std::uint64_t, Purpose,
            std::uint64_t, std::span<float> rewards, std::span<std::uint8_t> terminated) override {
    step_all(begin, end, actions, rewards, terminated);
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
  void restore_row(int row, const std::byte* from) override {
    W world;
    std::memcpy(static_cast<void*>(&world), from, sizeof(W));
    batch_.set(row, world);
  }

 private:
  template <class Action>
  void step_all(int begin, int end, std::span<const Action> actions, std::span<float> rewards,
                std::span<std::uint8_t> terminated) {
    assert((std::same_as<Action, ActionOf<W>>));
    if constexpr (std::same_as<Action, ActionOf<W>>) {
      batch_.step(begin, end, actions, rewards, terminated);
    }
  }

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
  constexpr float kMost = std::numeric_limits<float>::max();
  for (int i = 0; i < spec.action_size; ++i) {
    const float low = spec.action_low[i];
    const float high = spec.action_high[i];
    if (!(low >= -kMost && low < high && high <= kMost)) return false;
  }
  return true;
}

// One sentence per way to miss the contract; the near misses at the end would otherwise be ignored
// in silence.
template <class W>
constexpr void check_contract() {
  static_assert(TriviallyCopyable<W>,
                "a world must be default-constructible and trivially copyable: plain numbers and "
                "arrays, no std::vector, no std::string");
  static_assert(HasSpec<W>, "the world lacks `static constexpr hotloop::EnvSpec spec`");
  static_assert(HasReset<W>, "the world lacks `void reset(hotloop::Rng& rng)`");
  static_assert(HasObserve<W>, "the world lacks `void observe(std::span<float> obs) const`");
  static_assert(HasDiscreteStep<W> || HasBoxStep<W>,
                "the world lacks `hotloop::Step step(int action, hotloop::Rng& rng)`, or for a box "
                "of floats `hotloop::Step step(std::span<const float> action, hotloop::Rng& rng)`");
  static_assert(!(HasDiscreteStep<W> && HasBoxStep<W>),
                "the world has a `step` for numbered actions and one for a box: keep one of them");
  if constexpr (HasSpec<W>) {
    static_assert(!W::spec.name.empty(), "spec.name is empty");
    static_assert(W::spec.obs > 0, "spec.obs must be at least 1");
    if constexpr (HasStep<W> && HasDiscreteStep<W>) {
      static_assert(W::spec.actions > 0 && W::spec.action_size == 0,
                    "`step` takes an int: spec.actions must be at least 1, and spec.action_size, "
                    "which is for a box of floats, left out");
    }
    if constexpr (HasStep<W> && HasBoxStep<W>) {
      constexpr bool kSizeIsSound =
          W::spec.action_size > 0 && W::spec.action_size <= kMaxActionSize && W::spec.actions == 0;
      static_assert(kMaxActionSize == 64, "the next sentence says 64");
      static_assert(
          kSizeIsSound,
          "`step` takes floats: spec.action_size must be 1 to 64, and spec.actions, which "
          "is for numbered actions, left out");
      static_assert(!kSizeIsSound || bounds_are_sound(W::spec),
                    "spec.action_low must be below spec.action_high, both finite, in each of the "
                    "spec.action_size dimensions");
      static_assert(!HasMask<W>, "`mask` is for numbered actions: a box has bounds instead");
    }
    static_assert(W::spec.max_steps >= 0, "spec.max_steps must be 0 (no limit) or more");
  }
  if constexpr (requires { &W::mask; }) {
    static_assert(HasMask<W>, "`mask` must be `void mask(std::span<std::uint8_t> allowed) const`");
  }
  if constexpr (requires { &W::picture; }) {
    static_assert(HasPicture<W>, "`picture` must be `hotloop::Picture picture() const`");
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
    return {};  // the assertions above have said why; spare the reader what would follow
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
