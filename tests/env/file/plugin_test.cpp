#include "env/file/plugin.hpp"

#include <gtest/gtest.h>
#include <hotloop/plugin.h>
#include <hotloop/error.hpp>

#include <array>
#include <cstring>

#include "core/thread_team.hpp"
#include "env/batch_env.hpp"

namespace hotloop {
namespace {

// Counts up to 1000 in steps of the action; a row fails when it reaches `breaks_at`.
struct Counter {
  std::int32_t value;
};
int breaks_at = -1;
thread_local std::string message;

std::vector<Counter>& counters(const void* worlds) {
  return *static_cast<std::vector<Counter>*>(const_cast<void*>(worlds));
}

hotloop_world counter_world() {
  hotloop_world w{};
  w.name = "counter";
  w.obs = 1;
  w.actions = 3;
  w.max_steps = 10;
  w.solved_return = 5;
  w.create = [](std::int32_t count, std::int32_t, void** worlds) {
    *worlds = new std::vector<Counter>(count);
    return 0;
  };
  w.destroy = [](void* worlds) { delete &counters(worlds); };
  w.clear = [](void* worlds) {
    for (Counter& counter : counters(worlds)) counter.value = 0;
    return 0;
  };
  w.reset = [](void* worlds, std::int32_t row, hotloop_stream* stream) {
    counters(worlds)[row].value = static_cast<std::int32_t>(hotloop_random(stream) % 7);
    return 0;
  };
  w.step = [](void* worlds, hotloop_step_call* call) {
    for (int row = call->begin; row < call->end; ++row) {
      if (row == breaks_at) {
        message = "row gone";
        call->failed_row = row;
        return 1;
      }
      counters(worlds)[row].value += call->numbers[row];
      call->rewards[row] = static_cast<float>(call->numbers[row]);
      call->terminated[row] = 0;
    }
    return 0;
  };
  w.observe = [](const void* worlds, std::int32_t begin, std::int32_t end, float* obs) {
    for (int row = begin; row < end; ++row) {
      if (counters(worlds)[row].value == 1000) {
        message = "too large to show";
        return 1;
      }
      obs[row] = static_cast<float>(counters(worlds)[row].value);
    }
    return 0;
  };
  w.picture = [](const void*, std::int32_t row, std::int32_t* width, std::int32_t* height,
                 std::uint8_t* rgb) {
    *width = 2, *height = 1;
    if (rgb != nullptr) std::memset(rgb, row, 6);
    return 0;
  };
  w.row_bytes = sizeof(Counter);
  w.save_row = [](const void* worlds, std::int32_t row, void* to) {
    std::memcpy(to, &counters(worlds)[row], sizeof(Counter));
    return 0;
  };
  w.restore_row = [](void* worlds, std::int32_t row, const void* from) {
    std::memcpy(&counters(worlds)[row], from, sizeof(Counter));
    return 0;
  };
  return w;
}

struct Library {
  hotloop_world world = counter_world();
  hotloop_plugin plugin{HOTLOOP_PLUGIN_VERSION, sizeof(hotloop_world), 1, &world,
                        [] { return message.c_str(); }};

