// Counts the cells a snake can reach as Snake-RL does: breadth first with a queue, one fill per
// direction, one board at a time. `flood_fill: queue` selects it. The results equal those of
// bits.hpp, which handles four boards at once. It is here to show the gain of the bit boards.
#pragma once

#include <array>

#include "envs/snake/bits.hpp"

namespace hotloop {

// Adds the free cells that can be reached from `from` to the lane's region and returns their
// number: 0 if `from` is not free or was already in the region.
template <int W>
inline int queue_fill(QuadBoards<W>& region, const QuadBoards<W>& free, int lane, int from,
                      const SnakeGrid& grid) {
  std::array<std::uint16_t, kMaxSnakeGrid * kMaxSnakeGrid> queue;  // the first `reached` are used
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

// Like `flood`. `reached` needs a fourth fill and stays empty unless `wants_reached`.
template <int W>
inline QuadFlood<W> queue_flood(const QuadBoards<W>& free, Quad heads,
                                const std::array<std::array<int, kSnakeLanes>, 3>& looked_at,
                                bool wants_reached, const SnakeGrid& grid) {
  QuadFlood<W> result{};
  for (int lane = 0; lane < kSnakeLanes; ++lane) {
    for (int k = 0; k < 3; ++k) {
      QuadBoards<W> region{};
      result.count[k][lane] = queue_fill(region, free, lane, looked_at[k][lane], grid);
    }
    if (!wants_reached) continue;
    for (const int delta : {-grid.stride, 1, grid.stride, -1}) {
      const int cell = grid.clamp(static_cast<int>(heads[lane]) + delta);
      queue_fill(result.reached, free, lane, cell, grid);
    }
  }
  return result;
}

// The cells that can be reached from one cell of each board; none if that cell is not free.
template <int W>
inline QuadBoards<W> queue_regions(const QuadBoards<W>& free, Quad cells, const SnakeGrid& grid) {
  QuadBoards<W> regions{};
  for (int lane = 0; lane < kSnakeLanes; ++lane) {
    queue_fill(regions, free, lane, static_cast<int>(cells[lane]), grid);
  }
  return regions;
}

}  // namespace hotloop
