#include "env/file/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <hotloop/plugin.h>

#include <hotloop/error.hpp>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>

#include "env/check/trial.hpp"

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

std::string rows_text(int begin, int end) {
  return end - begin == 1 ? fmt::format("row {}", begin)
                          : fmt::format("rows {} to {}", begin, end - 1);
}

class PluginArray final : public WorldArray {
 public:
  PluginArray(const PluginWorld& world, int count, bool plain)
      : world_(world), table_(world.table) {
    if (table_.create(count, plain ? 1 : 0, &worlds_) != 0) world_.fail("the constructor", "");
    if (worlds_ == nullptr) {
      throw RunError(
          fmt::format("environment {}: create returned 0 but made no object", world_.spec.name));
    }
  }
  ~PluginArray() override {
    if (worlds_ != nullptr) table_.destroy(worlds_);
  }

  const EnvSpec& spec() const override { return world_.spec; }
  bool has_mask() const override { return table_.mask != nullptr; }

  void clear() override {
    if (table_.clear(worlds_) != 0) world_.fail("the constructor", "");
  }

  void reset(int row, Rng& rng) override {
    const RngState at = rng.state();
    hotloop_stream stream{at.seed, at.step, static_cast<std::uint32_t>(at.purpose), at.lane,
                          at.draws};
    if (table_.reset(worlds_, row, &stream) != 0) world_.fail("reset", rows_text(row, row + 1));
    rng = Rng(RngState{at.seed, at.purpose, at.lane, at.step, stream.draws});
  }

  void step(int begin, int end, const ActionRows& actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    hotloop_step_call call{begin,
                           end,
                           actions.discrete.empty() ? nullptr : actions.discrete.data(),
                           actions.continuous.empty() ? nullptr : actions.continuous.data(),
                           seed,
                           step,
                           static_cast<std::uint32_t>(purpose),
                           rewards.data(),
                           terminated.data(),
                           -1};
    if (table_.step(worlds_, &call) == 0) return;
    const bool known = call.failed_row >= begin && call.failed_row < end;
    world_.fail("step", fmt::format("{}, step {}",
                                    known ? rows_text(call.failed_row, call.failed_row + 1)
                                          : rows_text(begin, end),
                                    step));
  }

  void observe(int begin, int end, std::span<float> obs) const override {
    const auto show = [&](int first, int last) {
      return table_.observe(worlds_, first, last, obs.data());
    };
    if (show(begin, end) != 0) fail_in("observe", begin, end, show);
  }
  void mask(int begin, int end, std::span<std::uint8_t> allowed) const override {
    const auto show = [&](int first, int last) {
      return table_.mask(worlds_, first, last, allowed.data());
    };
    if (table_.mask != nullptr && show(begin, end) != 0) fail_in("mask", begin, end, show);
  }
  void measure(int row, std::span<float> values) const override {
    if (table_.measure != nullptr && table_.measure(worlds_, row, values.data()) != 0) {
      world_.fail("measure", rows_text(row, row + 1));
    }
  }
  void reward_parts(int begin, int end, std::span<float> parts) const override {
    const auto show = [&](int first, int last) {
      return table_.parts_of_reward(worlds_, first, last, parts.data());
    };
    if (table_.parts_of_reward != nullptr && show(begin, end) != 0) {
      fail_in("reward_parts", begin, end, show);
    }
  }

  Picture picture(int row) const override {
    Picture drawn;
    const auto draw = [&](std::uint8_t* rgb) {
      if (table_.picture(worlds_, row, &drawn.width, &drawn.height, rgb) != 0) {
        world_.fail("picture", rows_text(row, row + 1));
      }
    };
    if (table_.picture == nullptr) return drawn;
    draw(nullptr);
    if (drawn.width <= 0 || drawn.height <= 0) return {};
    drawn.rgb.resize(static_cast<std::size_t>(drawn.width) * drawn.height * 3);
    draw(drawn.rgb.data());
    return drawn;
  }

