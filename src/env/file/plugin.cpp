#include "env/file/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <hotloop/plugin.h>

#include <hotloop/error.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "env/check/doing.hpp"
#include "env/check/guarded_memory.hpp"
#include "env/claims.hpp"
#include "env/file/cache.hpp"

namespace hotloop {
namespace {

// A world of a plug-in and its spec, whose strings belong to the plug-in.
struct PluginWorld {
  const hotloop_plugin* plugin;
  hotloop_world table;
  EnvSpec spec;

  [[noreturn]] void fail(std::string_view function, const std::string& place) const {
    const char* reason = plugin->error != nullptr ? plugin->error() : nullptr;
    throw RunError(fmt::format("environment {}: {} failed{}{}: {}", spec.name, function,
                               place.empty() ? "" : ", ", place,
                               reason != nullptr && *reason != 0 ? reason : "it gave no reason"));
  }
};

// Rows of one call that writes whole rows: few, so that many rows are next to the marks.
constexpr int kRowsPerCall = 16;

std::string rows_text(int begin, int end) {
  return end - begin == 1 ? fmt::format("row {}", begin)
                          : fmt::format("rows {} to {}", begin, end - 1);
}

// An array whose pointer is that of row 0, of which only some rows exist.
template <class T>
T* row_zero(T* rows, std::size_t values_before) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(rows) - values_before * sizeof(T));
}

// The functions of the plug-in write to guarded memory (guarded_memory.hpp), from which the results
// are copied. So a world that writes beyond its rows is found when it does, wherever it is played.
class PluginArray final : public WorldArray {
 public:
  PluginArray(const PluginWorld& world, int count, bool plain)
      : world_(world), table_(world.table) {
    const Doing doing = in(EnvCall::constructor);
    if (table_.create(count, plain ? 1 : 0, &worlds_) != 0) world_.fail("the constructor", "");
    if (worlds_ == nullptr) {
      throw RunError(
          fmt::format("environment {}: create returned 0 but made no object", world_.spec.name));
    }
  }
  ~PluginArray() override {
    const Doing doing = in(EnvCall::destructor);
    if (worlds_ != nullptr) table_.destroy(worlds_);
  }

  const EnvSpec& spec() const override { return world_.spec; }
  bool has_mask() const override { return table_.mask != nullptr; }

  void clear() override {
    const Doing doing = in(EnvCall::constructor);
    if (table_.clear(worlds_) != 0) world_.fail("the constructor", "");
  }

  void reset(int row, Rng& rng) override {
    const RngState at = rng.state();
    hotloop_stream stream{at.seed, at.step, static_cast<std::uint32_t>(at.purpose), at.lane,
                          at.draws};
    const Doing doing = in(EnvCall::reset, row, row + 1);
    if (table_.reset(worlds_, row, &stream) != 0) world_.fail("reset", rows_text(row, row + 1));
    rng = Rng(RngState{at.seed, at.purpose, at.lane, at.step, stream.draws});
  }

  void step(int begin, int end, const ActionRows& actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    const auto count = static_cast<std::size_t>(end - begin);
    step_.store(static_cast<std::int64_t>(step), std::memory_order_relaxed);
    GuardedMemory& reward_memory = guarded_memory(0);
    GuardedMemory& flag_memory = guarded_memory(1);
    const auto own_rewards = reward_memory.take<float>(count);
    const auto own_flags = flag_memory.take<std::uint8_t>(count);
    std::copy_n(&rewards[begin], count, own_rewards);
    std::copy_n(&terminated[begin], count, own_flags);
    const auto before = static_cast<std::size_t>(begin);
    hotloop_step_call call{begin,
                           end,
                           actions.discrete.empty() ? nullptr : actions.discrete.data(),
                           actions.continuous.empty() ? nullptr : actions.continuous.data(),
                           seed,
                           step,
                           static_cast<std::uint32_t>(purpose),
                           row_zero(own_rewards, before),
                           row_zero(own_flags, before),
                           -1};
    int failed = 0;
    {
      const Doing doing = in(EnvCall::step, begin, end);
      failed = table_.step(worlds_, &call);
    }
    check_marks(reward_memory, "rewards", end - begin, begin, end);
    check_marks(flag_memory, "terminated", end - begin, begin, end);
    std::copy_n(own_rewards, count, &rewards[begin]);
    std::transform(own_flags, own_flags + count, &terminated[begin],
                   [](std::uint8_t flag) { return std::uint8_t{flag != 0}; });
    if (failed == 0) return;
    const bool known = call.failed_row >= begin && call.failed_row < end;
    world_.fail("step", fmt::format("{}, step {}",
                                    known ? rows_text(call.failed_row, call.failed_row + 1)
                                          : rows_text(begin, end),
                                    step));
  }

