// An observation in two parts: the 3 x 3 cells around the forager, and the direction of the food.
// Networks can process the parts separately:
//   hotloop train forager.cpp
//   hotloop train forager.cpp --set "net.branches={near: {from: around, layers: [dense 32]},
//     all: {from: [near, food], layers: [dense 64]}}"
#include <hotloop/env.hpp>

struct Forager {
  static constexpr int kSize = 10;
  static constexpr auto spec = hotloop::EnvSpec{.name = "forager",
                                                .obs = 11,
                                                .actions = 4,
                                                .max_steps = 100,
                                                .parts = {{{"around", {3, 3}}, {"food", {2}}}},
                                                .measures = {"score"}};
  std::uint8_t thorns[kSize][kSize] = {};
  int x = 0, y = 0, food_x = 0, food_y = 0, eaten = 0;

  static int anywhere(hotloop::Rng& rng) { return static_cast<int>(rng.below(kSize)); }
  void put_food(hotloop::Rng& rng) {
    do food_x = anywhere(rng), food_y = anywhere(rng);
    while (thorns[food_y][food_x] != 0 || (food_x == x && food_y == y));
  }

  void reset(hotloop::Rng& rng) {
    for (auto& row : thorns) {
      for (auto& cell : row) cell = rng.below(8) == 0;
    }
    x = y = kSize / 2, eaten = 0;
    thorns[y][x] = 0;
    put_food(rng);
  }

  bool hurts(int at_x, int at_y) const {
    return at_x < 0 || at_y < 0 || at_x >= kSize || at_y >= kSize || thorns[at_y][at_x] != 0;
  }

  void observe(std::span<float> obs) const {
    for (int i = 0; i < 9; ++i) obs[i] = hurts(x + i % 3 - 1, y + i / 3 - 1);
    obs[9] = static_cast<float>(food_x - x) / kSize,
    obs[10] = static_cast<float>(food_y - y) / kSize;
  }

  hotloop::Step step(int action, hotloop::Rng& rng) {
    constexpr int kRight[] = {0, 1, 0, -1}, kDown[] = {-1, 0, 1, 0};
    const int to_x = x + kRight[action], to_y = y + kDown[action];
    if (hurts(to_x, to_y)) return {-1.f, true};
    x = to_x, y = to_y;
    if (x != food_x || y != food_y) return {-.01f, false};
    ++eaten;
    put_food(rng);
    return {1.f, false};
  }

  void measure(std::span<float> values) const { values[0] = static_cast<float>(eaten); }
};
HOTLOOP_ENV(Forager)
