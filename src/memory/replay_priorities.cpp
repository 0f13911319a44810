// Replay by priority: drawing with importance weights, and new priorities from errors.
#include <Eigen/Core>
#include <algorithm>
#include <cassert>

#include "memory/random_words.hpp"
#include "memory/replay.hpp"

namespace hotloop {
namespace {

// x <- scale * x^exponent. The array has room for whole vectors of 16: there is no scalar tail.
void power(float* x, std::int64_t count, double exponent, double scale) {
  constexpr std::int64_t kVector = 16;
  const std::int64_t vectors = (count + kVector - 1) / kVector;
  std::fill(x + count, x + vectors * kVector, 1.0f);
  using Vectors = Eigen::Map<Eigen::Array<float, kVector, Eigen::Dynamic>, Eigen::Aligned64>;
  Vectors v(x, kVector, vectors);
  v = static_cast<float>(scale) * (static_cast<float>(exponent) * v.log()).exp();
}

}  // namespace

// Fills the first `drawn` places; the others stand already.
//
// The largest weight of a batch belongs to its smallest priority, so that the number of transitions
// and the sum of priorities cancel: (size P_i)^-beta / max_j (size P_j)^-beta = (min_j p_j / p_i)^beta.
void Replay::draw_by_priority(std::uint64_t seed, std::uint64_t stream, std::int64_t drawn,
                              double beta) {
  const std::int64_t size = batch_size_;
  random_words(seed, Purpose::replay, 0, stream, random_.first(drawn));
  tree_.draw(random_.first(drawn), places_.first(drawn), priorities_.first(drawn));
  for (std::int64_t i = drawn; i < size; ++i) priorities_[i] = tree_[places_[i]];

  std::int64_t least = priorities_[0];
  for (std::int64_t i = 0; i < size; ++i) {
    prefetch(places_[i]);
    least = std::min(least, priorities_[i]);
  }
  for (std::int64_t i = 0; i < size; ++i)
    batch_weights_[i] = static_cast<float>(least) / static_cast<float>(priorities_[i]);
  power(batch_weights_.data(), size, beta, 1);
}

void Replay::set_priorities([[maybe_unused]] int index, std::span<const float> errors) {
  assert(shape_.prioritised && index == 0 && sampled_at_ == pushed_);
  assert(static_cast<int>(errors.size()) == batch_size_);
  const std::int64_t size = batch_size_;
  const auto epsilon = static_cast<float>(shape_.priority_epsilon);
  for (std::int64_t i = 0; i < size; ++i) powered_[i] = errors[i] + epsilon;
  power(powered_.data(), size, shape_.alpha, PriorityTree::kOne);

  const std::int64_t limit = tree_.limit();
  constexpr float kLargest = 0x1p62f;
  for (std::int64_t i = 0; i < size; ++i) {
    // At least one unit, so that every stored transition can be drawn; NaN counts as that.
    const float units = powered_[i] >= 1 ? std::min(powered_[i], kLargest) : 1.0f;
    priorities_[i] = std::min(static_cast<std::int64_t>(units), limit);
    largest_priority_ = std::max(largest_priority_, priorities_[i]);
  }
  tree_.set(places_.first(size), priorities_.first(size));
}

}  // namespace hotloop
