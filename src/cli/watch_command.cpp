// hotloop watch: shows a trained agent or a script playing, in the terminal, as an animated GIF, or
// as a PNG of the last frame. Continuous actions are drawn below the picture.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include <hotloop/error.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/progress_bar.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "draw/action_strips.hpp"
#include "draw/picture_file.hpp"
#include "draw/picture_text.hpp"
#include "evaluate/evaluation.hpp"
#include "record/saved_model.hpp"

namespace hotloop {
namespace {

struct WatchArguments {
  std::string run;
  std::string policy;
  std::string model = "best";
  std::vector<std::string> overrides;
  std::optional<std::uint64_t> seed;
  int episodes = 1;
  int speed = 12;  // steps per second
  int scale = 8;   // pixels in the file per pixel of the picture
  std::string gif, png;
};

// One episode, with its return, length and actions so far.
class Game {
 public:
  Game(const EnvChoice& env, std::uint64_t seed)
      : env_(make_worlds(env, 1), 1, seed, Purpose::evaluation_world) {
    if (env_.worlds().picture(0).width == 0) {
      throw UsageError(
          fmt::format("watch: {} cannot be drawn: it has no picture(), which is optional "
                      "(docs/environments.md)",
                      env.name));
    }
  }

  BatchEnv& env() { return env_; }
  // With the actions chosen so far.
  Picture picture() const {
    return with_action_strips(env_.worlds().picture(0), env_.spec(), actions_);
  }
  double total() const { return return_; }
  std::int64_t length() const { return length_; }

  // Records the actions, so that picture() and status() show them before step() applies them.
  void note(const Actions& actions) {
    actions_.insert(actions_.end(), actions.continuous.begin(), actions.continuous.end());
  }

  // False when the episode is over; the last picture and measures are then those before this step.
  bool step(const Actions& actions, ThreadTeam& team) {
    env_.step(actions, team);
    return_ += static_cast<double>(env_.rewards()[0]);
    ++length_;
    return (env_.terminated()[0] | env_.truncated()[0]) == 0;
  }

  std::string status() const {
    const EnvSpec& spec = env_.spec();
    std::array<float, kMaxMeasures> values{};
    env_.worlds().measure(0, values);
    std::string text = fmt::format("step {}  return {:.2f}", length_, return_);
    for (int i = 0; i < spec.measure_count(); ++i) {
      const std::string_view name = spec.measures[i];
      if (name == "score") text += fmt::format("  score {}", values[i]);
      if (name == "progress") text += fmt::format("  progress {:.2f}", values[i]);
    }
    return text + action_text();
  }

 private:
  // The latest action, each number in the colour of its strip.
  std::string action_text() const {
    std::string text;
    const int size = env_.spec().action_size;
    for (int i = 0; i < size && !actions_.empty(); ++i) {
      const auto [red, green, blue] = strip_colour(i);
      text += fmt::format("{}\x1b[38;2;{};{};{}m{:.2f}\x1b[0m", i == 0 ? "  action " : " ", red,
                          green, blue, actions_[actions_.size() - size + i]);
    }
    return text;
  }

  BatchEnv env_;
  std::vector<float> actions_;  // [steps, action_size], continuous
  double return_ = 0;
  std::int64_t length_ = 0;
};

// Chooses actions, by a network or a script.
class Player {
 public:
  Player(const WatchArguments& arguments) {
    if (!arguments.policy.empty()) {
      trust_named(arguments.run);
      spec_ = load_policy_spec(arguments.run, arguments.overrides);
      script_ = script_number(arguments.policy, spec_.world());
      return;
    }
    saved_ = load_saved_model(arguments.run, arguments.model, arguments.overrides);
    check_world_fits(*saved_);
    const Model& model = saved_->model;
    spec_ = model.spec;
    scale_ = saved_->scale();
    policy_.emplace(model.structure, saved_->head, 1);
  }

  const TrainSpec& spec() const { return spec_; }

