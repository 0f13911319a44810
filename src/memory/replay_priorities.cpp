// Prioritised replay: importance weights, and new priorities from errors.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/cpu/vec_maths.hpp"
#include "memory/replay.hpp"

namespace hotloop {
namespace {

// Pads the last vector, so that there is no scalar tail.
void pad(std::span<float> values, std::int64_t count, float padding) {
  const std::int64_t whole = (count + kVec - 1) / kVec * kVec;
  std::fill(values.begin() + count, values.begin() + whole, padding);
}

Vec smaller(Vec a, Vec b) { return b < a ? b : a; }
Vec larger(Vec a, Vec b) { return a < b ? b : a; }

float largest_lane(Vec lanes) {
  float largest = lanes[0];
  for (int i = 1; i < kVec; ++i) largest = std::max(largest, lanes[i]);
  return largest;
}

}  // namespace

// The largest weight of a batch belongs to its smallest priority, so the number of transitions and
// the sum of priorities cancel:
//   (size P_i)^-beta / max_j (size P_j)^-beta = (min_j p_j / p_i)^beta.
void Replay::compute_weights(double beta) {
  pad(priorities_, batch_size_, priorities_[0]);
  Vec smallest = broadcast(std::numeric_limits<float>::infinity());
  for (std::int64_t i = 0; i < batch_size_; i += kVec) {
    const Vec log = log2_of(load(&priorities_[i]));
    smallest = smaller(smallest, log);
    store(&batch_weights_[i], log);
  }
  const float smallest_log = -largest_lane(-smallest);
  for (std::int64_t i = 0; i < batch_size_; i += kVec) {
    const Vec difference = smallest_log - load(&batch_weights_[i]);
    store(&batch_weights_[i], exp2_of(static_cast<float>(beta) * difference));
  }
}

void Replay::set_priorities([[maybe_unused]] int index, std::span<const float> errors) {
  assert(shape_.prioritised && index == 0 && sampled_at_ == pushed_);
  assert(static_cast<int>(errors.size()) == batch_size_);
  constexpr float kInteger = 0x1p23f;  // floats from here on are integers
  const auto epsilon = static_cast<float>(shape_.priority_epsilon);
  const auto alpha = static_cast<float>(shape_.alpha);
  const Vec limit = broadcast(static_cast<float>(tree_.limit()));
  std::copy(errors.begin(), errors.end(), priorities_.begin());
  pad(priorities_, batch_size_, errors[0]);
  Vec largest = broadcast(largest_priority_);
  for (std::int64_t i = 0; i < batch_size_; i += kVec) {
    const Vec base = load(&priorities_[i]) + epsilon;
    const Vec exact = float{PriorityTree::kOne} * exp2_of(alpha * log2_of(base));
    const Vec units = exact < kInteger ? (exact + kInteger) - kInteger : exact;
    // At least one unit, so that every stored transition can be drawn; NaN becomes one unit.
    const Vec valid = base >= 0 ? smaller(units, limit) : Vec{};
    const Vec priority = valid >= 1 ? valid : broadcast(1);
    largest = larger(largest, priority);
    store(&priorities_[i], priority);
  }
  largest_priority_ = largest_lane(largest);
  tree_.set(places_.first(batch_size_), priorities_.first(batch_size_));
}

}  // namespace hotloop
