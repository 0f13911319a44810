// Replay by priority: drawing with importance weights, and new priorities from errors.
#include <Eigen/Core>
#include <algorithm>
#include <cassert>

#include "memory/random_words.hpp"
#include "memory/replay.hpp"

namespace hotloop {
namespace {

// An array seen as whole vectors, so that there is no scalar tail; the caller fills the padding.
constexpr std::int64_t kVector = 16;
using Vectors = Eigen::Map<Eigen::Array<float, kVector, Eigen::Dynamic>, Eigen::Aligned64>;

Vectors padded(std::span<float> values, std::int64_t count, float padding) {
  const std::int64_t vectors = (count + kVector - 1) / kVector;
  std::fill(values.begin() + count, values.begin() + vectors * kVector, padding);
  return {values.data(), kVector, vectors};
}

}  // namespace

// Fills the first `drawn` places; the others stand already.
void Replay::draw_by_priority(std::uint64_t seed, std::uint64_t stream, std::int64_t drawn) {
  random_words(seed, Purpose::replay, 0, stream, random_.first(drawn));
  tree_.draw(random_.first(drawn), places_.first(drawn), priorities_.first(drawn));
  for (std::int64_t i = drawn; i < batch_size_; ++i) priorities_[i] = tree_[places_[i]];
}

// The largest weight of a batch belongs to its smallest priority, so that the number of transitions
// and the sum of priorities cancel: (size P_i)^-beta / max_j (size P_j)^-beta = (min_j p_j / p_i)^beta.
void Replay::weigh(double beta) {
  for (std::int64_t i = 0; i < batch_size_; ++i)
    batch_weights_[i] = static_cast<float>(priorities_[i]);
  Vectors weights = padded(batch_weights_, batch_size_, batch_weights_[0]);
  const float least = weights.minCoeff();
  weights = (static_cast<float>(beta) * (least / weights).log()).exp();
}

void Replay::set_priorities([[maybe_unused]] int index, std::span<const float> errors) {
  assert(shape_.prioritised && index == 0 && sampled_at_ == pushed_);
  assert(static_cast<int>(errors.size()) == batch_size_);
  const std::int64_t size = batch_size_;
  const auto epsilon = static_cast<float>(shape_.priority_epsilon);
  for (std::int64_t i = 0; i < size; ++i) powered_[i] = errors[i] + epsilon;
  Vectors powered = padded(powered_, size, 1);
  powered = float{PriorityTree::kOne} * (static_cast<float>(shape_.alpha) * powered.log()).exp();

  const std::int64_t limit = tree_.limit();
  constexpr float kLargest = 0x1p62f;
  std::int64_t largest = largest_priority_;
  for (std::int64_t i = 0; i < size; ++i) {
    // At least one unit, so that every stored transition can be drawn; NaN counts as that.
    const float units = powered_[i] >= 1 ? std::min(powered_[i], kLargest) : 1.0f;
    priorities_[i] = std::min(static_cast<std::int64_t>(units), limit);
    largest = std::max(largest, priorities_[i]);
  }
  largest_priority_ = largest;
  tree_.set(places_.first(size), priorities_.first(size));
}

}  // namespace hotloop