  std::string refusal() {
    try {
      plugin_entries(&plugin, "lib.so");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Plugin, FactsAndCallsArrive) {
  static Library library;
  const EnvEntry entry = plugin_entries(&library.plugin, "lib.so").at(0);
  EXPECT_EQ(entry.spec->name, "counter");
  EXPECT_EQ(entry.spec->max_steps, 10);
  EXPECT_EQ(entry.spec->solved_return, 5);
  BatchEnv env(entry.make(5), 5, 3, Purpose::test);
  EXPECT_FALSE(env.has_mask());
  ThreadTeam team(2);
  const std::vector<float> before(env.obs().begin(), env.obs().end());
  const std::vector<std::int32_t> actions{0, 1, 2, 1, 0};
  env.step(actions, team);
  for (int row = 0; row < 5; ++row) {
    EXPECT_EQ(env.obs()[row] - before[row], static_cast<float>(actions[row]));
    Rng rng(3, Purpose::test, static_cast<std::uint32_t>(row), 0);
    EXPECT_EQ(before[row], static_cast<float>(rng.bits() % 7));
  }
  const Picture picture = env.worlds().picture(4);
  EXPECT_EQ(picture.width, 2);
  EXPECT_EQ(picture.rgb, std::vector<std::uint8_t>(6, 4));
}

// C worlds draw the engine's random numbers, and drawing advances the caller's stream.
TEST(Plugin, StreamsAreTheEnginesOwn) {
  hotloop_stream stream{0x123456789abcdefull, 77, 4, 9, 0};
  Rng rng(stream.seed, Purpose::evaluation_world, 9, 77);
  for (int i = 0; i < 11; ++i) ASSERT_EQ(hotloop_random(&stream), rng.bits()) << i;
  static Library library;
  const auto worlds = plugin_entries(&library.plugin, "lib.so").at(0).make(1);
  Rng used(1, Purpose::test, 0, 0), plain = used;
  worlds->reset(0, used);
  plain.bits();
  EXPECT_EQ(used.state(), plain.state());
}

TEST(Plugin, AFailureSaysWhereAndWhat) {
  static Library library;
  const auto worlds = plugin_entries(&library.plugin, "lib.so").at(0).make(4);
  const std::vector<std::int32_t> actions(4);
  std::vector<float> rewards(4), obs(4);
  std::vector<std::uint8_t> flags(4);
  breaks_at = 2;
  try {
    worlds->step(0, 4, actions, 1, Purpose::test, 17, rewards, flags);
    FAIL() << "nothing was thrown";
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "environment counter: step failed, row 2, step 17: row gone");
  }
  breaks_at = -1;
  const Counter large{1000};
  ASSERT_TRUE(worlds->restore_row(3, reinterpret_cast<const std::byte*>(&large)));
  try {
    worlds->observe(0, 4, obs);
    FAIL() << "nothing was thrown";
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "environment counter: observe failed, row 3: too large to show");
  }
}

TEST(Plugin, AnotherVersionOrSizeIsRefused) {
  Library library;
  library.plugin.version = 7;
  EXPECT_HAS(library.refusal(), "version 7");
  EXPECT_HAS(library.refusal(), "needs version 1");
  library = Library{};
  library.plugin.worlds = &library.world;
  library.plugin.world_size = offsetof(hotloop_world, checks_state) - 8;
  EXPECT_HAS(library.refusal(), "build it again");
  library.plugin.world_size = sizeof(hotloop_world) + 8;
  EXPECT_HAS(library.refusal(), "build it again");
}

// A plug-in that was built before `checks_state` was added has a shorter table.
TEST(Plugin, AShorterTableIsAnOlderOne) {
  Library library;
  library.world.checks_state = 1;
  library.plugin.worlds = &library.world;
  EXPECT_TRUE(plugin_entries(&library.plugin, "lib.so")[0].make(1)->checks_state());
  library.plugin.world_size = offsetof(hotloop_world, checks_state);
  EXPECT_FALSE(plugin_entries(&library.plugin, "lib.so")[0].make(1)->checks_state());
}

TEST(Plugin, RestoreRowMayRefuseAState) {
  Library library;
  library.world.restore_row = [](void*, std::int32_t, const void*) {
    return HOTLOOP_INVALID_STATE;
  };
  library.plugin.worlds = &library.world;
  const auto worlds = plugin_entries(&library.plugin, "lib.so")[0].make(2);
  const std::vector<std::byte> bytes(worlds->row_bytes());
  EXPECT_FALSE(worlds->restore_row(1, bytes.data()));
}

TEST(Plugin, FactsThatMakeNoSenseAreRefused) {
  const auto refusal = [](auto&& change) {
    Library library;
    change(library.world);
    library.plugin.worlds = &library.world;
    return library.refusal();
  };
  EXPECT_EQ(refusal([](hotloop_world&) {}), "");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.obs = 0; }), "lib.so: environment counter: obs is 0");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.actions = 0; }),
             "action_size is 0; allowed: 1 to 64");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.actions = 0, w.action_size = 65; }),
             "lib.so: environment counter: action_size is 65; allowed: 1 to 64");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.action_size = 2; }), "action_size is 2");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.measure_count = 25; }), "measure_count is 25");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.measure_count = -1; }), "measure_count is -1");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.row_bytes = SIZE_MAX; }), "row_bytes is 18446");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.step = nullptr; }), "is NULL");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.name = nullptr; }), "no name");
  static const std::array<float, 1> low{1}, high{1};
  EXPECT_HAS(refusal([](hotloop_world& w) {
               w.actions = 0, w.action_size = 1;
               w.action_low = low.data(), w.action_high = high.data();
             }),
             "bounds 1 to 1");
}

