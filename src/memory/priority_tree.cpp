#include "memory/priority_tree.hpp"

#include <cassert>
#include <numeric>

#include "core/prefetch.hpp"

namespace hotloop {
namespace {

constexpr std::int64_t kGroup = 8;  // entries that share a sum
constexpr std::int64_t kTop = 64;   // entries of the highest level, at most

std::int64_t groups_of(std::int64_t entries) { return (entries + kGroup - 1) / kGroup; }

template <class T>
std::int64_t sum_of(const T* group) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < kGroup; ++i) sum += static_cast<std::int64_t>(group[i]);
  return sum;
}

// The search within a group counts the entries that end at or before the point. It is written with
// generic vectors, which any compiler can map to any CPU, because branches would be mispredicted and
// the scalar form without branches costs half as much again.
using Floats = float __attribute__((vector_size(16), may_alias));           // [4]
using Doubles = double __attribute__((vector_size(32), may_alias));         // [4]
using Integers = std::int64_t __attribute__((vector_size(32), may_alias));  // [4]

// Entry i becomes the sum of entries 0 to i.
template <class Four>
Four running_sums(Four x) {
  const Four zero{};
  const Four pairs = x + __builtin_shufflevector(x, zero, 4, 0, 1, 2);
  return pairs + __builtin_shufflevector(pairs, zero, 4, 4, 0, 1);
}

template <class Four>
struct Ends {
  Four first, second;

  Ends(Four x, Four y) : first(running_sums(x)), second(running_sums(y)) {
    second += __builtin_shufflevector(first, first, 3, 3, 3, 3);
  }
  template <class T>
  std::int64_t count_up_to(T point) const {
    const Integers both = (first <= point) + (second <= point);  // -1 for each that is
    return -(both[0] + both[1] + both[2] + both[3]);
  }
};

// Moves from a group into one of its entries, and the point to where it lies in that entry.
inline std::int64_t enter(const std::int64_t* group, std::int64_t& point) {
  const auto* own = reinterpret_cast<const Integers*>(group);
  const Ends<Integers> ends(own[0], own[1]);
  const std::int64_t entry = ends.count_up_to(point);
  const Integers starts[3] = {{}, ends.first, ends.second};
  point -= reinterpret_cast<const std::int64_t*>(starts)[3 + entry];
  return entry;
}

// The same among leaves. They are integers below 2^49, so that doubles hold their sums exactly.
inline std::int64_t enter(const float* group, std::int64_t point) {
  const auto* own = reinterpret_cast<const Floats*>(group);
  const Ends<Doubles> ends(__builtin_convertvector(own[0], Doubles),
                           __builtin_convertvector(own[1], Doubles));
  return ends.count_up_to(static_cast<double>(point));
}

}  // namespace

PriorityTree::PriorityTree(Arena& arena, std::int64_t leaves) {
  assert(leaves > 0);
  leaves_ = arena.take<float>(groups_of(leaves) * kGroup).first(leaves);
  std::int64_t entries = leaves;
  do {
    entries = groups_of(entries);
    sums_.push_back(arena.take<std::int64_t>(groups_of(entries) * kGroup).first(entries));
  } while (entries > kTop);
}

std::size_t PriorityTree::bytes_needed(std::int64_t leaves) {
  // The arena hands out whole cache lines.
  constexpr std::size_t kGroupBytes = kGroup * sizeof(float);
  std::size_t bytes = (groups_of(leaves) * kGroupBytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  std::int64_t entries = leaves;
  do {
    entries = groups_of(entries);
    bytes += groups_of(entries) * kGroup * sizeof(std::int64_t);
  } while (entries > kTop);
  return bytes;
}

std::int64_t PriorityTree::total() const {
  return std::accumulate(sums_.back().begin(), sums_.back().end(), std::int64_t{0});
}

// The sums above the leaves from `first` to `last`, level by level.
void PriorityTree::sum_up(std::int64_t first, std::int64_t last) {
  for (std::size_t level = 0; level < sums_.size(); ++level) {
    first /= kGroup;
    last /= kGroup;
    for (std::int64_t i = first; i <= last; ++i) {
      sums_[level][i] = level == 0 ? sum_of(leaves_.data() + i * kGroup)
                                   : sum_of(sums_[level - 1].data() + i * kGroup);
    }
  }
}

void PriorityTree::rebuild() { sum_up(0, std::ssize(leaves_) - 1); }

void PriorityTree::fill(std::int64_t first, std::int64_t count, float priority) {
  if (count == 0) return;
  std::fill_n(leaves_.begin() + first, count, priority);
  sum_up(first, first + count - 1);
}

void PriorityTree::set(std::span<const std::int64_t> leaves, std::span<const float> priorities) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    auto entry = static_cast<std::uint64_t>(leaves[i]);
    const std::int64_t difference =
        static_cast<std::int64_t>(priorities[i]) - static_cast<std::int64_t>(leaves_[entry]);
    leaves_[entry] = priorities[i];
    for (const std::span<std::int64_t> level : sums_) level[entry /= kGroup] += difference;
  }
}

void PriorityTree::draw(std::span<const std::uint64_t> random, std::span<std::int64_t> leaves,
                        std::span<float> priorities) const {
  __extension__ using Wide = unsigned __int128;
  constexpr std::int64_t kBlock = 64;  // draws that descend together
  const std::int64_t count = std::ssize(random), all = total();
  if (count == 0) return;
  assert(all > 0);
  const std::int64_t quotient = all / count, remainder = all % count;
  std::int64_t low = 0, rest = 0;  // total * k / B, and the remainder of that division
  std::int64_t points[kBlock];     // within the entry that a draw has reached
  const std::span<const std::int64_t> top = sums_.back();
  std::int64_t entry = 0, start = 0;  // on the highest level
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t size = std::min(kBlock, count - first);
    for (std::int64_t i = 0; i < size; ++i) {
      rest += remainder;
      const bool carry = rest >= count;
      rest -= carry ? count : 0;
      const std::int64_t width = quotient + carry;
      const Wide scaled = Wide{random[first + i]} * static_cast<std::uint64_t>(width);
      const std::int64_t point = low + static_cast<std::int64_t>(scaled >> 64);
      low += width;
      for (; point - start >= top[entry]; ++entry) start += top[entry];
      points[i] = point - start;
      leaves[first + i] = entry;
    }
    descend({points, static_cast<std::size_t>(size)}, leaves.subspan(first, size));
    for (std::int64_t i = first; i < first + size; ++i) priorities[i] = leaves_[leaves[i]];
  }
}

// From entries of the highest level to leaves.
void PriorityTree::descend(std::span<std::int64_t> points, std::span<std::int64_t> entries) const {
  std::int64_t* __restrict point = points.data();
  std::int64_t* __restrict entry = entries.data();
  const std::size_t count = points.size();
  const float* const leaves = leaves_.data();
  for (std::size_t level = sums_.size() - 1; level > 0; --level) {
    const std::int64_t* const sums = sums_[level - 1].data();
    const std::int64_t* const below = level > 1 ? sums_[level - 2].data() : nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t first = entry[i] * kGroup;
      entry[i] = first + enter(sums + first, point[i]);
      const std::int64_t next = entry[i] * kGroup;
      below != nullptr ? prefetch_l2(below + next) : prefetch_l2(leaves + next);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t first = entry[i] * kGroup;
    entry[i] = first + enter(leaves + first, point[i]);
  }
}

}  // namespace hotloop
