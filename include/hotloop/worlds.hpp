// N copies of an environment as the engine holds them.
//
// `Worlds` is the interface that does not depend on how the copies are stepped. There are two ways
// to step. The engine steps a `WorldArray` row by row, in any chunks and threads, and handles
// resets and time limits. `VectorWorlds` (inside the engine) step all rows in one call and handle
// both themselves, as environments in another language must. HOTLOOP_ENV makes a WorldArray.
#pragma once

#include <hotloop/env_spec.hpp>
#include <hotloop/rng.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace hotloop {

class WorldArray;
class VectorWorlds;
using Stepping = std::variant<WorldArray*, VectorWorlds*>;

// The actions of all N rows, of the kind that the spec declares; the other kind is empty.
struct ActionRows {
  std::span<const std::int32_t> discrete{};  // [N]
  std::span<const float> continuous{};       // [N, spec.action_size]

  ActionRows() = default;
  template <std::convertible_to<std::span<const std::int32_t>> Rows>
  ActionRows(const Rows& rows) : discrete(rows) {}
  template <std::convertible_to<std::span<const float>> Rows>
  ActionRows(const Rows& rows) : continuous(rows) {}
};

class Worlds {
 public:
  virtual ~Worlds() = default;
  virtual const EnvSpec& spec() const = 0;
  virtual bool has_mask() const = 0;
  // Throws UsageError if the environment cannot be stepped because only its facts are known.
  virtual Stepping stepping() = 0;
  // Minimum number of steps between two truncations of a row; 0 = it is never truncated.
  virtual int steps_between_truncations() const { return spec().max_steps; }
  // Measures of the row's episode so far, spec().measure_count() values.
  virtual void measure(int /*row*/, std::span<float> /*values*/) const {}
  // A picture of the row for people to look at; empty if there is none.
  virtual Picture picture(int /*row*/) const { return {}; }
  // Names of the environment's scripted policies, and the actions of policy number `script`. If it
  // acts at random, row i draws from Rng(seed, purpose, i, step).
  virtual std::span<const std::string_view> scripts() const { return {}; }
  virtual void play(int /*script*/, int /*begin*/, int /*end*/, std::uint64_t /*seed*/,
                    Purpose /*purpose*/, std::uint64_t /*step*/,
                    std::span<std::int32_t> /*actions*/) const {}  // [N]
  virtual void play(int /*script*/, int /*begin*/, int /*end*/, std::uint64_t /*seed*/,
                    Purpose /*purpose*/, std::uint64_t /*step*/,
                    std::span<float> /*actions*/) const {}  // [N, spec().action_size]
  // JSON to save with models, for example how observations are encoded into rows.
  virtual std::string notes() const { return {}; }
};

// N worlds without episodes. Rows are [begin, end); spans cover all N rows.
//
// Invariant: a row's results depend only on that row's state, action and random stream, so any
// split of the rows over calls or threads gives the same bits.
class WorldArray : public Worlds {
 public:
  Stepping stepping() final { return this; }
  virtual void clear() = 0;  // every row as default-constructed, not yet reset
  virtual void reset(int row, Rng& rng) = 0;
  // Row i draws from Rng(seed, purpose, i, step).
  virtual void step(int begin, int end, const ActionRows& actions, std::uint64_t seed,
                    Purpose purpose, std::uint64_t step, std::span<float> rewards,
                    std::span<std::uint8_t> terminated) = 0;
  virtual void observe(int begin, int end, std::span<float> obs) const = 0;  // [N, D]
  // [N, A]; called only if has_mask()
  virtual void mask(int /*begin*/, int /*end*/, std::span<std::uint8_t> /*allowed*/) const {}
  // The parts of the latest reward of each row, [N, spec().reward_part_count()].
  virtual void reward_parts(int /*begin*/, int /*end*/, std::span<float> /*parts*/) const {}
  virtual std::size_t row_bytes() const = 0;
  virtual void save_row(int row, std::byte* to) const = 0;
  // Returns false, and leaves the row as it was, if the bytes are not a state that the world could
  // continue from: they may come from a file that somebody else made.
  [[nodiscard]] virtual bool restore_row(int row, const std::byte* from) = 0;
  // Whether restore_row refuses such bytes. If not, it believes whatever it gets.
  virtual bool checks_state() const { return false; }
  // Called before the state is saved, with the latest observations and masks of all rows. Throws if
  // they are not what the rows show now, one by one: code from a file may have written beyond its
  // row. Compiled-in worlds are not checked.
  virtual void check_rows(std::span<const float> /*obs*/,
                          std::span<const std::uint8_t> /*mask*/) const {}
};

// One entry of the registry. The two arrays differ only in speed: `make` uses the world's Batch if
// it has one, `make_one_by_one` never does. `values` has one number per option; empty means the
// defaults. `spec` holds for the defaults; for other values, ask the array.
struct EnvEntry {
  using RowMaker =
      std::function<std::unique_ptr<WorldArray>(int count, std::span<const double> values)>;
  using Maker = std::function<std::unique_ptr<Worlds>(int count)>;

  const EnvSpec* spec = nullptr;
  RowMaker batch_maker = nullptr;
  RowMaker one_by_one_maker = nullptr;
  std::span<const EnvOption> options{};
  Maker other_maker = nullptr;  // replaces the two above if the engine does not step the rows

  bool is_stepped_by_row() const { return batch_maker != nullptr; }
  std::unique_ptr<WorldArray> make(int count, std::span<const double> values = {}) const {
    return batch_maker(count, values);
  }
  std::unique_ptr<WorldArray> make_one_by_one(int count,
                                              std::span<const double> values = {}) const {
    return one_by_one_maker(count, values);
  }
  // Makes either kind.
  std::unique_ptr<Worlds> make_any(int count, std::span<const double> values = {}) const {
    if (is_stepped_by_row()) return make(count, values);
    return other_maker(count);
  }
};

// Registers the environment under its name. Runs before main, where nothing can be caught, so a
// duplicate name is reported when the registry is first used.
bool register_env(const EnvEntry& entry);

}  // namespace hotloop