// The replay packs flags next to actions: another bit would be one of an action.
TEST(Plugin, FlagsAreZeroOrOne) {
  static Library library;
  library.world.mask = [](const void*, std::int32_t begin, std::int32_t end, std::uint8_t* mask) {
    std::memset(mask + begin * 3, 255, static_cast<std::size_t>(end - begin) * 3);
    return 0;
  };
  library.world.step = [](void*, hotloop_step_call* call) {
    for (int row = call->begin; row < call->end; ++row) call->terminated[row] = 255;
    return 0;
  };
  library.plugin.worlds = &library.world;
  const auto worlds = plugin_entries(&library.plugin, "lib.so")[0].make(2);
  std::vector<std::uint8_t> terminated(2), mask(6);
  std::vector<float> rewards(2);
  const std::vector<std::int32_t> actions(2);
  worlds->step(0, 2, actions, 1, Purpose::test, 1, rewards, terminated);
  worlds->mask(0, 2, mask);
  EXPECT_EQ(terminated, std::vector<std::uint8_t>(2, 1));
  EXPECT_EQ(mask, std::vector<std::uint8_t>(6, 1));
}

// Which function writes beyond its rows, and where to.
std::string scribbler;
int scribbles_at = 0;
template <class T>
void scribble(const char* function, T* rows, int begin, int end, int width) {
  if (scribbler != function) return;
  volatile T* place = rows + (scribbles_at > 0 ? end : begin) * width + (scribbles_at > 0 ? 0 : -1);
  *place = T{7};
}

hotloop_world scribbling_world() {
  hotloop_world w = counter_world();
  static const char* const names[] = {"sum"};
  w.measures = w.reward_parts = names;
  w.measure_count = w.reward_part_count = 1;
  w.step = [](void* worlds, hotloop_step_call* call) {
    scribble("rewards", call->rewards, call->begin, call->end, 1);
    scribble("terminated", call->terminated, call->begin, call->end, 1);
    return counter_world().step(worlds, call);
  };
  w.observe = [](const void* worlds, std::int32_t begin, std::int32_t end, float* obs) {
    for (int row = begin; row < end; ++row) scribble("observation", obs, row, row + 1, 1);
    return counter_world().observe(worlds, begin, end, obs);
  };
  w.mask = [](const void*, std::int32_t begin, std::int32_t end, std::uint8_t* allowed) {
    std::memset(allowed + begin * 3, 1, static_cast<std::size_t>(end - begin) * 3);
    scribble("mask", allowed, begin, end, 3);
    return 0;
  };
  w.measure = [](const void*, std::int32_t, float* values) {
    values[0] = 1;
    scribble("measures", values, 0, 1, 1);
    return 0;
  };
  w.parts_of_reward = [](const void*, std::int32_t begin, std::int32_t end, float* parts) {
    for (int row = begin; row < end; ++row) parts[row] = 1;
    scribble("parts of the reward", parts, begin, end, 1);
    return 0;
  };
  w.picture = [](const void* worlds, std::int32_t row, std::int32_t* width, std::int32_t* height,
                 std::uint8_t* rgb) {
    if (rgb != nullptr) scribble("picture", rgb, 0, 1, 6);
    return counter_world().picture(worlds, row, width, height, rgb);
  };
  w.save_row = [](const void* worlds, std::int32_t row, void* to) {
    scribble("saved state", static_cast<std::uint8_t*>(to), 0, 1, sizeof(Counter));
    return counter_world().save_row(worlds, row, to);
  };
  return w;
}

TEST(Plugin, WritesBeyondItsRowsAreFoundAtOnce) {
  static Library library;
  library.world = scribbling_world();
  const EnvEntry entry = plugin_entries(&library.plugin, "lib.so").at(0);
  ThreadTeam team(1);
  const std::vector<std::int32_t> actions(40, 1);
  for (const char* what : {"rewards", "terminated", "observation", "mask", "measures",
                           "parts of the reward", "picture", "saved state"}) {
    for (const int where : {-1, 1}) {
      BatchEnv env(entry.make(40), 40, 3, Purpose::test);
      scribbler = what;
      scribbles_at = where;
      std::string found;
      try {
        for (int i = 0; i < 12; ++i) env.step(actions, team);  // past the time limit
        env.save();
        env.worlds().picture(0);
      } catch (const WorldError& error) {
        EXPECT_FALSE(error.is_memory_intact);
        found = error.what();
      }
      scribbler = "";
      EXPECT_HAS(found, "environment counter: row");
      EXPECT_HAS(found, std::string(what) + ": expected exactly");
      EXPECT_HAS(found, where > 0 ? "a write after the row" : "a write before the row");
    }
  }
  BatchEnv env(entry.make(40), 40, 3, Purpose::test);  // the marks are whole again
  env.step(actions, team);
}

