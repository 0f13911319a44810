// Counter-based random streams: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3", 2011) from Random123.
//
// A stream is a pure function of (seed, purpose, lane, step). Nothing about it needs saving:
// whoever knows the four numbers knows every draw. That is what makes a run independent of the
// number of threads, of logging and evaluation, and of how often it was stopped and resumed.
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace hotloop {

// What a stream is for. Streams of different purposes never share a draw. Append only: the numbers
// are part of what a seed means.
enum class Purpose : std::uint8_t {
  world = 0,             // dynamics and resets of training environments
  exploration = 1,       // epsilon draws and random actions
  replay = 2,            // which transitions a batch holds
  initialisation = 3,    // network parameters
  evaluation_world = 4,  // dynamics and resets of evaluation environments
  test = 5,              // tests and benchmarks
  noise = 6,             // noisy network parameters
};

class Rng {
 public:
  Rng(std::uint64_t seed, Purpose purpose, std::uint32_t lane, std::uint64_t step)
      : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}},
        counter_{{static_cast<std::uint32_t>(purpose) << 24, lane, static_cast<std::uint32_t>(step),
                  static_cast<std::uint32_t>(step >> 32)}} {}

  // 32 uniform bits. A block of four is computed when the first of them is asked for, so an
  // unused stream costs nothing. 2^26 draws fit in one stream.
  std::uint32_t bits() {
    if (next_ == 4) {
      block_ = r123::Philox4x32{}(counter_, key_);
      ++counter_[0];
      next_ = 0;
    }
    return block_[next_++];
  }

  // A whole block, the same four words that as many calls of bits() give; what was left of the
  // block before is skipped.
  std::array<std::uint32_t, 4> block() {
    const auto words = r123::Philox4x32{}(counter_, key_);
    ++counter_[0];
    next_ = 4;
    return {words[0], words[1], words[2], words[3]};
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

  // Standard normal (Box-Muller; one of the pair is used, so a draw depends on nothing before it).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  r123::Philox4x32::key_type key_;
  r123::Philox4x32::ctr_type counter_;
  r123::Philox4x32::ctr_type block_{};
  int next_ = 4;
};

}  // namespace hotloop