  void observe(int begin, int end, std::span<float> obs) const override {
    show(EnvCall::observe, "observation", begin, end, world_.spec.obs, obs,
         [this](int first, int last, float* to) {
           return table_.observe(worlds_, first, last, to);
         });
  }
  void mask(int begin, int end, std::span<std::uint8_t> allowed) const override {
    if (table_.mask == nullptr) return;
    show(EnvCall::mask, "mask", begin, end, world_.spec.actions, allowed,
         [this](int first, int last, std::uint8_t* to) {
           return table_.mask(worlds_, first, last, to);
         });
    const auto width = static_cast<std::size_t>(world_.spec.actions);
    for (std::size_t i = begin * width; i < end * width; ++i) allowed[i] = allowed[i] != 0;
  }
  void measure(int row, std::span<float> values) const override {
    if (table_.measure == nullptr) return;
    fill(EnvCall::measure, "measures", row, values.first(world_.spec.measure_count()),
         [this, row](float* to) { return table_.measure(worlds_, row, to); });
  }
  void reward_parts(int begin, int end, std::span<float> parts) const override {
    if (table_.parts_of_reward == nullptr) return;
    show(EnvCall::reward_parts, "parts of the reward", begin, end, world_.spec.reward_part_count(),
         parts, [this](int first, int last, float* to) {
           return table_.parts_of_reward(worlds_, first, last, to);
         });
  }

  Picture picture(int row) const override {
    Picture drawn;
    if (table_.picture == nullptr) return drawn;
    {
      const Doing doing = in(EnvCall::picture, row, row + 1);
      if (table_.picture(worlds_, row, &drawn.width, &drawn.height, nullptr) != 0) {
        world_.fail("picture", rows_text(row, row + 1));
      }
    }
    if (drawn.width <= 0 || drawn.height <= 0) return {};
    if (drawn.width > kMaxPictureSide || drawn.height > kMaxPictureSide) {
      throw RunError(fmt::format("environment {}: a picture of {} x {} pixels; at most {} x {}",
                                 world_.spec.name, drawn.width, drawn.height, kMaxPictureSide,
                                 kMaxPictureSide));
    }
    drawn.rgb.resize(static_cast<std::size_t>(drawn.width) * drawn.height * 3);
    fill(EnvCall::picture, "picture", row, std::span(drawn.rgb), [this, row](std::uint8_t* to) {
      std::int32_t width = 0, height = 0;
      return table_.picture(worlds_, row, &width, &height, to);
    });
    return drawn;
  }

  std::size_t row_bytes() const override { return table_.row_bytes; }
  void save_row(int row, std::byte* to) const override {
    fill(EnvCall::save_row, "saved state", row, std::span(to, table_.row_bytes),
         [this, row](std::byte* at) { return table_.save_row(worlds_, row, at); });
  }
  bool restore_row(int row, const std::byte* from) override {
    std::vector<std::byte> bytes(from, from + table_.row_bytes);
    bool is_valid = true;
    fill(EnvCall::restore_row, "saved state", row, std::span(bytes), [&](std::byte* at) {
      const int result = table_.restore_row(worlds_, row, at);
      is_valid = result != HOTLOOP_INVALID_STATE;
      return is_valid ? result : 0;
    });
    return is_valid;
  }
  bool checks_state() const override { return table_.checks_state == 1; }

