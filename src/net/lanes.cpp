#include "net/lanes.hpp"

#include <algorithm>

#include "core/cpu/vec.hpp"

namespace hotloop {
namespace {

// An 8 x 8 transpose in registers, in three rounds that exchange neighbours, pairs and halves.
// Only the first `columns` of its columns are stored.
template <class RowAt>
inline void transpose_8x8(RowAt&& row_at, int columns, float* to, int to_stride) {
  Vec a[8], b[8];
  for (int i = 0; i < 8; ++i) a[i] = load(row_at(i));
  for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = i; j < i + 2; ++j) {
      a[j] = __builtin_shufflevector(b[j], b[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      a[j + 2] = __builtin_shufflevector(b[j], b[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < columns; ++i) store(to + i * to_stride, b[i]);
}

// to[j][i] = from[i][j] for i < rows, j < columns.
inline void transpose(const float* from, int from_stride, int rows, int columns, float* to,
                      int to_stride) {
  for (int i = 0; i < rows; i += 8) {
    for (int j = 0; j < columns; j += 8) {
      const float* tile = from + i * from_stride + j;
      float* target = to + j * to_stride + i;
      const int height = std::min(8, rows - i);
      const int width = std::min(8, columns - j);
      // A narrow tile also reads parts of the next rows; these exist, except at the end.
      const bool readable = height == 8 && (width == 8 || i + 16 <= rows);
      if (readable) {
        transpose_8x8([&](int k) { return tile + k * from_stride; }, width, target, to_stride);
        continue;
      }
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) target[x * to_stride + y] = tile[y * from_stride + x];
      }
    }
  }
}

// Lanes from `count` up to the next multiple of kLaneStep become zero.
void zero_padding(int count, int features, float* lanes) {
  const int width = round_up(count, kLaneStep);
  if (width == count) return;
  for (int f = 0; f < features; ++f) {
    std::fill(lanes + f * kLanes + count, lanes + f * kLanes + width, 0.0f);
  }
}

}  // namespace

void rows_to_lanes(const float* rows, int stride, int count, int features, float* lanes) {
  transpose(rows, stride, count, features, lanes, kLanes);
  zero_padding(count, features, lanes);
}

void gather_to_lanes(const float* rows, const std::int32_t* places, int count, int features,
                     float* lanes) {
  const auto row_at = [&](int i) { return rows + static_cast<std::size_t>(places[i]) * features; };
  const int whole = features / 8 * 8;
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int f = 0; f < whole; f += 8) {
      transpose_8x8([&](int k) { return row_at(i + k) + f; }, 8, lanes + f * kLanes + i, kLanes);
    }
    for (int k = i; k < i + 8; ++k) {
      for (int f = whole; f < features; ++f) lanes[f * kLanes + k] = row_at(k)[f];
    }
  }
  for (; i < count; ++i) {
    for (int f = 0; f < features; ++f) lanes[f * kLanes + i] = row_at(i)[f];
  }
  zero_padding(count, features, lanes);
}

void lanes_to_rows(const float* lanes, int width, int features, float* rows, int stride) {
  transpose(lanes, kLanes, features, width, rows, stride);
}

}  // namespace hotloop
