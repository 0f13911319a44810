#include "env/check/battery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>

#include <hotloop/error.hpp>

#include "env/check/battery_play.hpp"

namespace hotloop {
namespace {

using Failure = std::optional<std::string>;

Failure check_parts(const EnvSpec& spec) {
  int total = 0;
  int named = 0;
  for (const ObsPart& part : spec.parts) {
    if (part.name.empty()) continue;
    total += part.size();
    ++named;
  }
  if (named == 0 || total == spec.obs) return std::nullopt;
  return fmt::format("expected the named parts to add up to spec.obs = {}, found {}", spec.obs,
                     total);
}

// Checks that `show(row, rows)` writes exactly the `width` values of its row: the neighbouring rows
// must not change, and the values must not depend on the previous content. `guarded` is
// [N + 2, width], with a guard row at each end. `marks` are values that no world writes on purpose.
// Afterwards the row holds its values.
template <class T, class Show>
Failure check_row_writes(std::string_view what, int row, int width, std::span<T> guarded,
                         std::array<T, 2> marks, Show&& show) {
  const auto before = guarded.subspan(static_cast<std::size_t>(row) * width, width);
  const auto own = guarded.subspan(static_cast<std::size_t>(row + 1) * width, width);
  const auto after = guarded.subspan(static_cast<std::size_t>(row + 2) * width, width);
  const auto rows = guarded.subspan(width, guarded.size() - 2 * static_cast<std::size_t>(width));
  std::vector<T> first;
  for (const T mark : marks) {
    for (const auto& part : {before, own, after}) std::fill(part.begin(), part.end(), mark);
    show(row, rows);
    const auto is_mark = [mark](T value) { return value == mark; };
    const bool intact_before = std::all_of(before.begin(), before.end(), is_mark);
    const bool intact_after = std::all_of(after.begin(), after.end(), is_mark);
    if (!intact_before || !intact_after) {
      return fmt::format("{}: expected exactly {} values to be written, found a write {} the row",
                         what, width, intact_before ? "after" : "before");
    }
    if (first.empty()) first.assign(own.begin(), own.end());
  }
  for (int i = 0; i < width; ++i) {
    if (first[i] == marks[0] && own[i] == marks[1]) {
      return fmt::format("{}: expected value {} to be written, found it untouched", what, i);
    }
    if (first[i] != own[i] && first[i] == first[i]) {
      return fmt::format("{}: expected value {} to be {} when asked again, found {}", what, i,
                         first[i], own[i]);
    }
  }
  return std::nullopt;
}

Failure check_observation(const WorldArray& worlds, int row, std::span<float> obs) {
  const EnvSpec& spec = worlds.spec();
  Failure failure = check_row_writes<float>(
      "observation", row, spec.obs, obs, {-1.2345678e30f, 8.7654321e29f},
      [&](int r, std::span<float> rows) { worlds.observe(r, r + 1, rows); });
  if (failure) return failure;
  for (int i = 0; i < spec.obs; ++i) {
    const float value = obs[static_cast<std::size_t>(row + 1) * spec.obs + i];
    if (!std::isfinite(value)) {
      return fmt::format("observation: expected a finite value {}, found {}", i, value);
    }
  }
  return std::nullopt;
}

Failure check_row(const WorldArray& worlds, int row, std::span<float> obs,
                  std::span<std::uint8_t> mask) {
  if (Failure failure = check_observation(worlds, row, obs)) return failure;
  if (!worlds.has_mask()) return std::nullopt;
  const EnvSpec& spec = worlds.spec();
  Failure failure = check_row_writes<std::uint8_t>(
      "mask", row, spec.actions, mask, {0xA5, 0x5A},
      [&](int r, std::span<std::uint8_t> rows) { worlds.mask(r, r + 1, rows); });
  if (failure) return failure;
  bool any = false;
  for (int i = 0; i < spec.actions; ++i) {
    const int value = mask[static_cast<std::size_t>(row + 1) * spec.actions + i];
    if (value > 1) return fmt::format("mask: expected 0 or 1 for action {}, found {}", i, value);
    any = any || value == 1;
  }
  if (!any) return "mask: expected at least one allowed action, found none";
  return std::nullopt;
}

// Random play of the bare worlds: sizes, finiteness, flags, masks. It comes first, because the
// later checks give the worlds memory without guard rows.
Failure check_play(const EnvEntry::RowMaker& make, const BatteryOptions& options) {
  const auto rows = static_cast<std::size_t>(options.rows);
  const std::unique_ptr<WorldArray> worlds = make(options.rows, options.values);
  const EnvSpec& spec = worlds->spec();
  std::vector<float> obs((rows + 2) * spec.obs), rewards(rows);
  std::vector<std::uint8_t> mask(worlds->has_mask() ? (rows + 2) * spec.actions : 0);
  std::vector<std::uint8_t> terminated(rows);
  std::vector<std::uint8_t> shown(worlds->has_mask() ? rows * spec.actions : 0);
  Actions actions(spec, options.rows);
  std::vector<int> length(rows);
  const auto reset = [&](int row, std::uint64_t stream_step) {
    Rng rng(options.seed, Purpose::test, static_cast<std::uint32_t>(row), stream_step);
    worlds->reset(row, rng);
    length[row] = 0;
  };
  const auto at = [](int row, std::uint64_t t, const std::string& what) {
    return fmt::format("row {}, step {}: {}", row, t, what);
  };

  for (int row = 0; row < options.rows; ++row) reset(row, 0);
  for (std::uint64_t t = 0;; ++t) {
    // Checking a row overwrites its neighbours, so each mask is copied immediately.
    for (int row = 0; row < options.rows; ++row) {
      if (Failure failure = check_row(*worlds, row, obs, mask)) return at(row, t, *failure);
      if (shown.empty()) continue;
      std::copy_n(mask.begin() + (row + 1) * spec.actions, spec.actions,
                  shown.begin() + row * spec.actions);
    }
    if (t == static_cast<std::uint64_t>(options.steps)) return std::nullopt;

    choose_actions(spec, shown, options.seed, t, actions);
    step_worlds(*worlds, 0, options.rows, actions, options.seed, t + 1, rewards, terminated);
    for (int row = 0; row < options.rows; ++row) {
      if (!std::isfinite(rewards[row])) {
        return at(row, t + 1,
                  fmt::format("reward: expected a finite number, found {}", rewards[row]));
      }
      if (terminated[row] > 1) {
        return at(row, t + 1,
                  fmt::format("terminated: expected 0 or 1, found {}", terminated[row]));
      }
      ++length[row];
      if (!terminated[row] && length[row] != spec.max_steps) continue;
      if (Failure failure = check_observation(*worlds, row, obs)) {  // the final one
        return at(row, t + 1, "final " + *failure);
      }
      reset(row, 0 - (t + 1));
    }
  }
}

// Plays both runners in parallel. Each picks from its own allowed actions, with the same random
// draws. Reports the first difference.
Failure play_together(const EnvSpec& spec, const BatteryOptions& options, int steps,
                      std::uint64_t first_step, Runner& expected, Runner& found) {
  Actions actions(spec, options.rows);
  for (std::uint64_t t = first_step;; ++t) {
    if (Failure failure = first_difference(spec, expected.results(), found.results())) {
      return fmt::format("step {}, {}", t, *failure);
    }
    if (t == first_step + static_cast<std::uint64_t>(steps)) return std::nullopt;
    for (Runner* runner : {&expected, &found}) {
      const int stuck = choose_actions(spec, runner->results().mask, options.seed, t, actions);
      if (stuck >= 0) {
        return fmt::format(
            "step {}, row {}: mask: expected at least one allowed action, found none", t, stuck);
      }
      runner->step(actions);
    }
  }
}

Failure check_repeats(const EnvEntry& entry, const BatteryOptions& options) {
  BatchRunner first(entry.make(options.rows, options.values), options.rows, options.seed, 1);
  BatchRunner second(entry.make(options.rows, options.values), options.rows, options.seed, 1);
  return play_together(*entry.spec, options, options.steps, 0, first, second);
}

// A world that draws random numbers in reset must play differently with another seed.
Failure check_other_seed(const EnvEntry& entry, const BatteryOptions& options) {
  const std::unique_ptr<WorldArray> worlds = entry.make(1, options.values);
  Rng used(options.seed, Purpose::test, 0, 0);
  Rng fresh = used;
  worlds->reset(0, used);
  bool drew = false;
  for (int i = 0; i < 4; ++i) drew = used.bits() != fresh.bits() || drew;
  if (!drew) return std::nullopt;

  BatchRunner first(entry.make(options.rows, options.values), options.rows, options.seed, 1);
  BatchRunner second(entry.make(options.rows, options.values), options.rows, options.seed + 1, 1);
  if (play_together(*entry.spec, options, options.steps, 0, first, second)) return std::nullopt;
  return fmt::format(
      "expected seeds {} and {} to play differently because reset draws random numbers, found no "
      "difference in rows 0 to {} up to step {}",
      options.seed, options.seed + 1, options.rows - 1, options.steps);
}

Failure check_restore(const EnvEntry& entry, const BatteryOptions& options) {
  // Stop a little after halfway, so that most rows are in mid-episode.
  const int before = options.steps / 2 + 3;
  BatchRunner straight(entry.make(options.rows, options.values), options.rows, options.seed, 1);
  Actions actions(*entry.spec, options.rows);
  const auto step = [&](BatchRunner& runner, int t) {
    choose_actions(*entry.spec, runner.results().mask, options.seed, static_cast<std::uint64_t>(t),
                   actions);
    runner.step(actions);
  };
  for (int t = 0; t < before; ++t) step(straight, t);
  const std::vector<std::byte> state = straight.env.save();

  BatchRunner resumed(entry.make(options.rows, options.values), options.rows, options.seed, 1);
  try {
    resumed.env.restore(state);
  } catch (const RunError& error) {
    return fmt::format("step {}: expected its own state to be restored, found: {}", before,
                       error.what());
  }
  const auto shown = straight.env.obs();
  const auto restored = resumed.env.obs();
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] != restored[i]) {
      return fmt::format("step {}, row {}: observation[{}]: expected {}, found {}", before,
                         i / entry.spec->obs, i % entry.spec->obs, shown[i], restored[i]);
    }
  }
  step(straight, before);
  step(resumed, before);
  return play_together(*entry.spec, options, options.steps - before - 1,
                       static_cast<std::uint64_t>(before) + 1, straight, resumed);
}