  // From the last row to the first, and each alone: a row that an earlier or later one has written
  // to then differs.
  void check_rows(std::span<const float> obs, std::span<const std::uint8_t> mask) const override {
    std::vector<float> again(obs.size());
    std::vector<std::uint8_t> allowed(mask.size());
    const int count = static_cast<int>(obs.size() / static_cast<std::size_t>(world_.spec.obs));
    for (int row = count - 1; row >= 0; --row) {
      observe(row, row + 1, again);
      compare("observation", row, world_.spec.obs, obs, std::span<const float>(again));
      if (mask.empty()) continue;
      this->mask(row, row + 1, allowed);
      compare("mask", row, world_.spec.actions, mask, std::span<const std::uint8_t>(allowed));
    }
  }

 private:
  Doing in(EnvCall call, int begin = -1, int end = -1) const {
    return Doing(call, begin, end, begin < 0 ? -1 : step_.load(std::memory_order_relaxed),
                 table_.name);
  }

  // Calls a function that writes `width` values for each row, a few rows at a time.
  template <class T, class Write>
  void show(EnvCall call, const char* what, int begin, int end, int width, std::span<T> all,
            Write&& write) const {
    for (int first = begin; first < end; first += kRowsPerCall) {
      show_few(call, what, first, std::min(first + kRowsPerCall, end), width, all, write);
    }
  }
  template <class T, class Write>
  void show_few(EnvCall call, const char* what, int begin, int end, int width, std::span<T> all,
                Write&& write) const {
    const std::size_t at = static_cast<std::size_t>(begin) * static_cast<std::size_t>(width);
    const std::size_t count =
        static_cast<std::size_t>(end - begin) * static_cast<std::size_t>(width);
    GuardedMemory& memory = guarded_memory(0);
    T* const own = memory.take<T>(count);
    std::copy_n(&all[at], count, own);
    int failed = 0;
    {
      const Doing doing = in(call, begin, end);
      failed = write(begin, end, row_zero(own, at));
    }
    const bool is_wrong = failed != 0 || memory.stray() != Stray::none;
    if (is_wrong && end - begin > 1) {  // it only reads, so it can be asked again, row by row
      memory.mend();
      for (int row = begin; row < end; ++row) {
        show_few(call, what, row, row + 1, width, all, write);
      }
    }
    check_marks(memory, what, width, begin, end);
    if (failed != 0) world_.fail(words_of(call), rows_text(begin, end));
    std::copy_n(own, count, &all[at]);
  }

  // Calls a function that writes, or only reads, `values` of one row.
  template <class T, class Write>
  void fill(EnvCall call, const char* what, int row, std::span<T> values, Write&& write) const {
    GuardedMemory& memory = guarded_memory(0);
    T* const own = memory.take<T>(values.size());
    std::copy_n(values.data(), values.size(), own);
    int failed = 0;
    {
      const Doing doing = in(call, row, row + 1);
      failed = write(own);
    }
    check_marks(memory, what, static_cast<int>(values.size()), row, row + 1);
    if (failed != 0) world_.fail(words_of(call), rows_text(row, row + 1));
    std::copy_n(own, values.size(), values.data());
  }

  [[noreturn]] void refuse(int begin, int end, const std::string& why) const {
    throw WorldError(fmt::format("environment {}: {}, step {}: {}", world_.spec.name,
                                 rows_text(begin, end), step_.load(), why),
                     false);
  }
  void check_marks(GuardedMemory& memory, const char* what, int width, int begin, int end) const {
    const Stray stray = memory.stray();
    if (stray == Stray::none) return;
    memory.mend();
    refuse(begin, end,
           fmt::format("{}: expected exactly {} values to be written, found a write {} the row{}",
                       what, width, stray == Stray::after ? "after" : "before",
                       end - begin > 1 ? "s" : ""));
  }
  template <class T>
  void compare(const char* what, int row, int width, std::span<const T> all,
               std::span<const T> again) const {
    const std::size_t at = static_cast<std::size_t>(row) * static_cast<std::size_t>(width);
    for (std::size_t i = at; i < at + static_cast<std::size_t>(width); ++i) {
      if (std::memcmp(&all[i], &again[i], sizeof(T)) == 0) continue;
      refuse(row, row + 1,
             fmt::format("{}: expected value {} to be {} when asked again, found {}: another row "
                         "has written to it, or it depends on more than the row's state",
                         what, i - at, all[i], again[i]));
    }
  }

