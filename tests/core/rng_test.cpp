#include <Random123/philox.h>
#include <gtest/gtest.h>
#include <hotloop/rng.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace hotloop {
namespace {

// The three "philox4x32 10" lines of tests/kat_vectors in D. E. Shaw Research's Random123 release.
TEST(Philox, KnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  struct Line {
    Words counter;
    std::array<std::uint32_t, 2> key;
    Words answer;
  };
  const Line lines[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Line& line : lines) EXPECT_EQ(philox(line.counter, line.key), line.answer);
}

TEST(Philox, EqualsRandom123) {
  std::array<std::uint32_t, 4> counter{1, 2, 3, 4};
  std::array<std::uint32_t, 2> key{5, 6};
  for (int i = 0; i < 10'000; ++i) {
    const r123::Philox4x32::ctr_type expected =
        r123::Philox4x32{}({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
    counter = philox(counter, key);
    ASSERT_TRUE(std::equal(counter.begin(), counter.end(), expected.begin())) << i;
    key = {counter[1], counter[2]};
  }
}

// A stream made from another's state continues where that one is.
TEST(Rng, ContinuesFromItsState) {
  for (int draws = 0; draws < 11; ++draws) {
    Rng rng(~0ull, Purpose::noise, 0xfffffffe, 0x123456789abcdefull);
    for (int i = 0; i < draws; ++i) rng.bits();
    const RngState state = rng.state();
    EXPECT_EQ(state.draws, static_cast<std::uint32_t>(draws));
    EXPECT_EQ(state.purpose, Purpose::noise);
    Rng other(state);
    EXPECT_EQ(other.state(), state);
    for (int i = 0; i < 9; ++i) ASSERT_EQ(other.bits(), rng.bits()) << draws << ' ' << i;
  }
}

// Seed, purpose, lane and step of zero make the all-zero counter and key of the vectors above.
TEST(Rng, FirstBlockIsThePublishedOne) {
  Rng rng(0, Purpose::world, 0, 0);
  for (const std::uint32_t expected : {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}) {
    EXPECT_EQ(rng.bits(), expected);
  }
}

// 64-bit words drawn from streams that differ in one coordinate each must all be different: among
// 2000 of them, the probability of a collision is 1e-13.
TEST(Rng, StreamsDoNotCoincide) {
  std::vector<Rng> streams;
  const std::uint64_t numbers[] = {0, 1, 2, 255, 256, 1u << 24, 1ull << 32, 1ull << 63, ~0ull};
  for (const std::uint64_t number : numbers) {
    for (int purpose = 0; purpose <= 6; ++purpose) {
      streams.emplace_back(number, static_cast<Purpose>(purpose), 7, 9);
      streams.emplace_back(5, static_cast<Purpose>(purpose), 7, number);
      if (number <= 0xffffffff) {
        streams.emplace_back(5, static_cast<Purpose>(purpose),
                             static_cast<std::uint32_t>(number) + 100, 9);
      }
    }
  }
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (Rng& stream : streams) {
    for (int i = 0; i < 12; ++i, ++drawn) {
      const std::uint64_t high = stream.bits();
      seen.insert(high << 32 | stream.bits());
    }
  }
  EXPECT_GT(drawn, 1500u);
  EXPECT_EQ(seen.size(), drawn);
}

TEST(Rng, StreamIsAFunctionOfItsCoordinates) {
  Rng first(3, Purpose::replay, 4, 5);
  Rng second(3, Purpose::replay, 4, 5);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(first.bits(), second.bits()) << "draw " << i;
}

// Chi-square of the counts over n cells. The bound is mean + 6 standard deviations of the
// chi-square distribution (n - 1, sqrt(2(n - 1))); a biased modulo over 3 << 30 values would exceed
// it a thousandfold.
TEST(Rng, BelowIsUnbiased) {
  for (const std::uint32_t n : {2u, 3u, 7u, 10u, 100u}) {
    Rng rng(11, Purpose::test, n, 0);
    const int draws = 200'000;
    std::vector<int> count(n);
    for (int i = 0; i < draws; ++i) {
      const std::uint32_t value = rng.below(n);
      ASSERT_LT(value, n);
      ++count[value];
    }
    const double expected = static_cast<double>(draws) / n;
    double chi_square = 0;
    for (const int c : count) chi_square += (c - expected) * (c - expected) / expected;
    EXPECT_LT(chi_square, n - 1 + 6 * std::sqrt(2.0 * (n - 1))) << "n = " << n;
  }
}

// With n = 3 * 2^30 the plain multiply-and-shift would give every third value twice as often: the
// share of values divisible by 3 would be 1/2.
TEST(Rng, BelowRejectsTheUnevenRest) {
  const std::uint32_t n = 3u << 30;
  Rng rng(12, Purpose::test, 0, 0);
  const int draws = 100'000;
  int divisible = 0;
  for (int i = 0; i < draws; ++i) divisible += rng.below(n) % 3 == 0 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(divisible) / draws, 1.0 / 3, 0.01);
}

TEST(Rng, BelowOneIsZero) {
  Rng rng(13, Purpose::test, 0, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.below(1), 0u);
}

TEST(Rng, UniformLiesInItsIntervalEvenly) {
  Rng rng(14, Purpose::test, 0, 0);
  const int draws = 100'000;
  std::array<int, 16> count{};
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++count[static_cast<std::size_t>(u * 16)];
    sum += u;
    const double wide = rng.uniform(-2, 3);
    ASSERT_GE(wide, -2.0);
    ASSERT_LE(wide, 3.0);
  }
  EXPECT_NEAR(sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
  double chi_square = 0;
  const double expected = draws / 16.0;
  for (const int c : count) chi_square += (c - expected) * (c - expected) / expected;
  EXPECT_LT(chi_square, 15 + 6 * std::sqrt(30.0));
}

// Bounds of five standard errors: 1/sqrt(N) for the mean, sqrt(2/N) for the variance, and, for a
// shape that is normal and not just standardised, the share within one std (0.6827).
TEST(Rng, NormalHasMeanZeroAndVarianceOne) {
  Rng rng(15, Purpose::test, 0, 0);
  const int draws = 200'000;
  double sum = 0;
  double squares = 0;
  int within = 0;
  for (int i = 0; i < draws; ++i) {
    const double z = rng.normal();
    ASSERT_TRUE(std::isfinite(z));
    sum += z;
    squares += z * z;
    within += std::abs(z) < 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum / draws, 0.0, 5 / std::sqrt(draws));
  EXPECT_NEAR(squares / draws, 1.0, 5 * std::sqrt(2.0 / draws));
  EXPECT_NEAR(static_cast<double>(within) / draws, 0.6827, 5 * std::sqrt(0.25 / draws));
}

}  // namespace
}  // namespace hotloop
