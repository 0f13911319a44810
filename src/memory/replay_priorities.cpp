// Replay by priority: importance weights, and new priorities from errors.
#include <algorithm>
#include <cassert>
#include <limits>

#include "core/vec_maths.hpp"
#include "memory/replay.hpp"

namespace hotloop {
namespace {

// Fills up the last vector, so that there is no scalar tail.
void pad(std::span<float> values, std::int64_t count, float padding) {
  const std::int64_t whole = (count + kWideVec - 1) / kWideVec * kWideVec;
  std::fill(values.begin() + count, values.begin() + whole, padding);
}

template <class V>
V least_of(V a, V b) {
  return b < a ? b : a;
}
template <class V>
V most_of(V a, V b) {
  return a < b ? b : a;
}

// To the nearest number that has none of these lowest bits.
WideVec rounded(WideVec positive, std::uint32_t bits) {
  using Bits = decltype(positive < positive);
  const auto lowest = static_cast<std::int32_t>(bits);
  return reinterpret_cast<WideVec>((reinterpret_cast<Bits>(positive) + (lowest >> 1)) & ~lowest);
}

// The largest of the lanes.
float most_in(WideVec lanes) {
  float each[kWideVec];
  store_wide(each, lanes);
  Vec eight = load(each);
  for (int i = kVec; i < kWideVec; i += kVec) eight = most_of(eight, load(each + i));
  const Four four = most_of(__builtin_shufflevector(eight, eight, 0, 1, 2, 3),
                            __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
  const Four two = most_of(four, __builtin_shufflevector(four, four, 2, 3, 0, 1));
  return std::max(two[0], two[1]);
}

}  // namespace

// The largest weight of a batch belongs to its smallest priority, so that the number of transitions
// and the sum of priorities cancel: (size P_i)^-beta / max_j (size P_j)^-beta = (min_j p_j / p_i)^beta.
void Replay::weigh(double beta) {
  pad(priorities_, batch_size_, priorities_[0]);
  WideVec least = WideVec{} + std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < batch_size_; i += kWideVec) {
    const WideVec log = log2_of(load_wide(&priorities_[i]));
    least = least_of(least, log);
    store_wide(&batch_weights_[i], log);
  }
  const float least_log = -most_in(-least);
  for (std::int64_t i = 0; i < batch_size_; i += kWideVec) {
    const WideVec difference = least_log - load_wide(&batch_weights_[i]);
    store_wide(&batch_weights_[i], exp2_of(static_cast<float>(beta) * difference));
  }
}

void Replay::set_priorities([[maybe_unused]] int index, std::span<const float> errors) {
  assert(shape_.prioritised && index == 0 && sampled_at_ == pushed_);
  assert(static_cast<int>(errors.size()) == batch_size_);
  constexpr float kWhole = 0x1p23f;  // floats from here on have no fraction
  const auto epsilon = static_cast<float>(shape_.priority_epsilon);
  const auto alpha = static_cast<float>(shape_.alpha);
  const WideVec limit = WideVec{} + static_cast<float>(tree_.limit());
  std::copy(errors.begin(), errors.end(), priorities_.begin());
  pad(priorities_, batch_size_, errors[0]);
  WideVec most = WideVec{} + largest_priority_;
  for (std::int64_t i = 0; i < batch_size_; i += kWideVec) {
    const WideVec base = load_wide(&priorities_[i]) + epsilon;
    const WideVec exact = float{PriorityTree::kOne} * exp2_of(alpha * log2_of(base));
    const WideVec units = exact < kWhole ? (exact + kWhole) - kWhole : exact;
    // At least one unit, so that every stored transition can be drawn; NaN counts as that.
    const WideVec valid = base >= 0 ? least_of(units, limit) : WideVec{};
    const WideVec priority = rounded(valid >= 1 ? valid : WideVec{} + 1, action_and_end_);
    most = most_of(most, priority);
    store_wide(&priorities_[i], priority);
  }
  largest_priority_ = most_in(most);
  tree_.set(places_.first(batch_size_), priorities_.first(batch_size_));
}

}  // namespace hotloop