// Bytes that nobody saved, as a forged checkpoint may have them: an environment that checks its state
// must refuse them or play on without a crash, an endless loop or an index out of bounds. Only the
// sanitised run sees the last.
Failure check_hostile_states(const EnvEntry& entry, const BatteryOptions& options) {
  constexpr int kRows = 3, kStates = 24, kSteps = 8;
  const EnvSpec& spec = *entry.spec;
  if (!entry.make(1, options.values)->checks_state()) return std::nullopt;
  BatchRunner played(entry.make(kRows, options.values), kRows, options.seed, 1);
  Actions actions(spec, kRows);
  const auto step = [&](BatchRunner& runner, std::uint64_t t) {
    choose_actions(spec, runner.results().mask, options.seed, t, actions);
    runner.step(actions);
  };
  for (std::uint64_t t = 0; t < 5; ++t) step(played, t);
  const std::vector<std::byte> good = played.env.save();
  const std::size_t rows_begin =
      good.size() - kRows * entry.make(1, options.values)->row_bytes();  // after BatchEnv's own
  for (int i = 0; i < kStates; ++i) {
    Rng rng(options.seed, Purpose::test, static_cast<std::uint32_t>(i), 1);
    std::vector<std::byte> bad = good;
    for (std::size_t at = rows_begin; at < bad.size(); ++at) {
      if (i < 2) bad[at] = static_cast<std::byte>(i == 0 ? 0xff : 0x01);
      // All bytes at random, or few of them.
      if (i >= 2 && (i % 2 == 0 || rng.below(16) == 0))
        bad[at] = static_cast<std::byte>(rng.bits());
    }
    BatchRunner restored(entry.make(kRows, options.values), kRows, options.seed, 1);
    try {
      restored.env.restore(bad);
    } catch (const RunError&) {
      continue;
    }
    for (std::uint64_t t = 0; t < kSteps; ++t) step(restored, t);
  }
  return std::nullopt;
}

