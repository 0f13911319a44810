// What a snake can reach, counted as Snake-RL counts it: breadth first with a queue, one fill for each
// direction, board after board. `flood_fill: queue` selects it; the numbers are those of bits.hpp, which
// finds them for four boards at once. It is here to show what the bits gain.
#pragma once

#include <array>

#include "envs/snake/bits.hpp"

namespace hotloop {

// Adds to the lane's region the free cells that can be reached from `from`, and says how many they
// are: none if `from` is not free or was in the region before.
template <int W>
inline int queue_fill(QuadBoards<W>& region, const QuadBoards<W>& free, int lane, int from,
                      const SnakeGrid& grid) {
  std::array<std::uint16_t, kMaxSnakeGrid * kMaxSnakeGrid> queue;  // the first `reached` were seen
  int reached = 0;
  const auto offer = [&](int cell) {
    if (!free.bit(cell, lane) || region.bit(cell, lane)) return;
    region.at(cell >> 6, lane) |= std::uint64_t{1} << (cell & 63);
    queue[reached++] = static_cast<std::uint16_t>(cell);
  };
  offer(from);
  for (int i = 0; i < reached; ++i) {
    for (const int delta : {-grid.stride, 1, grid.stride, -1}) offer(grid.clamp(queue[i] + delta));
  }
  return reached;
}

// As `flood`. `reached` takes a fourth fill and stays empty unless it is wanted.
template <int W>
inline QuadFlood<W> queue_flood(const QuadBoards<W>& free, Quad heads,
                                const std::array<std::array<int, kSnakeSide>, 3>& looked_at,
                                bool asks_reached, const SnakeGrid& grid) {
  QuadFlood<W> result{};
  for (int lane = 0; lane < kSnakeSide; ++lane) {
    for (int k = 0; k < 3; ++k) {
      QuadBoards<W> region{};
      result.count[k][lane] = queue_fill(region, free, lane, looked_at[k][lane], grid);
    }
    if (!asks_reached) continue;
    for (const int delta : {-grid.stride, 1, grid.stride, -1}) {
      const int cell = grid.clamp(static_cast<int>(heads[lane]) + delta);
      queue_fill(result.reached, free, lane, cell, grid);
    }
  }
  return result;
}

// What can be reached from one cell of each board; nothing where it is not free.
template <int W>
inline QuadBoards<W> queue_regions(const QuadBoards<W>& free, Quad cells, const SnakeGrid& grid) {
  QuadBoards<W> regions{};
  for (int lane = 0; lane < kSnakeSide; ++lane) {
    queue_fill(regions, free, lane, static_cast<int>(cells[lane]), grid);
  }
  return regions;
}

}  // namespace hotloop
