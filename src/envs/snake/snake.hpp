// Snake: N boards stepped as one batch.
//
// x grows to the right, y down. Headings are 0 up, 1 right, 2 down, 3 left. A snake starts with
// three cells, (c, c), (c - 1, c), (c - 2, c) for c = G / 2, heading right. Relative actions are 0
// straight, 1 left, 2 right. An absolute action is a heading; the reverse heading is ignored.
//
// In a step the snake turns, looks at the next cell, and either dies there (the body stays), eats
// (the body grows at the head) or moves (head forward, tail off). Filling the board wins. rules.hpp
// lists the differences from the original game and the options that restore it.
//
// Invariant: `free_` has a bit set for exactly those board cells that are not on the body. The body
// is head_at_, head_at_ - 1, ... of the row's ring, `length_` cells, head first.
#pragma once

#include <hotloop/env.hpp>

#include <array>
#include <span>

#include "core/arena.hpp"
#include "envs/snake/bits.hpp"
#include "envs/snake/rules.hpp"

namespace hotloop {

struct Cell {
  int x = 0;
  int y = 0;
  bool operator==(const Cell&) const = default;
};

// How an episode ended, in the order of the measures after the score.
enum class SnakeEnd : std::uint8_t { none, wall, self, entrapment, timeout, won };

class SnakeArray final : public WorldArray {
 public:
  SnakeArray(int count, const SnakeRules& rules);

