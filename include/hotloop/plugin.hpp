// Turns a file with HOTLOOP_ENV lines into a plug-in: its worlds behind the C API of plugin.h.
//
// hotloop compiles a one-file world with this header in front of it: authors do not include it.
// It has its own `register_env`, which collects the worlds of the file, and exports the table.
// Exceptions of a world are caught here and become an error code and a message.
#pragma once

#include <hotloop/plugin.h>
#include <hotloop/env.hpp>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

namespace hotloop::plugin {

// Why this thread's latest failed call failed, truncated if it is too long.
inline char* error_text() {
  thread_local char text[1024] = "";
  return text;
}
inline void set_error(const char* text) { std::strncpy(error_text(), text, 1023); }

template <class Body>
int guarded(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    set_error(error.what());
  } catch (...) {
    set_error("it threw something that is not a std::exception");
  }
  return 1;
}

// One world of the file, and the arrays that its C table points to.
struct Entry {
  EnvEntry entry;
  std::array<hotloop_part, 8> parts{};
  std::array<const char*, kMaxMeasures> measures{};
  std::array<const char*, kMaxRewardParts> reward_parts{};
};

// Zero-terminated and never freed: the table is never unloaded.
inline const char* c_text(std::string_view text) {
  char* copy = new char[text.size() + 1]();
  text.copy(copy, text.size());
  return copy;
}

inline std::vector<EnvEntry>& registered() {
  static std::vector<EnvEntry> all;
  return all;
}

inline WorldArray& array(void* worlds) { return *static_cast<WorldArray*>(worlds); }
inline const WorldArray& array(const void* worlds) {
  return *static_cast<const WorldArray*>(worlds);
}

// Rows [0, end) of an array [N, width]; later rows may belong to other threads.
template <class T>
std::span<T> rows_up_to(int end, int width, T* first) {
  return {first, static_cast<std::size_t>(end) * static_cast<std::size_t>(width)};
}

inline void destroy(void* worlds) { delete &array(worlds); }
inline int clear(void* worlds) {
  return guarded([&] { array(worlds).clear(); });
}

inline int reset(void* worlds, std::int32_t row, hotloop_stream* stream) {
  return guarded([&] {
    Rng rng(RngState{stream->seed, static_cast<Purpose>(stream->purpose), stream->lane,
                     stream->step, stream->draws});
    array(worlds).reset(row, rng);
    stream->draws = rng.state().draws;
  });
}

inline int step(void* worlds, hotloop_step_call* call) {
  // No world writes this flag: the first row that still has it is the one that threw.
  constexpr std::uint8_t kUntouched = 0xFF;
  const EnvSpec& spec = array(worlds).spec();
  const auto terminated = rows_up_to(call->end, 1, call->terminated);
  const auto rewards = rows_up_to(call->end, 1, call->rewards);
  const auto purpose = static_cast<Purpose>(call->purpose);
  std::memset(call->terminated + call->begin, kUntouched,
              static_cast<std::size_t>(call->end - call->begin));
  ActionRows actions;
  if (spec.actions > 0) actions.discrete = rows_up_to(call->end, 1, call->numbers);
  if (spec.action_size > 0) {
    actions.continuous = rows_up_to(call->end, spec.action_size, call->boxes);
  }
  const int failed = guarded([&] {
    array(worlds).step(call->begin, call->end, actions, call->seed, purpose, call->step, rewards,
                       terminated);
  });
  if (failed == 0) return 0;
  call->failed_row = call->begin;
  while (call->failed_row < call->end && call->terminated[call->failed_row] != kUntouched) {
    ++call->failed_row;
  }
  if (call->failed_row == call->end) call->failed_row = -1;
  return failed;
}

