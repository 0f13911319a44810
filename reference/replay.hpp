// The slow twin of src/memory/replay: a queue of complete transitions, pushed and drawn one by one,
// each with its own copy of both observations. Tests and benchmarks only.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "memory/replay.hpp"

namespace hotloop::reference {

struct Transition {
  std::vector<float> obs, next_obs;
  std::int32_t action;                   // 0 for continuous actions
  std::vector<float> continuous_action;  // empty for discrete actions
  float reward;
  bool terminated, truncated;
  std::vector<std::uint8_t> mask, next_mask;
};

// The input of an update: a transition and those that follow it, up to n steps.
struct Window {
  std::vector<float> obs, next_obs;
  std::int32_t action;
  std::vector<float> continuous_action;
  double reward, discount;
  std::vector<std::uint8_t> mask, next_mask;
};

class Replay {
 public:
  explicit Replay(const ReplayShape& shape)
      : shape_(shape), capacity_(shape.capacity / shape.lanes * shape.lanes) {}

  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask = {}) {
    current_.assign(obs.begin(), obs.end());
    current_mask_.assign(mask.begin(), mask.end());
  }

  void push(const Transitions& t) {
    for (int n = 0; n < shape_.lanes; ++n) {
      const auto row = [&](const auto& values, int width) {
        using T =
            std::remove_const_t<typename std::remove_reference_t<decltype(values)>::element_type>;
        if (values.empty()) return std::vector<T>{};
        return std::vector<T>(values.begin() + n * width, values.begin() + (n + 1) * width);
      };
      const bool cut = t.truncated[n] != 0;
      queue_.push_back(
          {row(std::span<const float>(current_), shape_.obs),
           row(cut ? t.final_obs : t.next_obs, shape_.obs), t.actions.empty() ? 0 : t.actions[n],
           row(t.continuous_actions, shape_.action_size), t.rewards[n], t.terminated[n] != 0, cut,
           row(std::span<const std::uint8_t>(current_mask_), shape_.actions),
           row(cut ? t.final_mask : t.next_mask, shape_.actions)});
      if (static_cast<std::int64_t>(queue_.size()) > capacity_) queue_.pop_front();
    }
    begin(t.next_obs, t.next_mask);
  }

  std::size_t size() const { return queue_.size(); }
  const Transition& operator[](std::size_t index) const { return queue_[index]; }  // by age

  // The next transition of a lane is `lanes` entries later.
  Window window(std::size_t index) const {
    const Transition& first = queue_[index];
    Window w{first.obs, {}, first.action, first.continuous_action, 0, 0, first.mask, {}};
    for (int k = 0; k < shape_.steps && index < queue_.size(); ++k, index += shape_.lanes) {
      const Transition& t = queue_[index];
      w.reward += std::pow(shape_.gamma, k) * t.reward;
      w.discount = t.terminated ? 0 : std::pow(shape_.gamma, k + 1);
      w.next_obs = t.next_obs;
      w.next_mask = t.next_mask;
      if (t.terminated || t.truncated) break;
    }
    return w;
  }
  Window draw(Rng& rng) const {
    return window(rng.below(static_cast<std::uint32_t>(queue_.size())));
  }

 private:
  ReplayShape shape_;
  std::int64_t capacity_;
  std::vector<float> current_;
  std::vector<std::uint8_t> current_mask_;
  std::deque<Transition> queue_;
};

}  // namespace hotloop::reference
