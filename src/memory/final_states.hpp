// Collects the final observations of a rollout's truncated episodes into batches, so that a network
// can value many at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/arena.hpp"
#include "memory/rollout.hpp"

namespace hotloop {

class FinalStates {
 public:
  static constexpr int kRows = 128;  // maximum per batch

  explicit FinalStates(const RolloutShape& shape)
      : obs_(arena_.take<float>(std::size_t{kRows} * shape.obs)),
        mask_(arena_.take<std::uint8_t>(shape.masks ? std::size_t{kRows} * shape.actions : 0)),
        places_(arena_.take<std::int32_t>(kRows)) {}

  // Calls value(places, obs [count, D], mask [count, A] or null) for each batch; places are indices
  // into [T * N].
  template <class Value>
  void for_each_batch(const Rollout& rollout, Value&& value) {
    const std::span<const std::uint8_t> truncated = rollout.truncated();
    const std::uint8_t* mask = mask_.empty() ? nullptr : mask_.data();
    int count = 0;
    for (std::size_t place = 0; place < truncated.size(); ++place) {
      if (truncated[place] != 0) take(rollout, place, count++);
      if (count < kRows && (count == 0 || place + 1 < truncated.size())) continue;
      value(places_.first(count), obs_.data(), mask);
      count = 0;
    }
  }

 private:
  void take(const Rollout& rollout, std::size_t place, int row) {
    const std::size_t width = rollout.shape().obs, actions = mask_.size() / kRows;
    places_[row] = static_cast<std::int32_t>(place);
    std::copy_n(&rollout.final_obs()[place * width], width, &obs_[row * width]);
    if (actions > 0) {
      std::copy_n(&rollout.final_mask()[place * actions], actions, &mask_[row * actions]);
    }
  }

  Arena arena_;
  std::span<float> obs_;
  std::span<std::uint8_t> mask_;
  std::span<std::int32_t> places_;
};

}  // namespace hotloop