inline int observe(const void* worlds, std::int32_t begin, std::int32_t end, float* obs) {
  return guarded(
      [&] { array(worlds).observe(begin, end, rows_up_to(end, array(worlds).spec().obs, obs)); });
}
inline int mask(const void* worlds, std::int32_t begin, std::int32_t end, std::uint8_t* allowed) {
  return guarded([&] {
    array(worlds).mask(begin, end, rows_up_to(end, array(worlds).spec().actions, allowed));
  });
}
inline int measure(const void* worlds, std::int32_t row, float* values) {
  return guarded([&] {
    array(worlds).measure(row, rows_up_to(1, array(worlds).spec().measure_count(), values));
  });
}
inline int parts_of_reward(const void* worlds, std::int32_t begin, std::int32_t end, float* parts) {
  return guarded([&] {
    const int width = array(worlds).spec().reward_part_count();
    array(worlds).reward_parts(begin, end, rows_up_to(end, width, parts));
  });
}
// The first call, without rgb, draws the picture; the second one copies it. So what is copied has the
// size for which the caller has made room.
inline int picture(const void* worlds, std::int32_t row, std::int32_t* width, std::int32_t* height,
                   std::uint8_t* rgb) {
  thread_local Picture drawn;
  return guarded([&] {
    if (rgb == nullptr) {
      drawn = array(worlds).picture(row);
      const bool sized =
          drawn.width >= 0 && drawn.height >= 0 &&
          drawn.rgb.size() == static_cast<std::size_t>(drawn.width) * drawn.height * 3;
      if (!sized) {
        const std::string found = std::to_string(drawn.rgb.size()) + " bytes of rgb for " +
                                  std::to_string(drawn.width) + " x " +
                                  std::to_string(drawn.height) + " pixels";
        drawn = {};
        throw std::runtime_error(found + "; expected width * height * 3");
      }
    } else {
      std::copy(drawn.rgb.begin(), drawn.rgb.end(), rgb);
    }
    *width = drawn.width;
    *height = drawn.height;
  });
}
inline int save_row(const void* worlds, std::int32_t row, void* to) {
  return guarded([&] { array(worlds).save_row(row, static_cast<std::byte*>(to)); });
}
inline int restore_row(void* worlds, std::int32_t row, const void* from) {
  bool valid = false;
  const int failed =
      guarded([&] { valid = array(worlds).restore_row(row, static_cast<const std::byte*>(from)); });
  return failed != 0 || valid ? failed : HOTLOOP_INVALID_STATE;
}

// create() has no argument for the world, so each world of the file has its own create().
inline constexpr int kMaxWorlds = 8;
template <int kIndex>
int create(std::int32_t count, std::int32_t plain, void** worlds) {
  return guarded([&] {
    const EnvEntry& entry = registered()[kIndex];
    *worlds = (plain != 0 ? entry.make_one_by_one(count) : entry.make(count)).release();
  });
}
using Create = int (*)(std::int32_t, std::int32_t, void**);
inline constexpr std::array<Create, kMaxWorlds> kCreate = {
    &create<0>, &create<1>, &create<2>, &create<3>, &create<4>, &create<5>, &create<6>, &create<7>};

struct Table {
  std::vector<Entry> entries;
  std::vector<hotloop_world> worlds;
  hotloop_plugin plugin{};

  Table() : entries(std::min<std::size_t>(registered().size(), kMaxWorlds)) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      entries[i].entry = registered()[i];
      worlds.push_back(describe(entries[i], kCreate[i]));
    }
    plugin = {HOTLOOP_PLUGIN_VERSION, sizeof(hotloop_world),
              static_cast<std::int32_t>(worlds.size()), worlds.data(),
              []() -> const char* { return error_text(); }};
  }

  static hotloop_world describe(Entry& e, Create create) {
    const EnvSpec& spec = *e.entry.spec;
    int parts = 0;
    for (; parts < 8 && !spec.parts[parts].name.empty(); ++parts) {
      const ObsPart& part = spec.parts[parts];
      e.parts[parts] = {c_text(part.name), {part.shape[0], part.shape[1], part.shape[2]}};
    }
    for (int i = 0; i < spec.measure_count(); ++i) e.measures[i] = c_text(spec.measures[i]);
    for (int i = 0; i < spec.reward_part_count(); ++i) {
      e.reward_parts[i] = c_text(spec.reward_parts[i]);
    }
    hotloop_world w{};
    w.name = c_text(spec.name);
    w.about = c_text(spec.about);
    w.obs = spec.obs;
    w.actions = spec.actions;
    w.action_size = spec.action_size;
    w.action_low = spec.action_low.data();
    w.action_high = spec.action_high.data();
    w.max_steps = spec.max_steps;
    w.solved_return = spec.solved_return;
    w.part_count = parts;
    w.parts = e.parts.data();
    w.measure_count = spec.measure_count();
    w.measures = e.measures.data();
    w.reward_part_count = spec.reward_part_count();
    w.reward_parts = e.reward_parts.data();
    w.create = create;
    w.destroy = &destroy;
    w.clear = &clear;
    w.reset = &reset;
    w.step = &step;
    w.observe = &observe;
    w.measure = w.measure_count > 0 ? &measure : nullptr;
    w.parts_of_reward = w.reward_part_count > 0 ? &parts_of_reward : nullptr;
    w.picture = &picture;
    w.save_row = &save_row;
    w.restore_row = &restore_row;
    // Only an array knows these. If the constructor throws, create() throws again and reports it.
    guarded([&] {
      const auto one = e.entry.make(1);
      w.mask = one->has_mask() ? &mask : nullptr;
      w.row_bytes = one->row_bytes();
      w.checks_state = one->checks_state() ? 1 : 0;
    });
    return w;
  }
};

}  // namespace hotloop::plugin

namespace hotloop {
inline bool register_env(const EnvEntry& entry) {
  plugin::registered().push_back(entry);
  return true;
}
}  // namespace hotloop

extern "C" [[gnu::visibility("default"), gnu::weak]] const hotloop_plugin* hotloop_plugin_v1(void) {
  static const hotloop::plugin::Table table;
  return &table.plugin;
}
