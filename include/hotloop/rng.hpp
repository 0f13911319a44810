// Counter-based random streams: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3", 2011). Not included from Random123, because that header takes a second to compile in
// every world; the tests compare the two.
//
// A stream is a pure function of (seed, purpose, lane, step). It has no state to save: the four
// numbers determine every draw. So a run does not depend on the number of threads, on logging and
// evaluation, or on how often it was stopped and resumed.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace hotloop {

// What a stream is for. Streams of different purposes never share a draw. Append only: changing a
// number changes the results of every seed.
enum class Purpose : std::uint8_t {
  world = 0,             // dynamics and resets of training environments
  exploration = 1,       // epsilon draws and random actions
  replay = 2,            // which transitions a batch holds
  initialisation = 3,    // network parameters
  evaluation_world = 4,  // dynamics and resets of evaluation environments
  test = 5,              // tests and benchmarks
  noise = 6,             // noisy network parameters
  policy = 7,            // actions sampled while learning
  dropout = 8,           // features that training passes drop
};

// Philox 4x32 in ten rounds: four words that look random, a pure function of counter and key.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

// The position in a stream, as plain numbers.
struct RngState {
  std::uint64_t seed = 0;
  Purpose purpose = Purpose::world;
  std::uint32_t lane = 0;
  std::uint64_t step = 0;
  std::uint32_t draws = 0;  // 32-bit words drawn or skipped

  bool operator==(const RngState&) const = default;
};

class Rng {
 public:
  Rng(std::uint64_t seed, Purpose purpose, std::uint32_t lane, std::uint64_t step)
      : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}},
        counter_{{static_cast<std::uint32_t>(purpose) << 24, lane, static_cast<std::uint32_t>(step),
                  static_cast<std::uint32_t>(step >> 32)}} {}

  // Continues the stream at that position, also in another process, library or language.
  explicit Rng(const RngState& state) : Rng(state.seed, state.purpose, state.lane, state.step) {
    counter_[0] += state.draws / 4;
    for (std::uint32_t i = 0; i < state.draws % 4; ++i) bits();
  }
  RngState state() const {
    constexpr std::uint32_t kBlocks = (1u << 24) - 1;
    return {.seed = std::uint64_t{key_[1]} << 32 | key_[0],
            .purpose = static_cast<Purpose>(counter_[0] >> 24),
            .lane = counter_[1],
            .step = std::uint64_t{counter_[3]} << 32 | counter_[2],
            .draws = (counter_[0] & kBlocks) * 4 - static_cast<std::uint32_t>(4 - next_)};
  }

  // 32 uniform bits. A block of four is computed when the first of them is drawn, so an
  // unused stream costs nothing. 2^26 draws fit in one stream.
  std::uint32_t bits() {
    if (next_ == 4) {
      block_ = philox(counter_, key_);
      ++counter_[0];
      next_ = 0;
    }
    return block_[next_++];
  }

  // A whole block: the same four words as four calls of bits(). The rest of the current block is
  // skipped.
  std::array<std::uint32_t, 4> block() {
    const auto words = philox(counter_, key_);
    ++counter_[0];
    next_ = 4;
    return words;
  }

  // Uniform integer in [0, n), unbiased (Lemire 2019). n must be positive.
  std::uint32_t below(std::uint32_t n) {
    std::uint64_t product = std::uint64_t{bits()} * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t threshold = (0u - n) % n;
      while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{bits()} * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  // Uniform double in [0, 1) with 53 random bits.
  double uniform() {
    const std::uint64_t high = bits() >> 5;
    const std::uint64_t low = bits() >> 6;
    return static_cast<double>(high << 26 | low) * 0x1p-53;
  }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  // Standard normal (Box-Muller; only one of the pair is used, so draws keep no state).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int next_ = 4;
};

}  // namespace hotloop
