#include "core/limits.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hotloop {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
std::optional<std::size_t> outside(const Limits& limits, std::vector<T> values) {
  return limits.first_outside(std::span<const T>(values));
}

TEST(Limits, EachKindAcceptsItsBoundsAndNothingBeyond) {
  EXPECT_EQ(outside<double>(Limits::finite(), {0, -1e308, 1e308}), std::nullopt);
  EXPECT_EQ(outside<double>(Limits::finite(), {0, kInfinity}), 1u);
  EXPECT_EQ(outside<double>(Limits::finite(), {kNan, 0}), 0u);
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(outside<float>(Limits::finite(), {largest, -largest}), std::nullopt);
  EXPECT_EQ(outside<float>(Limits::finite(), {1, 2, -static_cast<float>(kInfinity)}), 2u);
  EXPECT_EQ(outside<float>(Limits::finite(), {1, static_cast<float>(kNan)}), 1u);
  EXPECT_EQ(outside<float>(Limits::at_least(0), {0, -0.0f, largest}), std::nullopt);
  EXPECT_EQ(outside<float>(Limits::at_least(0), {0, -1e-40f}), 1u);
  EXPECT_EQ(outside<float>(Limits::at_least(0), {static_cast<float>(kInfinity)}), 0u);
  EXPECT_EQ(outside<double>(Limits::between(0, 1), {0, 1, 0.5}), std::nullopt);
  EXPECT_EQ(outside<double>(Limits::between(0, 1), {0, 1.0000001}), 1u);
  EXPECT_EQ(outside<double>(Limits::any(), {kNan, kInfinity, -kInfinity}), std::nullopt);
  EXPECT_EQ(outside<float>(Limits::any(), {static_cast<float>(-kInfinity)}), std::nullopt);
}

TEST(Limits, IntegersAreCheckedInEveryType) {
  EXPECT_EQ(outside<float>(Limits::integers(0, 3), {0, 1, 3}), std::nullopt);
  EXPECT_EQ(outside<float>(Limits::integers(0, 3), {0, 1.5f}), 1u);
  EXPECT_EQ(outside<std::uint8_t>(Limits::flags(), {0, 1, 1}), std::nullopt);
  EXPECT_EQ(outside<std::uint8_t>(Limits::flags(), {0, 255}), 1u);
  EXPECT_EQ(outside<std::int32_t>(Limits::index_below(3), {0, 2}), std::nullopt);
  EXPECT_EQ(outside<std::int32_t>(Limits::index_below(3), {0, 3}), 1u);
  EXPECT_EQ(outside<std::int32_t>(Limits::index_below(3), {-1}), 0u);
  EXPECT_EQ(outside<std::int64_t>(Limits::count(), {0, kMaxCount}), std::nullopt);
  EXPECT_EQ(outside<std::int64_t>(Limits::count(), {kMaxCount + 1}), 0u);
  EXPECT_EQ(outside<std::int64_t>(Limits::count(), {INT64_MAX}), 0u);
  EXPECT_EQ(outside<std::int64_t>(Limits::count(), {INT64_MIN}), 0u);
  EXPECT_EQ(outside<std::int64_t>(Limits::finite(), {INT64_MIN, INT64_MAX}), std::nullopt);
  EXPECT_EQ(outside<std::uint64_t>(Limits::any(), {0, UINT64_MAX}), std::nullopt);
}

TEST(Limits, SayWhatIsAllowed) {
  EXPECT_EQ(Limits::finite().text(), "finite numbers");
  EXPECT_EQ(Limits::at_least(0).text(), "finite numbers of at least 0");
  EXPECT_EQ(Limits::between(0, 1).text(), "numbers from 0 to 1");
  EXPECT_EQ(Limits::count().text(), "integers from 0 to 9007199254740992");
}

}  // namespace
}  // namespace hotloop
