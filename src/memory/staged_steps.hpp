// Vector steps that wait to be remembered: copies of what the environments gave, in their order, for
// training that collects while it learns from a memory that must not change meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "memory/transitions.hpp"

namespace hotloop {

class StagedSteps {
 public:
  StagedSteps(int steps, int lanes, int obs, int mask);  // mask = actions per row of masks, or 0
  static double bytes_per_transition(int obs, int mask);

  void clear() { size_ = 0; }
  void add(const Transitions& step);  // its actions are numbered; parts of rewards are left out
  int size() const { return size_; }
  Transitions operator[](int step) const;

 private:
  template <class T>
  struct Field {
    std::span<T> all;       // [steps, width]
    std::size_t width = 0;  // of a vector step; 0 = there is no such field
    std::span<T> at(int step) const { return all.subspan(step * width, width); }
    void set(int step, std::span<const T> values) const;
  };
  template <class T>
  Field<T> take(int steps, std::size_t width) {
    return {arena_.take<T>(steps * width), width};
  }

  Arena arena_;
  Field<std::int32_t> actions_;
  Field<float> rewards_, next_obs_, final_obs_;
  Field<std::uint8_t> terminated_, truncated_, next_mask_, final_mask_;
  int most_;
  int size_ = 0;
};

}  // namespace hotloop
