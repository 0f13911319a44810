// Flood fill over bits against flood fill with a queue, on random boards.
#include <gtest/gtest.h>

#include "envs/snake/bits.hpp"
#include "reference/snake.hpp"

namespace hotloop {
namespace {

// Four boards with the given density of obstacles, and a head on a free cell of each. The head is
// an obstacle to the fill, as in the game.
struct RandomBoards {
  std::array<std::vector<std::uint8_t>, kSnakeLanes> blocked;  // [G * G]
  std::array<Cell, kSnakeLanes> heads;

  RandomBoards(int grid, double density, Rng& rng) {
    for (int lane = 0; lane < kSnakeLanes; ++lane) {
      blocked[lane].resize(static_cast<std::size_t>(grid) * grid);
      for (auto& cell : blocked[lane]) cell = rng.uniform() < density;
      heads[lane] = {static_cast<int>(rng.below(grid)), static_cast<int>(rng.below(grid))};
      blocked[lane][heads[lane].y * grid + heads[lane].x] = 1;
    }
  }
};

template <int W>
void expect_equal_fills(const SnakeGrid& grid, const RandomBoards& boards) {
  const int side = grid.size;
  QuadBoards<W> free{};
  Quad heads{};
  std::array<std::array<int, kSnakeLanes>, 3> looked_at{};
  for (int lane = 0; lane < kSnakeLanes; ++lane) {
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        const int cell = grid.cell(x, y);
        if (!boards.blocked[lane][y * side + x]) {
          free.at(cell / 64, lane) |= std::uint64_t{1} << (cell % 64);
        }
      }
    }
    const int head = grid.cell(boards.heads[lane].x, boards.heads[lane].y);
    heads[lane] = static_cast<std::uint64_t>(head);
    looked_at[0][lane] = grid.clamp(head - grid.stride);
    looked_at[1][lane] = grid.clamp(head + 1);
    looked_at[2][lane] = grid.clamp(head - 1);
  }
  const QuadFlood<W> found = flood<W>(free, single_cells<W>(heads), looked_at, grid.stride);
  for (int lane = 0; lane < kSnakeLanes; ++lane) {
    const auto& blocked = boards.blocked[lane];
    const auto fill = [&](int heading) {
      const Cell from = reference::Snake::neighbour(boards.heads[lane], heading);
      const bool outside = from.x < 0 || from.y < 0 || from.x >= side || from.y >= side;
      if (outside || blocked[from.y * side + from.x]) return 0;
      return *reference::queue_fill(blocked, side, from);
    };
    ASSERT_EQ(found.count[0][lane], fill(0)) << "grid " << side;
    ASSERT_EQ(found.count[1][lane], fill(1)) << "grid " << side;
    ASSERT_EQ(found.count[2][lane], fill(3)) << "grid " << side;
    // What the head reaches in any of the four directions, and the head itself.
    auto with_head = blocked;
    with_head[boards.heads[lane].y * side + boards.heads[lane].x] = 0;
    ASSERT_EQ(found.reached.count(lane) + 1,
              *reference::queue_fill(with_head, side, boards.heads[lane]));
  }
}

TEST(SnakeFlood, BitsEqualTheQueue) {
  Rng rng(21, Purpose::test, 0, 0);
  std::int64_t boards = 0;
  for (int size = 4; size <= kMaxSnakeGrid; ++size) {
    const SnakeGrid grid(size);
    with_words(grid.words, [&]<int W>() {
      for (int i = 0; i < 870; ++i, boards += kSnakeLanes) {
        // Around 0.4 the free cells fall apart into winding regions.
        const RandomBoards random(size, rng.uniform(0.0, 0.7), rng);
        expect_equal_fills<W>(grid, random);
        if (testing::Test::HasFatalFailure()) return;
      }
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(boards, 100000);
}

// The longest path on a board: a corridor through all of it.
TEST(SnakeFlood, FollowsASpiralToItsEnd) {
  for (const int size : {4, 7, 10, 15, 21, 32}) {
    const SnakeGrid grid(size);
    Rng rng(1, Purpose::test, 0, 0);
    RandomBoards boards(size, 0, rng);
    for (int lane = 0; lane < kSnakeLanes; ++lane) {
      boards.heads[lane] = {0, 0};
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x) {
          const int gap = y % 4 == 1 ? size - 1 : 0;  // walls with a gap at alternating ends
          boards.blocked[lane][y * size + x] = y % 2 == 1 && x != gap;
        }
      }
      boards.blocked[lane][0] = 1;
    }
    with_words(grid.words, [&]<int W>() { expect_equal_fills<W>(grid, boards); });
  }
}

TEST(SnakeFlood, SelectsTheKthBit) {
  Rng rng(22, Purpose::test, 0, 0);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t high = rng.bits();
    const std::uint64_t word = (high << 32 | rng.bits()) & -(std::uint64_t{1} << rng.below(64));
    int k = 0;
    for (int bit = 0; bit < 64; ++bit) {
      if ((word >> bit & 1) == 0) continue;
      ASSERT_EQ(select_bit(word, k++), bit);
    }
  }
}

}  // namespace
}  // namespace hotloop