// Which bytes of a world's state differ, rounded to words of four: "bytes 8 to 11 of its 16".
std::string differing_bytes(const WorldArray& expected, const WorldArray& found, int row) {
  std::vector<std::byte> a(expected.row_bytes()), b(a);
  expected.save_row(row, a.data());
  found.save_row(row, b.data());
  const auto first = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
  if (first == std::ssize(a)) return "";
  auto last = first;
  while (last + 1 < std::ssize(a) && a[last + 1] != b[last + 1]) ++last;
  return fmt::format("bytes {} to {} of its {}", first & ~3, std::min(last | 3, std::ssize(a) - 1),
                     a.size());
}

// Worlds in memory that was just freed and is mostly filled with `garbage`, which a member without
// an initial value will contain.
std::unique_ptr<WorldArray> make_in(unsigned char garbage, const EnvEntry& entry,
                                    const BatteryOptions& options) {
  const std::size_t size = entry.make(1, options.values)->row_bytes() * options.rows;
  void* memory = std::malloc(size);
  auto* bytes = static_cast<volatile unsigned char*>(memory);  // volatile keeps the loop
  for (std::size_t i = 0; bytes != nullptr && i < size; ++i) bytes[i] = garbage;
  std::free(memory);
  return entry.make_one_by_one(options.rows, options.values);
}

