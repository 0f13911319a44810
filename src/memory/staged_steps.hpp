// Vector steps waiting to be stored: copies of what the environments returned, in order. Training
// uses them to collect while it learns from a memory that must not change meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "memory/transitions.hpp"

namespace hotloop {

class StagedSteps {
 public:
  // mask = actions per row of masks, or 0; action_size = floats per continuous action, 0 = discrete
  StagedSteps(int steps, int lanes, int obs, int mask, int action_size);
  static double bytes_per_transition(int obs, int mask, int action_size);

  void clear() { size_ = 0; }
  void add(const Transitions& step);  // without reward parts
  int size() const { return size_; }
  Transitions operator[](int step) const;

 private:
  template <class T>
  struct Field {
    std::span<T> all;       // [steps, width]
    std::size_t width = 0;  // per vector step; 0 = no such field
    std::span<T> at(int step) const { return all.subspan(step * width, width); }
    void set(int step, std::span<const T> values) const;
  };
  template <class T>
  Field<T> take(int steps, std::size_t width) {
    return {arena_.take<T>(steps * width), width};
  }

  Arena arena_;
  Field<std::int32_t> actions_;
  Field<float> continuous_actions_, rewards_, next_obs_, final_obs_;
  Field<std::uint8_t> terminated_, truncated_, next_mask_, final_mask_;
  int capacity_;
  int size_ = 0;
};

}  // namespace hotloop
