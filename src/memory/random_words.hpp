// Many numbers of one random stream at once: Philox blocks side by side in vector registers.
#pragma once

#include <cstdint>
#include <span>

#include <hotloop/rng.hpp>

namespace hotloop {

// words[i] = the 32-bit draws 2i (high half) and 2i + 1 (low half) of Rng(seed, purpose, lane, step).
void random_words(std::uint64_t seed, Purpose purpose, std::uint32_t lane, std::uint64_t step,
                  std::span<std::uint64_t> words);

}  // namespace hotloop