// An episode must not depend on earlier episodes of its row or on the previous content of its
// memory.
Failure check_reset(const EnvEntry& entry, const BatteryOptions& options) {
  const EnvSpec& spec = *entry.spec;
  PlainRunner before(make_in(0x15, entry, options), options.rows, options.seed + 1);
  Actions actions(spec, options.rows);
  for (int t = 0; t < options.steps / 2 + 3; ++t) {  // most rows stop in mid-episode
    choose_actions(spec, before.results().mask, options.seed + 1, static_cast<std::uint64_t>(t),
                   actions);
    before.step(actions);
  }
  PlainRunner used(before.take_worlds(), options.rows, options.seed);
  PlainRunner fresh(make_in(0x2a, entry, options), options.rows, options.seed);
  std::string bytes;
  for (int row = 0; row < options.rows && bytes.empty(); ++row) {
    bytes = differing_bytes(fresh.worlds(), used.worlds(), row);
  }
  Failure failure = play_together(spec, options, options.steps, 0, fresh, used);
  if (failure && !bytes.empty()) {
    *failure +=
        fmt::format("; after reset, {} bytes of state differ from a fresh environment's", bytes);
  }
  return failure;
}

// The engine's runner against the plain one, with the given time limit.
Failure check_against_plain(const EnvEntry& entry, const BatteryOptions& options, int max_steps,
                            int threads) {
  PlainRunner plain(with_limit(entry.make_one_by_one(options.rows, options.values), max_steps),
                    options.rows, options.seed);
  BatchRunner batch(with_limit(entry.make(options.rows, options.values), max_steps), options.rows,
                    options.seed, threads);
  return play_together(*entry.spec, options, options.steps, 0, plain, batch);
}

}  // namespace

std::optional<std::string> check_random_play(const EnvEntry& entry, const BatteryOptions& options) {
  return check_play(entry.one_by_one_maker, options);
}

std::vector<std::string> check_env(const EnvEntry& registered, const BatteryOptions& options) {
  const EnvSpec spec = registered.make(1, options.values)->spec();
  EnvEntry entry = registered;
  entry.spec = &spec;  // with these options
  std::vector<std::string> failures;
  const auto passes = [&](std::string_view check, const Failure& failure) {
    if (failure) failures.push_back(fmt::format("{}: {}: {}", entry.spec->name, check, *failure));
    return !failure.has_value();
  };
  passes("parts", check_parts(*entry.spec));
  if (!passes("random play", check_play(entry.one_by_one_maker, options))) return failures;
  if (!passes("random play of the whole batch", check_play(entry.batch_maker, options)))
    return failures;
  if (!passes("same seed", check_repeats(entry, options))) return failures;
  passes("other seed", check_other_seed(entry, options));
  passes("reset", check_reset(entry, options));
  if (passes("save and restore", check_restore(entry, options))) {
    passes("forged states", check_hostile_states(entry, options));
  }

  const int limit = entry.spec->max_steps;
  for (const int threads : {1, 2, 4}) {
    const std::string check = fmt::format("batch against one by one, {} thread(s)", threads);
    if (!passes(check, check_against_plain(entry, options, limit, threads))) return failures;
  }
  // Random play rarely reaches the real limit; short limits truncate every longer episode.
  for (const int short_limit : {1, 5}) {
    passes(fmt::format("time limit of {}", short_limit),
           check_against_plain(entry, options, short_limit, 1));
  }
  return failures;
}

}  // namespace hotloop
