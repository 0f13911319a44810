// The largest graph that is generated or read. Everything that could be larger is refused before
// memory is allocated for it or time spent on it.
//
// The limits are far above what can be trained: one update of a graph of 4 million edges takes
// about 20 ms at a batch of 32. The depth of a graph needs no limit of its own: it is below the
// number of neurons, and nothing recurses over a graph.
#pragma once

#include <cstddef>

namespace hotloop {

inline constexpr int kMaxNeurons = 100'000;  // inputs, hidden neurons and outputs
inline constexpr int kMaxEdges = 4'000'000;
inline constexpr std::size_t kMaxGraphFileBytes = std::size_t{64} << 20;

}  // namespace hotloop