  const PluginWorld& world_;
  const hotloop_world& table_;
  void* worlds_ = nullptr;
  std::atomic<std::int64_t> step_{0};  // the latest
};

// The spec of a world. Calls `refuse` with the reason if it is invalid.
template <class Refuse>
EnvSpec read_spec(const hotloop_world& w, Refuse&& refuse) {
  EnvSpec spec;
  if (w.name == nullptr || *w.name == 0) refuse("an environment has no name");
  spec.name = w.name;
  const auto in_range = [&](std::string_view what, int value, int low, int high) {
    if (value >= low && value <= high) return;
    refuse(
        fmt::format("environment {}: {} is {}; allowed: {} to {}", w.name, what, value, low, high));
  };
  const auto complain = [&](const std::string& why) {
    refuse(fmt::format("environment {}: {}", w.name, why));
  };
  const auto not_null = [&](std::string_view what, const void* pointer, int count) {
    if (pointer == nullptr && count > 0) complain(fmt::format("{} is NULL", what));
  };
  // A name that is missing would end the list.
  const auto text = [&](std::string_view what, int index, const char* name) {
    if (name == nullptr || *name == 0) complain(fmt::format("{}[{}] has no name", what, index));
    return std::string_view(name);
  };
  in_range("part_count", w.part_count, 0, static_cast<int>(spec.parts.size()));
  in_range("measure_count", w.measure_count, 0, kMaxMeasures);
  in_range("reward_part_count", w.reward_part_count, 0, kMaxRewardParts);
  const bool complete = w.create && w.destroy && w.clear && w.reset && w.step && w.observe &&
                        w.save_row && w.restore_row && (w.measure || w.measure_count == 0) &&
                        (w.parts_of_reward || w.reward_part_count == 0);
  if (!complete) complain("a required function is NULL");
  if (w.row_bytes > kMaxRowBytes) {
    complain(fmt::format("row_bytes is {}; allowed: 0 to {}", w.row_bytes, kMaxRowBytes));
  }
  const bool has_bounds = w.actions == 0 && w.action_size > 0 && w.action_size <= kMaxActionSize;
  const int bounds = has_bounds ? w.action_size : 0;
  not_null("action_low", w.action_low, bounds);
  not_null("action_high", w.action_high, bounds);
  not_null("parts", w.parts, w.part_count);
  not_null("measures", w.measures, w.measure_count);
  not_null("reward_parts", w.reward_parts, w.reward_part_count);
  spec.obs = w.obs;
  spec.actions = w.actions;
  spec.action_size = w.action_size;
  std::copy_n(w.action_low, bounds, spec.action_low.begin());
  std::copy_n(w.action_high, bounds, spec.action_high.begin());
  spec.max_steps = w.max_steps;
  spec.solved_return = w.solved_return;
  for (int i = 0; i < w.part_count; ++i) {
    const auto& shape = w.parts[i].shape;
    spec.parts[i] = {text("parts", i, w.parts[i].name), {shape[0], shape[1], shape[2]}};
  }
  if (w.about != nullptr) spec.about = w.about;
  for (int i = 0; i < w.measure_count; ++i) spec.measures[i] = text("measures", i, w.measures[i]);
  for (int i = 0; i < w.reward_part_count; ++i) {
    spec.reward_parts[i] = text("reward_parts", i, w.reward_parts[i]);
  }
  if (const std::string problem = spec_problem(spec); !problem.empty()) complain(problem);
  return spec;
}

// Entries are never removed, and neither are their worlds.
const PluginWorld& keep(const PluginWorld& world) {
  static std::mutex mutex;
  static auto& worlds = *new std::deque<PluginWorld>();
  const std::lock_guard lock(mutex);
  return worlds.emplace_back(world);
}