  const EnvSpec& spec() const override { return spec_; }
  bool has_mask() const override { return false; }
  void clear() override;
  void reset(int row, Rng& rng) override;
  void step(int begin, int end, const ActionRows& actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override;
  void observe(int begin, int end, std::span<float> obs) const override;
  void measure(int row, std::span<float> values) const override;
  Picture picture(int row) const override;
  std::span<const std::string_view> scripts() const override;
  void play(int script, int begin, int end, std::uint64_t seed, Purpose purpose, std::uint64_t step,
            std::span<std::int32_t> actions) const override;
  std::size_t row_bytes() const override;
  void save_row(int row, std::byte* to) const override;
  bool restore_row(int row, const std::byte* from) override;
  bool checks_state() const override { return true; }

  // Sets up a board with step counter and score 0. The body is given head first. Each cell is next
  // to the previous one, and none appears twice.
  void place(int row, std::span<const Cell> body, int direction, Cell food);

  // For scripts, pictures and tests.
  const SnakeRules& rules() const { return rules_; }
  int length(int row) const { return length_[row]; }
  int direction(int row) const { return direction_[row]; }
  Cell segment(int row, int i) const { return cell_at(segment_cell(row, i)); }  // 0 is the head
  Cell food(int row) const { return cell_at(food_[row]); }
  bool is_free(int row, Cell cell) const { return free_bit(row, grid_.cell(cell.x, cell.y)); }
  // Whether the snake would die in the next cell in this direction.
  bool is_deadly(int row, int direction) const { return deadly(row, ahead(row, direction)); }

 private:
  struct Saved;

  Cell cell_at(int cell) const { return {grid_.x[cell], grid_.y[cell]}; }
  int segment_cell(int row, int i) const {
    return ring_[static_cast<std::size_t>(row) * ring_size_ + ((head_at_[row] - i) & ring_mask_)];
  }
  int ahead(int row, int direction) const { return grid_.clamp(head_[row] + delta_[direction]); }
  // Word w of the row's board is [w * kSnakeLanes].
  std::uint64_t* board(int row) const {
    const auto at = static_cast<std::size_t>(row);
    return &free_[at / kSnakeLanes * kSnakeLanes * grid_.words + at % kSnakeLanes];
  }
  static std::uint64_t& word_of(std::uint64_t* board, int cell) {
    return board[static_cast<unsigned>(cell) / 64 * kSnakeLanes];
  }
  bool free_bit(int row, int cell) const { return word_of(board(row), cell) >> (cell & 63) & 1; }
  void flip_bit(int row, int cell) { word_of(board(row), cell) ^= std::uint64_t{1} << (cell & 63); }
  // The cell that the head may enter because the tail is about to leave it, or -1. Food on it would
  // keep the tail where it is.
  int leaving(int row) const {
    return rules_.lethal_tail | (food_[row] == tail_[row]) ? -1 : tail_[row];
  }
  bool deadly(int row, int cell) const { return !(free_bit(row, cell) | (cell == leaving(row))); }
  bool trapped(int row, int direction) const;  // ahead, left and right are deadly
  // Bits 0 to 3: the cell lies up, right, down, left of the head. Uses signs: the CPU could not
  // predict comparisons.
  unsigned bearing(int row, int cell) const {
    const int head = head_[row];
    const int right = grid_.x[cell] - grid_.x[head];
    const int down = grid_.y[cell] - grid_.y[head];
    const auto sign = [](int value) { return static_cast<unsigned>(value) >> 31; };
    return sign(down) | sign(-right) << 1 | sign(-down) << 2 | sign(right) << 3;
  }

  bool is_body(std::span<const std::uint16_t> cells) const;
  void set_body(int row, std::span<const std::uint16_t> cells);  // head first
  void start(int row);
  void push_head(int row, int cell);
  int draw_food(int row, Rng& rng) const;
  float die(int row, int direction, int cell);
  float eat(int row, int cell, Rng rng);
  float move(int row, int direction, int cell);
  void find_entrapped(int begin, int end, std::span<const std::int32_t> actions);

  template <int W>
  QuadBoards<W> load_boards(int begin, int end) const;
  // `directions` has the directions of the rows [begin, end), all of one register.
  template <int W>
  QuadFlood<W> flood_rows(int begin, int end, const std::uint8_t* directions) const;
  float flood_ratio(int row, int count) const;
  bool is_entrapped(int row, std::array<int, 3> counts) const;
  unsigned flags(int row) const;
  void observe_basic(int begin, int end, std::span<float> obs) const;
  void observe_grid(int begin, int end, std::span<float> obs) const;
  template <int W>
  void observe_flood(int begin, int end, std::span<float> obs) const;
  float* write_escape(int row, float* to) const;
  template <int W>
  void observe_lookahead(int begin, int end, std::span<float> obs) const;

  std::int32_t action_for(int row, int direction) const;
  int first_safe(int row, std::array<int, 3> turns) const;
  int direct_heading(int row) const;
  int shortest_heading(int row) const;
  int cycle_heading(int row) const;

  SnakeRules rules_;
  EnvSpec spec_;
  SnakeGrid grid_;
  int count_;
  int ring_size_;  // a power of two, G * G or more
  int ring_mask_;
  std::array<int, 4> delta_;                          // offset to the next cell in each heading
  std::array<std::uint8_t, 16> turned_;               // [action, heading] -> heading
  std::array<std::array<float, 2>, 2> move_rewards_;  // [softly entrapped][closer]
  std::array<float, 2> food_rewards_;                 // [softly entrapped]
  std::array<std::uint64_t, 17> empty_{};             // the free cells of a board without a snake

  Arena arena_;
  std::span<std::uint64_t> free_;      // [ceil(N / 4), W, 4]
  std::span<std::uint16_t> ring_;      // [N, ring_size_]
  std::span<std::uint16_t> head_;      // [N] cells
  std::span<std::uint16_t> tail_;      // [N]
  std::span<std::uint16_t> food_;      // [N]
  std::span<std::uint16_t> head_at_;   // [N] index of the head in the ring
  std::span<std::uint16_t> length_;    // [N]
  std::span<std::uint16_t> score_;     // [N]
  std::span<std::int32_t> steps_;      // [N] in the episode so far
  std::span<std::uint8_t> direction_;  // [N]
  std::span<std::uint8_t>
      entrapped_;            // [N] softly entrapped after the turn; 0 without soft_entrapment
  std::span<SnakeEnd> end_;  // [N]
};

}  // namespace hotloop
