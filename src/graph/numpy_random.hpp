// The random stream of NumPy's np.random.seed(seed) and np.random.*: graphs and initial weights
// that were drawn with NumPy are reproduced bit for bit.
//
// The generator is the Mersenne Twister MT19937 (Matsumoto and Nishimura 1998), which std::mt19937
// seeds in the same way. All other streams in hotloop are hotloop::Rng.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

namespace hotloop {

class NumpyRandom {
 public:
  static constexpr std::uint64_t kMaxSeed = 0xffffffff;  // NumPy's limit

  explicit NumpyRandom(std::uint64_t seed) : engine_(static_cast<std::uint32_t>(seed)) {}

  // In [0, 1): the upper 27 bits of one word above the upper 26 of the next, as a fraction of 2^53.
  double uniform() {
    const std::uint32_t high = word() >> 5;
    const std::uint32_t low = word() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  // In [low, high). Words are masked to the number of bits of high - 1 - low. Larger results are
  // rejected. A range of one number consumes no word; one of more than 2^32 numbers takes two words
  // per attempt, the first one as the upper half.
  int below(int low, int high) {
    return static_cast<int>(below(std::int64_t{low}, std::int64_t{high}));
  }
  std::int64_t below(std::int64_t low, std::int64_t high) {
    const auto range = static_cast<std::uint64_t>(high - 1 - low);
    if (range == 0) return low;
    const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(range);
    const auto attempt = [&] {
      std::uint64_t bits = word();
      if (range > 0xffffffff) bits = bits << 32 | word();
      return bits & mask;
    };
    std::uint64_t draw = attempt();
    while (draw > range) draw = attempt();
    return low + static_cast<std::int64_t>(draw);
  }

  // Mean 0, variance 1, by Marsaglia's polar method: draws two numbers and keeps the second for the
  // next call.
  double normal() {
    if (std::exchange(has_kept_, false)) return kept_;
    double x = 0, y = 0, s = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      s = x * x + y * y;
    } while (s >= 1 || s == 0);
    const double scale = std::sqrt(-2 * std::log(s) / s);
    kept_ = scale * x;
    has_kept_ = true;
    return scale * y;
  }

 private:
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }

  std::mt19937 engine_;
  double kept_ = 0;
  bool has_kept_ = false;
};

}  // namespace hotloop
