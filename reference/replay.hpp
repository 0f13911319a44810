// The slow twin of src/memory/replay: a queue of whole transitions, pushed and drawn one by one,
// each with its own copy of both observations. Tests and benchmarks only.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "memory/replay.hpp"

namespace hotloop::reference {

struct Transition {
  std::vector<float> obs, next_obs;
  std::int32_t action;
  float reward;
  bool terminated;
  std::vector<std::uint8_t> next_mask;
};

class Replay {
 public:
  explicit Replay(const ReplayShape& shape)
      : shape_(shape), capacity_(shape.capacity / shape.lanes * shape.lanes) {}

  void begin(std::span<const float> obs) { current_.assign(obs.begin(), obs.end()); }

  void push(const Transitions& t) {
    for (int n = 0; n < shape_.lanes; ++n) {
      const auto row = [&](const auto& values, int width) {
        using T =
            std::remove_const_t<typename std::remove_reference_t<decltype(values)>::element_type>;
        if (values.empty()) return std::vector<T>{};
        return std::vector<T>(values.begin() + n * width, values.begin() + (n + 1) * width);
      };
      const bool cut = t.truncated[n] != 0;
      queue_.push_back({row(std::span<const float>(current_), shape_.obs),
                        row(cut ? t.final_obs : t.next_obs, shape_.obs), t.actions[n], t.rewards[n],
                        t.terminated[n] != 0,
                        row(cut ? t.final_mask : t.next_mask, shape_.actions)});
      if (static_cast<std::int64_t>(queue_.size()) > capacity_) queue_.pop_front();
    }
    current_.assign(t.next_obs.begin(), t.next_obs.end());
  }

  std::size_t size() const { return queue_.size(); }
  const Transition& draw(Rng& rng) const {
    return queue_[rng.below(static_cast<std::uint32_t>(queue_.size()))];
  }

 private:
  ReplayShape shape_;
  std::int64_t capacity_;
  std::vector<float> current_;
  std::deque<Transition> queue_;
};

}  // namespace hotloop::reference