  std::size_t row_bytes() const override { return table_.row_bytes; }
  void save_row(int row, std::byte* to) const override {
    if (table_.save_row(worlds_, row, to) != 0) world_.fail("save_row", rows_text(row, row + 1));
  }
  bool restore_row(int row, const std::byte* from) override {
    const int result = table_.restore_row(worlds_, row, from);
    if (result != 0 && result != HOTLOOP_INVALID_STATE) {
      world_.fail("restore_row", rows_text(row, row + 1));
    }
    return result == 0;
  }
  bool checks_state() const override { return table_.checks_state == 1; }

 private:
  // Functions that only read can be called again, row by row, to find the row that fails.
  template <class Show>
  [[noreturn]] void fail_in(std::string_view function, int begin, int end, Show&& show) const {
    for (int row = begin; row < end; ++row) {
      if (show(row, row + 1) != 0) world_.fail(function, rows_text(row, row + 1));
    }
    world_.fail(function, rows_text(begin, end));
  }

  const PluginWorld& world_;
  const hotloop_world& table_;
  void* worlds_ = nullptr;
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
  constexpr int kMaxCount = 1 << 24;
  in_range("obs", w.obs, 1, kMaxCount);
  in_range("actions", w.actions, 0, kMaxCount);
  in_range("action_size", w.action_size, w.actions == 0 ? 1 : 0,
           w.actions == 0 ? kMaxActionSize : 0);
  in_range("max_steps", w.max_steps, 0, std::numeric_limits<int>::max());
  in_range("part_count", w.part_count, 0, static_cast<int>(spec.parts.size()));
  in_range("measure_count", w.measure_count, 0, kMaxMeasures);
  in_range("reward_part_count", w.reward_part_count, 0, kMaxRewardParts);
  const bool complete = w.create && w.destroy && w.clear && w.reset && w.step && w.observe &&
                        w.save_row && w.restore_row && (w.measure || w.measure_count == 0) &&
                        (w.parts_of_reward || w.reward_part_count == 0);
  if (!complete) refuse(fmt::format("environment {}: a required function is NULL", w.name));
  spec.obs = w.obs;
  spec.actions = w.actions;
  spec.action_size = w.action_size;
  for (int i = 0; i < w.action_size; ++i) {
    spec.action_low[i] = w.action_low[i];
    spec.action_high[i] = w.action_high[i];
    const bool valid = std::isfinite(w.action_low[i]) && std::isfinite(w.action_high[i]) &&
                       w.action_low[i] < w.action_high[i];
    if (!valid) {
      refuse(
          fmt::format("environment {}: action value {} has bounds {} to {}; bounds must be finite, "
                      "and the lower one first",
                      w.name, i, w.action_low[i], w.action_high[i]));
    }
  }
  spec.max_steps = w.max_steps;
  spec.solved_return = w.solved_return;
  for (int i = 0; i < w.part_count; ++i) {
    const auto& shape = w.parts[i].shape;
    spec.parts[i] = {w.parts[i].name, {shape[0], shape[1], shape[2]}};
  }
  if (w.about != nullptr) spec.about = w.about;
  for (int i = 0; i < w.measure_count; ++i) spec.measures[i] = w.measures[i];
  for (int i = 0; i < w.reward_part_count; ++i) spec.reward_parts[i] = w.reward_parts[i];
  return spec;
}

// Entries are never removed, and neither are their worlds.
const PluginWorld& keep(const PluginWorld& world) {
  static std::mutex mutex;
  static auto& worlds = *new std::deque<PluginWorld>();
  const std::lock_guard lock(mutex);
  return worlds.emplace_back(world);
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
  // A name without a slash would be looked for in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = nullptr;
  {
    const Doing doing("loading it (the constructor of a global variable)");
    library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    throw UsageError(fmt::format("{}: cannot be loaded: {}", shown, dlerror()));
  }
  const auto function =
      reinterpret_cast<hotloop_plugin_function>(dlsym(library, HOTLOOP_PLUGIN_SYMBOL));
  if (function == nullptr) {
    dlclose(library);
    throw UsageError(
        fmt::format("{}: a shared library, but not a hotloop plug-in: it does not export {} (see "
                    "<hotloop/plugin.h>)",
                    shown, HOTLOOP_PLUGIN_SYMBOL));
  }
  const Doing doing("the constructor");  // a C++ plug-in makes a world to read its facts
  return plugin_entries(function(), shown);
}

}  // namespace hotloop
