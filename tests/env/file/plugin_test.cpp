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
  EXPECT_HAS(refusal([](hotloop_world& w) { w.measure_count = 21; }), "measure_count is 21");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.step = nullptr; }), "is NULL");
  EXPECT_HAS(refusal([](hotloop_world& w) { w.name = nullptr; }), "no name");
  static const std::array<float, 1> low{1}, high{1};
  EXPECT_HAS(refusal([](hotloop_world& w) {
               w.actions = 0, w.action_size = 1;
               w.action_low = low.data(), w.action_high = high.data();
             }),
             "bounds 1 to 1");
}

}  // namespace
}  // namespace hotloop
