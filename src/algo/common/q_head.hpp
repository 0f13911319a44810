// What the outputs of a Q-network mean, one block of lanes at a time.
//
// A block of outputs is [actions * atoms][kLanes]; output a * atoms + k belongs to action a. With
// one atom it is Q(s, a) itself. For C51 the atoms are logits over the returns z_k, evenly spaced
// from v_min to v_max; for quantiles they are the returns at tau_k = (k + 1/2) / atoms.
#pragma once

#include <cstdint>
#include <span>

#include "algo/common/q_options.hpp"
#include "net/lanes.hpp"

namespace hotloop {

struct QHead {
  HeadKind kind = HeadKind::scalar;
  int actions = 1;
  int atoms = 1;
  float v_min = 0, v_max = 0;

  int outputs() const { return actions * atoms; }
  float spacing() const { return (v_max - v_min) / static_cast<float>(atoms - 1); }
  float support(int k) const { return v_min + static_cast<float>(k) * spacing(); }
};

QHead make_head(const QOptions& options, int actions);

// Q(s, a) as [actions][kLanes]: the outputs themselves if the head is scalar, else computed into
// `scratch` (values_scratch(head) floats, 64-byte aligned).
const float* action_values(const QHead& head, const float* outputs, int width, float* scratch);
std::size_t values_scratch(const QHead& head);

// In place on x [count][kLanes]: each lane becomes its softmax.
void softmax(int count, int width, float* x);

// argmax_a Q(s, a) over the allowed actions, the first of equals, for each lane of a block.
// `masks` are the rows of the block, [rows, actions], or null.
void greedy_actions(const float* q, int actions, int rows, const std::uint8_t* masks,
                    std::int32_t* chosen);

}  // namespace hotloop
