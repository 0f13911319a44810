// hotloop new env NAME: writes a small environment that compiles, passes `check` and is learnable.
#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <hotloop/error.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "core/file.hpp"

namespace hotloop {
namespace {

// @Type@ and @name@ are replaced.
constexpr std::string_view kTemplate =
    R"(// @name@: walk to the goal on a line. Turn it into your own environment, then
//   hotloop check @name@.cpp
//   hotloop train @name@.cpp
#include <hotloop/env.hpp>

struct @Type@ {
  // The fact sheet. For continuous actions, replace .actions by
  // .action_size = 1, .action_low = {-1}, .action_high = {1}.
  static constexpr auto spec = hotloop::EnvSpec{
      .name = "@name@",
      .obs = 2,          // size of the observation
      .actions = 2,      // discrete actions: 0 is left, 1 is right
      .max_steps = 100,  // time limit; after it, the engine starts a new episode
  };

  // The state: plain members with initial values, so that it can be copied and saved. No pointers,
  // no std::vector, no static variables.
  static constexpr int kLength = 20;
  int position = 0;
  int goal = 0;

  // Starts an episode. Every random number must come from `rng`.
  void reset(hotloop::Rng& rng) {
    position = kLength / 2;
    goal = static_cast<int>(rng.below(kLength));
  }

  // Writes the observation: exactly spec.obs values, best between -1 and 1.
  void observe(std::span<float> obs) const {
    obs[0] = static_cast<float>(position) / kLength;
    obs[1] = static_cast<float>(goal) / kLength;
  }

  // One step. Returns the reward, and whether the episode is over; the engine handles the time
  // limit. For continuous actions: step(std::span<const float> action, hotloop::Rng& rng).
  hotloop::Step step(int action, hotloop::Rng&) {
    position += action == 1 ? 1 : -1;
    const bool arrived = position == goal;
    const bool fell = position < 0 || position >= kLength;
    return {.reward = arrived ? 1.0f : fell ? -1.0f : -0.02f, .terminated = arrived || fell};
  }

  // Optional: what `hotloop watch` shows. The smallest detail is one pixel.
  hotloop::Picture picture() const {
    hotloop::Picture picture{kLength, 1, std::vector<std::uint8_t>(kLength * 3, 40)};
    const auto paint = [&](int x, int channel) {
      if (x >= 0 && x < kLength) picture.rgb[x * 3 + channel] = 255;
    };
    paint(goal, 1);
    paint(position, 0);
    return picture;
  }
};
HOTLOOP_ENV(@Type@)
)";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// my_world -> MyWorld
std::string type_name(const std::string& name) {
  std::string type;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    type += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return type;
}

void check_name(const std::string& name) {
  const bool sound =
      !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (!sound) {
    throw UsageError(
        fmt::format("new env {}: a name has lower-case letters, digits and _, and starts with a "
                    "letter, e.g. my_world",
                    name));
  }
}

int new_command(const std::string& what, const std::string& name) {
  if (what != "env") {
    throw UsageError(fmt::format("new {}: unknown kind; allowed: env", what));
  }
  check_name(name);
  const std::string path = name + ".cpp";
  if (std::filesystem::exists(path)) {
    throw UsageError(fmt::format("new env {}: {} already exists; choose another name", name, path));
  }
  write_file_atomically(
      path, replaced(replaced(std::string(kTemplate), "@name@", name), "@Type@", type_name(name)));
  print_result("wrote {0}; try it:\n  hotloop check {0}\n  hotloop train {0}\n", path);
  return 0;
}

const Command kAddNew(
    {"new", "write a first version of something: env", [](CLI::App& app, int& code) {
       static std::string new_what, new_name;

       app.add_option("WHAT", new_what, "env: an environment in one file")->required();
       app.add_option("NAME", new_name, "its name; the file is NAME.cpp")->required();
       app.callback([&code] { code = new_command(new_what, new_name); });
     }});

}  // namespace
}  // namespace hotloop