  void choose(const BatchEnv& env, ThreadTeam& team, Actions& actions) {
    if (policy_) {
      policy_->choose(saved_->model.parameters, saved_->is_scaled() ? &scale_ : nullptr, env.obs(),
                      env.mask(), team, actions);
    } else {
      choose_by_script(script_, env, actions);
    }
  }

  // The network's outputs as text; empty for a script.
  std::string opinion() const { return policy_ ? "  " + policy_->opinion(0) : ""; }

 private:
  TrainSpec spec_;
  std::optional<SavedModel> saved_;
  std::optional<GreedyPolicy> policy_;
  InputScale scale_{};
  int script_ = 0;
};

// Called before the first episode.
void check_picture_path(const std::string& path, std::string_view ending) {
  if (!path.empty() && !path.ends_with(ending))
    throw UsageError(fmt::format("'{}': must end in {}", path, ending));
  check_folder_of(path);
}

int watch_command(const WatchArguments& arguments) {
  check_picture_path(arguments.gif, ".gif");
  check_picture_path(arguments.png, ".png");
  Player player(arguments);
  const std::uint64_t seed = arguments.seed.value_or(player.spec().run.seed);
  ThreadTeam team(1);
  const bool to_files = !arguments.gif.empty() || !arguments.png.empty();
  const bool on_terminal = !to_files && isatty(STDOUT_FILENO) == 1;
  const std::int64_t max_steps = player.spec().evaluation.max_steps;
  std::vector<Picture> pictures;
  for (int episode = 1; episode <= arguments.episodes; ++episode) {
    // Each episode has its own seed: it is new even if max_steps cut the previous one short.
    Game game(player.spec().world(), seed + episode - 1);
    Actions actions(game.env().spec(), 1);
    bool playing = true;
    for (bool first = true; playing && game.length() < max_steps; first = false) {
      player.choose(game.env(), team, actions);
      game.note(actions);
      Picture picture = game.picture();
      if (on_terminal) {
        const Picture shown = fitted(picture, terminal_columns());
        if (!first) print_result("\x1b[{}A", text_lines(shown) + 1);
        print_result("{}{}{}\x1b[K\n", picture_text(shown), game.status(), player.opinion());
        flush_results();
        std::this_thread::sleep_for(std::chrono::duration<double>(1.0 / arguments.speed));
      }
      if (to_files) pictures.push_back(std::move(picture));
      playing = game.step(actions, team);
    }
    const Episode* ended = playing ? nullptr : game.env().finished().data();
    std::string measures;
    const EnvSpec& spec = game.env().spec();
    for (int i = 0; ended != nullptr && i < spec.measure_count(); ++i) {
      measures += fmt::format("  {} {}", spec.measures[i], ended->measures[i]);
    }
    print_result("episode {}: return {}, {} steps{}\n", episode, return_text(game.total()),
                 game.length(), measures);
  }
  if (!arguments.gif.empty()) write_gif(arguments.gif, pictures, arguments.scale, arguments.speed);
  if (!arguments.png.empty()) write_png(arguments.png, pictures.back(), arguments.scale);
  return 0;
}

const Command kAddWatch({"watch", "show an agent playing", [](CLI::App& app, int& code) {
                           static WatchArguments watch;

                           add_player(app, watch);
                           app.add_option("--seed", watch.seed,
                                          "seed of the first episode; later ones count up")
                               ->check(kSeed);
                           app.add_option("--episodes", watch.episodes, "episodes to play")
                               ->check(CLI::Range(1, 1'000'000))
                               ->capture_default_str();
                           app.add_option("--speed", watch.speed, "steps per second")
                               ->check(CLI::Range(1, 100))
                               ->capture_default_str();
                           app.add_option("--scale", watch.scale,
                                          "pixels in the file per pixel of the picture")
                               ->check(CLI::Range(1, 256))
                               ->capture_default_str();
                           app.add_option("--gif", watch.gif, "write an animation to this file");
                           app.add_option("--png", watch.png, "write the last frame to this file");
                           app.callback([&code] { code = watch_command(watch); });
                         }});

}  // namespace
}  // namespace hotloop
