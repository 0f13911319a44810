// Two rooms with a door between them: find the way to the goal. `hotloop watch` shows it.
//   hotloop train grid_world.cpp
//   hotloop watch runs/grid_world-1
#include <hotloop/env.hpp>

struct GridWorld {
  static constexpr int kSize = 8, kWall = 4;  // the wall fills column 4
  static constexpr auto spec =
      hotloop::EnvSpec{.name = "grid_world",
                       .obs = 5,
                       .actions = 4,
                       .max_steps = 60,
                       .parts = {{{"agent", {2}}, {"goal", {2}}, {"door", {1}}}},
                       .about = "two rooms, one door"};
  int x = 0, y = 0, goal_x = 7, goal_y = 0, door = 0;

  void reset(hotloop::Rng& rng) {
    x = static_cast<int>(rng.below(kWall));
    y = static_cast<int>(rng.below(kSize));
    goal_x = kWall + 1 + static_cast<int>(rng.below(kSize - kWall - 1));
    goal_y = static_cast<int>(rng.below(kSize));
    door = static_cast<int>(rng.below(kSize));
  }

  void observe(std::span<float> obs) const {
    constexpr float kScale = 1.f / (kSize - 1);
    obs[0] = x * kScale, obs[1] = y * kScale;
    obs[2] = goal_x * kScale, obs[3] = goal_y * kScale;
    obs[4] = door * kScale;
  }

  bool is_free(int to_x, int to_y) const {
    const bool inside = to_x >= 0 && to_x < kSize && to_y >= 0 && to_y < kSize;
    return inside && (to_x != kWall || to_y == door);
  }

  hotloop::Step step(int action, hotloop::Rng&) {
    constexpr int kRight[] = {0, 1, 0, -1}, kDown[] = {-1, 0, 1, 0};  // up, right, down, left
    const int to_x = x + kRight[action], to_y = y + kDown[action];
    if (is_free(to_x, to_y)) x = to_x, y = to_y;
    const bool arrived = x == goal_x && y == goal_y;
    return {arrived ? 1.f : -.02f, arrived};
  }

  hotloop::Picture picture() const {
    hotloop::Picture picture{kSize, kSize, std::vector<std::uint8_t>(kSize * kSize * 3, 30)};
    const auto paint = [&](int px, int py, int red, int green, int blue) {
      std::uint8_t* pixel = &picture.rgb[(py * kSize + px) * 3];
      pixel[0] = red, pixel[1] = green, pixel[2] = blue;
    };
    for (int row = 0; row < kSize; ++row) {
      if (row != door) paint(kWall, row, 120, 120, 120);
    }
    paint(goal_x, goal_y, 0, 200, 80);
    paint(x, y, 240, 160, 0);
    return picture;
  }
};
HOTLOOP_ENV(GridWorld)
