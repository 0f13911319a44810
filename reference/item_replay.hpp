// The slow twin of src/memory/replay, as in programs without vector steps: one push per transition,
// s and s' both stored, each field copied separately. Batches are drawn uniformly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <hotloop/rng.hpp>

#include "memory/transitions.hpp"

namespace hotloop::reference {

class ItemReplay {
 public:
  ItemReplay(std::int64_t capacity, int obs, int batch, float gamma)
      : capacity_(capacity), width_(obs), batch_size_(batch), gamma_(gamma) {
    for (auto* rows : {&obs_, &next_obs_}) rows->resize(capacity * obs);
    for (auto* rows : {&batch_obs_, &batch_next_obs_}) rows->resize(std::size_t{1} * batch * obs);
    for (auto* values : {&rewards_, &ends_}) values->resize(capacity);
    for (auto* values : {&batch_rewards_, &batch_discounts_}) values->resize(batch);
    actions_.resize(capacity);
    batch_actions_.resize(batch);
  }

  void push(const float* obs, std::int32_t action, float reward, const float* next_obs, bool end) {
    const std::int64_t at = pushed_++ % capacity_;
    std::copy_n(obs, width_, &obs_[at * width_]);
    std::copy_n(next_obs, width_, &next_obs_[at * width_]);
    actions_[at] = action;
    rewards_[at] = reward;
    ends_[at] = end ? 1.0f : 0.0f;
  }

  Batch sample(Rng rng) {
    const auto size = static_cast<std::uint32_t>(std::min(pushed_, capacity_));
    for (int i = 0; i < batch_size_; ++i) {
      const std::int64_t at = rng.below(size);
      std::copy_n(&obs_[at * width_], width_, &batch_obs_[i * width_]);
      std::copy_n(&next_obs_[at * width_], width_, &batch_next_obs_[i * width_]);
      batch_actions_[i] = actions_[at];
      batch_rewards_[i] = rewards_[at];
      batch_discounts_[i] = gamma_ * (1 - ends_[at]);
    }
    return {.size = batch_size_,
            .obs = batch_obs_.data(),
            .next_obs = batch_next_obs_.data(),
            .actions = batch_actions_.data(),
            .rewards = batch_rewards_.data(),
            .discounts = batch_discounts_.data()};
  }

 private:
  std::int64_t capacity_;
  int width_;
  int batch_size_;
  float gamma_;
  std::int64_t pushed_ = 0;
  std::vector<float> obs_, next_obs_, rewards_, ends_;  // [capacity, ...]
  std::vector<std::int32_t> actions_;
  std::vector<float> batch_obs_, batch_next_obs_, batch_rewards_, batch_discounts_;
  std::vector<std::int32_t> batch_actions_;
};

}  // namespace hotloop::reference
