// Many 64-bit numbers from one random stream.
//
// Each word has one 32-bit draw as its high half and a neighbour's draw as its low half: every bit
// is random, and every draw is computed once. Words are independent except for their low halves,
// which move a point by less than 2^-32 of its stratum.
#pragma once

#include <cstdint>
#include <span>

#include <hotloop/rng.hpp>

namespace hotloop {

// Four words per block of four draws: (0, 1), (1, 2), (2, 3), (3, 0).
inline void random_words(Rng rng, std::span<std::uint64_t> words) {
  for (std::size_t i = 0; i < words.size(); i += 4) {
    const std::array<std::uint32_t, 4> block = rng.block();
    for (std::size_t k = 0; k < 4 && i + k < words.size(); ++k)
      words[i + k] = std::uint64_t{block[k]} << 32 | block[(k + 1) % 4];
  }
}

}  // namespace hotloop
