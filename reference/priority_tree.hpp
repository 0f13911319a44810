// The slow twin of src/memory/priority_tree: a list of leaves, searched from the start for each
// draw. Tests and benchmarks only.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace hotloop::reference {

struct PriorityTree {
  std::vector<std::int64_t> leaves;

  std::int64_t total() const {
    return std::accumulate(leaves.begin(), leaves.end(), std::int64_t{0});
  }

  // The leaf of draw k of `count`: u / 2^64 of the way through [total * k / count, total * (k + 1)
  // / count), bounds rounded down.
  std::size_t draw(std::uint64_t u, std::int64_t k, std::int64_t count) const {
    __extension__ using Wide = unsigned __int128;
    const Wide low = Wide(total()) * k / count, high = Wide(total()) * (k + 1) / count;
    const Wide point = low + (Wide(u) * (high - low) >> 64);
    std::size_t leaf = 0;
    for (Wide sum = leaves[0]; sum <= point; sum += leaves[leaf]) ++leaf;
    return leaf;
  }
};

}  // namespace hotloop::reference
