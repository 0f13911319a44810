// Replay by priority: importance weights, and new priorities from errors.
#include <Eigen/Core>
#include <algorithm>
#include <cassert>

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

// The largest weight of a batch belongs to its smallest priority, so that the number of transitions
// and the sum of priorities cancel: (size P_i)^-beta / max_j (size P_j)^-beta = (min_j p_j / p_i)^beta.
void Replay::weigh(double beta) {
  const Vectors priorities = padded(priorities_, batch_size_, priorities_[0]);
  const float least = priorities.minCoeff();
  padded(batch_weights_, batch_size_, 1) =
      (static_cast<float>(beta) * (least / priorities).log()).exp();
}

void Replay::set_priorities([[maybe_unused]] int index, std::span<const float> errors) {
  assert(shape_.prioritised && index == 0 && sampled_at_ == pushed_ && !drawn_ahead_);
  assert(static_cast<int>(errors.size()) == batch_size_);
  const std::int64_t size = batch_size_;
  const auto epsilon = static_cast<float>(shape_.priority_epsilon);
  for (std::int64_t i = 0; i < size; ++i) priorities_[i] = errors[i] + epsilon;
  Vectors priorities = padded(priorities_, size, 1);
  priorities =
      (float{PriorityTree::kOne} * (static_cast<float>(shape_.alpha) * priorities.log()).exp())
          .floor();

  // At least one unit, so that every stored transition can be drawn; NaN counts as that.
  const auto limit = static_cast<float>(tree_.limit());
  priorities = (priorities >= 1).select(priorities.min(limit), 1.0f);
  largest_priority_ = std::max(largest_priority_, priorities.maxCoeff());
  tree_.set(places_.first(size), priorities_.first(size));
}

}  // namespace hotloop