// A write that stays within the batch is found before the state is saved.
TEST(Plugin, RowsThatOthersWroteToAreFoundWhenSaved) {
  static Library library;
  library.world = counter_world();
  library.world.observe = [](const void* worlds, std::int32_t begin, std::int32_t end, float* obs) {
    counter_world().observe(worlds, begin, end, obs);
    if (scribbles_at > 0 && begin <= 3 && end > 4) obs[3] = -1;  // as if by row 4
    return 0;
  };
  const EnvEntry entry = plugin_entries(&library.plugin, "lib.so").at(0);
  ThreadTeam team(1);
  scribbles_at = 0;
  BatchEnv env(entry.make(5), 5, 3, Purpose::test);
  env.step(std::vector<std::int32_t>(5, 1), team);
  EXPECT_NO_THROW(env.save());
  scribbles_at = 1;
  env.step(std::vector<std::int32_t>(5, 1), team);
  try {
    env.save();
    ADD_FAILURE() << "nothing was found";
  } catch (const WorldError& error) {
    EXPECT_HAS(std::string(error.what()), "row 3, step 2: observation: expected value 0 to be -1");
  }
  scribbles_at = 0;
}

// A table in C is easily left incomplete: each pointer that is missing is named.
TEST(Plugin, MissingListsAndNamesAreRefused) {
  const auto refusal = [](auto&& change) {
    Library library;
    change(library.world);
    library.plugin.worlds = &library.world;
    return library.refusal();
  };
  static const std::array<float, 2> bounds{-1, 1};
  static const std::array<const char*, 2> names{"score", nullptr}, empty{"", "b"};
  const auto measure = [](const void*, std::int32_t, float*) { return 0; };
  const auto parts_of_reward = [](const void*, std::int32_t, std::int32_t, float*) { return 0; };

  EXPECT_EQ(refusal([](hotloop_world& w) {
              w.actions = 0, w.action_size = 1, w.action_high = bounds.data();
            }),
            "lib.so: environment counter: action_low is NULL");
  EXPECT_EQ(refusal([](hotloop_world& w) {
              w.actions = 0, w.action_size = 1, w.action_low = bounds.data();
            }),
            "lib.so: environment counter: action_high is NULL");
  EXPECT_EQ(refusal([&](hotloop_world& w) { w.measure_count = 1, w.measure = measure; }),
            "lib.so: environment counter: measures is NULL");
  EXPECT_EQ(refusal([&](hotloop_world& w) {
              w.measure_count = 2, w.measure = measure, w.measures = names.data();
            }),
            "lib.so: environment counter: measures[1] has no name");
  EXPECT_EQ(refusal([&](hotloop_world& w) {
              w.reward_part_count = 2, w.parts_of_reward = parts_of_reward;
            }),
            "lib.so: environment counter: reward_parts is NULL");
  EXPECT_EQ(refusal([&](hotloop_world& w) {
              w.reward_part_count = 2, w.parts_of_reward = parts_of_reward;
              w.reward_parts = empty.data();
            }),
            "lib.so: environment counter: reward_parts[0] has no name");
  Library library;
  library.plugin.worlds = nullptr;
  EXPECT_EQ(library.refusal(), "lib.so: worlds is NULL");
  library.plugin.world_count = -3;
  EXPECT_EQ(library.refusal(), "lib.so: world_count is -3; allowed: 0 to 1000");
  library.plugin.world_count = 0;
  EXPECT_EQ(library.refusal(), "");
}

TEST(Plugin, PartsMustAddUpToTheObservation) {
  const auto refusal = [](const std::vector<hotloop_part>& parts) {
    Library library;
    library.world.obs = 12;
    library.world.part_count = static_cast<std::int32_t>(parts.size());
    library.world.parts = parts.data();
    library.plugin.worlds = &library.world;
    return library.refusal();
  };
  EXPECT_EQ(refusal({{"a", {2, 3, 0}}, {"b", {6, 0, 0}}}), "");
  EXPECT_EQ(refusal({{"a", {2, 3, 0}}, {"b", {5, 0, 0}}}),
            "lib.so: environment counter: the parts of the observation have 11 values; obs is 12");
  EXPECT_EQ(refusal({{"a", {12, 0, 0}}, {nullptr, {1, 0, 0}}}),
            "lib.so: environment counter: parts[1] has no name");
  EXPECT_EQ(refusal({{"a", {-12, 0, 0}}}),
            "lib.so: environment counter: parts[0].shape is -12; allowed: 0 to 12");
  EXPECT_EQ(refusal({{"a", {2147483647, 2147483647, 2147483647}}}),
            "lib.so: environment counter: parts[0].shape is 2147483647; allowed: 0 to 12");
  Library library;
  library.world.part_count = 1;
  EXPECT_EQ(library.refusal(), "lib.so: environment counter: parts is NULL");
}

}  // namespace
}  // namespace hotloop