// Loads the file that was checked, by its descriptor. The system knows a loaded library by its name,
// which is the number of the descriptor: so that stays open, and a file is loaded only once.
void* load_library(const std::string& path, const std::string& shown) {
  struct Library {
    OwnFile file;
    void* handle;
  };
  static std::mutex mutex;
  static auto& libraries = *new std::deque<Library>();
  const std::lock_guard lock(mutex);
  std::optional<OwnFile> file = OwnFile::open(path);
  if (!file) {
    throw RunError(fmt::format("{}: cannot be loaded: {} is missing, or other users can change it",
                               shown, path));
  }
  for (const Library& known : libraries) {
    const struct stat& a = known.file.about();
    const struct stat& b = file->about();
    if (a.st_dev == b.st_dev && a.st_ino == b.st_ino) return known.handle;
  }
  const Doing doing(EnvCall::load);
  void* handle = dlopen(file->path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::string why = dlerror();
    if (why.starts_with(file->path() + ": ")) why.erase(0, file->path().size() + 2);
    throw UsageError(fmt::format("{}: cannot be loaded: {}", shown, why));
  }
  libraries.push_back({std::move(*file), handle});
  return handle;
}

}  // namespace

std::vector<EnvEntry> plugin_entries(const hotloop_plugin* plugin, const std::string& shown) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("{}: {}", shown, why));
  };
  if (plugin == nullptr) refuse(HOTLOOP_PLUGIN_SYMBOL " returned no table");
  if (plugin->version != HOTLOOP_PLUGIN_VERSION) {
    refuse(
        fmt::format("a plug-in for version {} of hotloop's interface; this hotloop needs version "
                    "{}: build it again with this hotloop's <hotloop/plugin.h>",
                    plugin->version, HOTLOOP_PLUGIN_VERSION));
  }
  constexpr std::size_t kFirstSize = offsetof(hotloop_world, checks_state);
  const std::size_t size = plugin->world_size;
  if (size < kFirstSize || size > sizeof(hotloop_world)) {
    refuse(fmt::format(
        "its description of an environment has {} bytes; this hotloop's has {}: build it "
        "again with this hotloop's <hotloop/plugin.h>",
        size, sizeof(hotloop_world)));
  }
  constexpr int kMaxWorlds = 1'000;
  if (plugin->world_count < 0 || plugin->world_count > kMaxWorlds) {
    refuse(fmt::format("world_count is {}; allowed: 0 to {}", plugin->world_count, kMaxWorlds));
  }
  if (plugin->world_count > 0 && plugin->worlds == nullptr) refuse("worlds is NULL");
  std::vector<EnvEntry> entries;
  for (int i = 0; i < plugin->world_count; ++i) {
    hotloop_world table{};
    std::memcpy(&table, reinterpret_cast<const char*>(plugin->worlds) + i * size, size);
    const PluginWorld& world = keep({plugin, table, read_spec(table, refuse)});
    const auto maker = [&world](bool plain) {
      return [&world, plain](int count, std::span<const double>) -> std::unique_ptr<WorldArray> {
        return std::make_unique<PluginArray>(world, count, plain);
      };
    };
    entries.push_back({&world.spec, maker(false), maker(true), {}});
  }
  return entries;
}

std::vector<EnvEntry> load_plugin(const std::string& path, const std::string& shown) {
  void* library = load_library(path, shown);
  const auto function =
      reinterpret_cast<hotloop_plugin_function>(dlsym(library, HOTLOOP_PLUGIN_SYMBOL));
  if (function == nullptr) {
    throw UsageError(
        fmt::format("{}: a shared library, but not a hotloop plug-in: it does not export {} (see "
                    "<hotloop/plugin.h>)",
                    shown, HOTLOOP_PLUGIN_SYMBOL));
  }
  const Doing doing(EnvCall::constructor);  // a C++ plug-in makes a world to read its facts
  return plugin_entries(function(), shown);
}

}  // namespace hotloop
