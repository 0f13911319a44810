#include "memory/staged_steps.hpp"

#include <algorithm>
#include <cassert>

namespace hotloop {

StagedSteps::StagedSteps(int steps, int lanes, int obs, int mask, int action_size)
    : capacity_(steps) {
  const auto n = static_cast<std::size_t>(lanes);
  actions_ = take<std::int32_t>(steps, action_size > 0 ? 0 : n);
  continuous_actions_ = take<float>(steps, n * action_size);
  rewards_ = take<float>(steps, n);
  terminated_ = take<std::uint8_t>(steps, n);
  truncated_ = take<std::uint8_t>(steps, n);
  next_obs_ = take<float>(steps, n * obs);
  final_obs_ = take<float>(steps, n * obs);
  next_mask_ = take<std::uint8_t>(steps, n * mask);
  final_mask_ = take<std::uint8_t>(steps, n * mask);
}

double StagedSteps::bytes_per_transition(int obs, int mask, int action_size) {
  const double action = action_size > 0 ? action_size * sizeof(float) : sizeof(std::int32_t);
  return action + (1 + 2.0 * obs) * sizeof(float) + 2 + 2.0 * mask;
}

template <class T>
void StagedSteps::Field<T>::set(int step, std::span<const T> values) const {
  assert(values.size() == width);
  std::copy_n(values.begin(), width, at(step).begin());
}

void StagedSteps::add(const Transitions& t) {
  assert(size_ < capacity_);
  actions_.set(size_, t.actions);
  continuous_actions_.set(size_, t.continuous_actions);
  rewards_.set(size_, t.rewards);
  terminated_.set(size_, t.terminated);
  truncated_.set(size_, t.truncated);
  next_obs_.set(size_, t.next_obs);
  next_mask_.set(size_, t.next_mask);
  const bool any_truncated =
      std::any_of(t.truncated.begin(), t.truncated.end(), [](auto x) { return x; });
  if (any_truncated) {  // they are read only then
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
          .final_mask = final_mask_.at(step),
          .continuous_actions = continuous_actions_.at(step)};
}

}  // namespace hotloop
