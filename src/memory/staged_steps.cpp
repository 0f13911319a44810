#include "memory/staged_steps.hpp"

#include <algorithm>
#include <cassert>

namespace hotloop {

StagedSteps::StagedSteps(int steps, int lanes, int obs, int mask) : most_(steps) {
  const auto n = static_cast<std::size_t>(lanes);
  actions_ = take<std::int32_t>(steps, n);
  rewards_ = take<float>(steps, n);
  terminated_ = take<std::uint8_t>(steps, n);
  truncated_ = take<std::uint8_t>(steps, n);
  next_obs_ = take<float>(steps, n * obs);
  final_obs_ = take<float>(steps, n * obs);
  next_mask_ = take<std::uint8_t>(steps, n * mask);
  final_mask_ = take<std::uint8_t>(steps, n * mask);
}

double StagedSteps::bytes_per_transition(int obs, int mask) {
  return sizeof(std::int32_t) + (1 + 2.0 * obs) * sizeof(float) + 2 + 2.0 * mask;
}

template <class T>
void StagedSteps::Field<T>::set(int step, std::span<const T> values) const {
  assert(values.size() == width);
  std::copy_n(values.begin(), width, at(step).begin());
}

void StagedSteps::add(const Transitions& t) {
  assert(size_ < most_);
  actions_.set(size_, t.actions);
  rewards_.set(size_, t.rewards);
  terminated_.set(size_, t.terminated);
  truncated_.set(size_, t.truncated);
  next_obs_.set(size_, t.next_obs);
  next_mask_.set(size_, t.next_mask);
  const bool is_cut = std::any_of(t.truncated.begin(), t.truncated.end(), [](auto x) { return x; });
  if (is_cut) {  // only then are they read
    final_obs_.set(size_, t.final_obs);
    final_mask_.set(size_, t.final_mask);
  }
  ++size_;
}

Transitions StagedSteps::operator[](int step) const {
  return {.actions = actions_.at(step),
          .rewards = rewards_.at(step),
          .terminated = terminated_.at(step),
          .truncated = truncated_.at(step),
          .next_obs = next_obs_.at(step),
          .next_mask = next_mask_.at(step),
          .final_obs = final_obs_.at(step),
          .final_mask = final_mask_.at(step)};
}

}  // namespace hotloop
