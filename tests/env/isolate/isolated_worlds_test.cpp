#include "env/isolate/isolated_worlds.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <hotloop/error.hpp>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "env/check/battery_play.hpp"
#include "env/check/doing.hpp"
#include "env/registry.hpp"

namespace hotloop {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// A world that does what the action says.
enum Wish { nothing, crash, end, end_at_once, loop, complain, scribble };
struct Wishes {
  static constexpr auto spec = EnvSpec{.name = "wishes",
                                       .obs = 1,
                                       .actions = 7,
                                       .max_steps = 20,
                                       .about = "does as it is asked",
                                       .measures = {"sum"}};
  int sum = 0;
  void reset(Rng& rng) { sum = static_cast<int>(rng.below(5)); }
  void observe(std::span<float> obs) const { obs[0] = static_cast<float>(sum); }
  void measure(std::span<float> values) const { values[0] = static_cast<float>(sum); }
  Step step(int action, Rng&) {
    sum += action;
    switch (action) {
      case crash:
        std::raise(SIGSEGV);
        break;
      case end:
        std::exit(0);
      case end_at_once:
        _exit(3);
      case loop:
        while (true) usleep(1000);
      case complain:
        throw std::runtime_error("no such wish");
      case scribble:  // over the notes that the parent reads
        std::memset(static_cast<void*>(&call_notes()), 0xff, sizeof(CallNotes));
        _exit(3);
      default:
        break;
    }
    return {1, false};
  }
};

EnvEntry isolated(const EnvEntry& entry, const Isolation& options = {.on = true}) {
  return isolated_entry([entry] { return entry; }, std::string(entry.spec->name), options);
}

// Both play the same; afterwards from a saved state of the other.
void expect_equal_play(const EnvEntry& entry, int rows, int threads) {
  const EnvEntry other = isolated(entry);
  BatchRunner plain(entry.make(rows), rows, 7, 1);
  BatchRunner apart(other.make(rows), rows, 7, threads);
  const EnvSpec& spec = apart.env.spec();
  EXPECT_EQ(spec.name, entry.spec->name);
  EXPECT_EQ(spec.about, entry.spec->about);
  EXPECT_EQ(spec.parts[0].name, plain.env.spec().parts[0].name);
  EXPECT_EQ(apart.env.has_mask(), plain.env.has_mask());
  Actions actions(spec, rows);
  for (std::uint64_t t = 1; t < 60; ++t) {
    ASSERT_LT(choose_actions(spec, plain.results().mask, 3, t, actions), 0);
    plain.step(actions);
    apart.step(actions);
    const auto difference = first_difference(plain.env.spec(), plain.results(), apart.results());
    ASSERT_FALSE(difference) << entry.spec->name << ", step " << t << ": " << *difference;
    if (t != 30) continue;
    const std::vector<std::byte> state = plain.env.save();
    ASSERT_EQ(state, apart.env.save());
    apart.env.reset();
    apart.env.restore(state);
    plain.env.restore(state);
  }
  const Picture one = plain.env.worlds().picture(0), two = apart.env.worlds().picture(0);
  EXPECT_EQ(one.width, two.width);
  EXPECT_EQ(one.rgb, two.rgb);
}

TEST(Isolated, GivesTheSameBits) {
  for (const EnvEntry& entry : registered_envs()) expect_equal_play(entry, 5, 1);
}

TEST(Isolated, GivesTheSameBitsWithThreads) {
  for (const char* name : {"cartpole", "snake", "pendulum"}) {
    expect_equal_play(find_env(name), 300, 3);
  }
}

std::string failure_of(BatchEnv& env, const std::vector<std::int32_t>& actions) {
  ThreadTeam team(1);
  try {
    env.step(actions, team);
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

TEST(Isolated, ItsEndIsAnError) {
  const EnvEntry entry = isolated(env_entry<Wishes>(), {.on = true, .timeout_seconds = 0.3});
  const std::vector<std::pair<Wish, std::string>> ends = {
      {crash, "environment wishes: the environment crashed: a read or write where there is no"},
      {end, "environment wishes: the environment ended the program with exit code 0"},
      {end_at_once, "environment wishes: the environment ended the program with exit code 3"},
      {scribble, "environment wishes: the environment ended the program with exit code 3"},
      {loop, "environment wishes: it did not return within 0.3 s"}};
  for (const auto& [wish, text] : ends) {
    BatchEnv env(entry.make(3), 3, 1, Purpose::test);  // in a new process, if the last one is gone
    EXPECT_EQ(failure_of(env, {0, 0, 0}), "");
    const std::string failure = failure_of(env, {0, wish, 0});
    EXPECT_HAS(failure, text);
    EXPECT_EQ(failure_of(env, {0, 0, 0}), failure);  // and stays so
  }
}

TEST(Isolated, AnExceptionIsNoEnd) {
  const EnvEntry entry = isolated(env_entry<Wishes>());
  BatchEnv env(entry.make(3), 3, 1, Purpose::test);
  EXPECT_EQ(failure_of(env, {0, complain, 0}), "no such wish");
  EXPECT_EQ(failure_of(env, {0, 0, 0}), "");
}

TEST(Isolated, FailuresToLoadArrive) {
  const auto load = [](auto&& body) {
    return [body]() -> EnvEntry {
      body();
      return env_entry<Wishes>();
    };
  };
  EXPECT_THROW(isolated_entry(load([] { throw UsageError("no"); }), "w", {.on = true}), UsageError);
  EXPECT_THROW(isolated_entry(load([] { std::abort(); }), "w", {.on = true}), WorldError);
  EXPECT_THROW(
      isolated_entry(load([] { usleep(10'000'000); }), "w", {.on = true, .timeout_seconds = 0.2}),
      WorldError);
}

// What a process claims about itself.
struct Claims {
  std::function<void(EnvSpec&)> change = [](EnvSpec&) {};
  std::size_t row_bytes = 0;
  int width = 0, height = 0;
};

class Liar final : public WorldArray {
 public:
  Liar(const EnvSpec& spec, const Claims& claims) : spec_(spec), claims_(claims) {}
  const EnvSpec& spec() const override { return spec_; }
  bool has_mask() const override { return true; }
  void clear() override {}
  void reset(int, Rng&) override {}
  void step(int begin, int end, const ActionRows&, std::uint64_t, Purpose, std::uint64_t,
            std::span<float> rewards, std::span<std::uint8_t> terminated) override {
    for (int row = begin; row < end; ++row) rewards[row] = 1, terminated[row] = 255;
  }
  void observe(int, int, std::span<float>) const override {}
  void mask(int, int, std::span<std::uint8_t> allowed) const override {
    std::ranges::fill(allowed, std::uint8_t{7});
  }
  Picture picture(int) const override { return {claims_.width, claims_.height, {}}; }
  std::size_t row_bytes() const override { return claims_.row_bytes; }
  void save_row(int, std::byte*) const override {}
  bool restore_row(int, const std::byte*) override { return true; }

 private:
  const EnvSpec& spec_;
  Claims claims_;
};

EnvEntry lying(const Claims& claims) {
  return isolated_entry(
      [claims] {
        auto* spec = new EnvSpec{.name = "liar", .obs = 2, .actions = 3};  // of another process
        claims.change(*spec);
        const auto make = [=](int, std::span<const double>) {
          return std::make_unique<Liar>(*spec, claims);
        };
        return EnvEntry{spec, make, make, {}};
      },
      "liar", {.on = true});
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Isolated, ASpecThatCannotBeIsRefused) {
  const auto refused = [](std::function<void(EnvSpec&)> change) {
    return refusal([&] { lying({.change = std::move(change)}); });
  };
  EXPECT_EQ(refused([](EnvSpec&) {}), "");
  EXPECT_EQ(refused([](EnvSpec& spec) { spec.obs = -1; }),
            "environment liar: obs is -1; allowed: 1 to 16777216");
  EXPECT_EQ(refused([](EnvSpec& spec) { spec.actions = 1 << 30; }),
            "environment liar: actions is 1073741824; allowed: 0 to 16777216");
  EXPECT_EQ(refused([](EnvSpec& spec) { spec.actions = 0, spec.action_size = 1'000'000; }),
            "environment liar: action_size is 1000000; allowed: 1 to 64");
  EXPECT_EQ(refused([](EnvSpec& spec) { spec.max_steps = -7; }),
            "environment liar: max_steps is -7; allowed: 0 to 2147483647");
  EXPECT_EQ(refused([](EnvSpec& spec) { spec.actions = 0, spec.action_size = 1; }),
            "environment liar: action value 0 has bounds 0 to 0; bounds must be finite, and the "
            "lower one first");
  EXPECT_EQ(refused([](EnvSpec& spec) {
              spec.parts[0] = {"far", {1 << 30, 1 << 30, 4}};
            }),
            "environment liar: parts[0].shape is 1073741824; allowed: 0 to 2");
}

TEST(Isolated, AStateThatCannotBeIsRefused) {
  for (const std::size_t bytes : {(std::size_t{1} << 30) + 1, ~std::size_t{0} / 4 + 1}) {
    EXPECT_EQ(
        refusal([&] { lying({.row_bytes = bytes}).make(4); }),
        "environment liar: row_bytes is " + std::to_string(bytes) + "; allowed: 0 to 1073741824");
  }
}

TEST(Isolated, APictureThatCannotBeIsRefused) {
  const auto worlds = lying({.width = 1 << 30, .height = 1 << 30}).make(1);
  EXPECT_EQ(refusal([&] { worlds->picture(0); }),
            "environment liar: a picture of 1073741824 x 1073741824 pixels; at most 16384 x 16384");
}

// The replay packs flags next to actions: another bit would be one of an action.
TEST(Isolated, FlagsAreZeroOrOne) {
  BatchEnv env(lying({}).make(2), 2, 1, Purpose::test);
  EXPECT_EQ(failure_of(env, {0, 1}), "");
  EXPECT_EQ(env.terminated()[1], 1);
  for (const std::uint8_t flag : env.mask()) EXPECT_EQ(flag, 1);
}

// A state of a megabyte, and a picture.
struct Large {
  static constexpr auto spec = EnvSpec{.name = "large", .obs = 1, .actions = 2};
  std::array<char, 1 << 20> state{};
  void reset(Rng&) {}
  void observe(std::span<float> obs) const { obs[0] = 0; }
  Step step(int, Rng&) { return {0, false}; }
  Picture picture() const { return {64, 64, std::vector<std::uint8_t>(64 * 64 * 3, 9)}; }
};

// The size of the memory that this process shares with its only host.
struct stat shared_memory() {
  namespace fs = std::filesystem;
  struct stat about {};
  int found = 0;
  for (const auto& file : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (!fs::read_symlink(file, error).string().starts_with("/memfd:hotloop")) continue;
    stat(file.path().c_str(), &about);
    ++found;
  }
  EXPECT_EQ(found, 1);
  return about;
}

TEST(Isolated, MemoryIsUsedAgain) {
  const EnvEntry entry = isolated(env_entry<Large>(), {.on = true, .memory_gb = 0.3});
  const auto keeps_it = entry.make(1);  // the process
  struct stat after_one {};
  for (int i = 0; i < 60; ++i) {  // 500 MB together
    const auto worlds = entry.make(8);
    std::vector<std::byte> state(worlds->row_bytes(), std::byte{1});
    EXPECT_TRUE(worlds->restore_row(7, state.data()));
    EXPECT_EQ(worlds->picture(0).rgb, std::vector<std::uint8_t>(64 * 64 * 3, 9));
    if (i == 0) after_one = shared_memory();
  }
  const struct stat after_all = shared_memory();
  EXPECT_EQ(after_all.st_size, after_one.st_size);
  EXPECT_LE(after_all.st_blocks * 512, 1 << 20);  // only what `keeps_it` has
}

TEST(Isolated, CountsItsPrice) {
  const EnvEntry entry = isolated(env_entry<Wishes>());
  const IsolationCost before = isolation_cost();
  BatchEnv env(entry.make(3), 3, 1, Purpose::test);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(failure_of(env, {0, 0, 0}), "");
  const IsolationCost after = isolation_cost();
  EXPECT_EQ(after.vector_steps - before.vector_steps, 100U);
  EXPECT_GT(after.seconds, before.seconds);
}

TEST(Isolated, OnlyFilesCanBe) {
  EXPECT_THROW(find_env({.name = "cartpole", .isolation = {.on = true}}), UsageError);
}

}  // namespace
}  // namespace hotloop
