// The action values that the outputs of a Q-network describe, one block of lanes at a time.
//
// A block of outputs is [actions * atoms][kLanes]; output a * atoms + k belongs to action a. With
// one atom it is Q(s, a) itself. For C51 the atoms are logits over the support z_k, evenly spaced
// from v_min to v_max. For QR-DQN they are quantiles of the return, tau_k = (k + 1/2) / atoms.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "net/lanes.hpp"

namespace hotloop {

// What the network predicts for an action: its value; a categorical distribution over a fixed
// support (C51, Bellemare et al. 2017); quantiles of the return (QR-DQN, Dabney et al. 2018).
enum class HeadKind { scalar, c51, quantile };
inline constexpr std::array<std::string_view, 3> kHeadNames = {"scalar", "c51", "quantile"};

struct HeadOptions {
  HeadKind kind = HeadKind::scalar;
  int atoms = 51;                    // for c51 and quantile
  double v_min = -100, v_max = 100;  // c51: bounds of the support
};

struct QHead {
  HeadKind kind = HeadKind::scalar;
  int actions = 1;
  int atoms = 1;
  float v_min = 0, v_max = 0;

  int outputs() const { return actions * atoms; }
  float spacing() const { return (v_max - v_min) / static_cast<float>(atoms - 1); }
  float support(int k) const { return v_min + static_cast<float>(k) * spacing(); }
};

QHead make_head(const HeadOptions& options, int actions);

// Q(s, a) as [actions][kLanes]: the outputs themselves if the head is scalar, else computed into
// `scratch` (values_scratch(head) floats, 64-byte aligned).
const float* action_values(const QHead& head, const float* outputs, int width, float* scratch);
std::size_t values_scratch(const QHead& head);

// Softmax over `count` for each lane of x [count][kLanes], in place.
void softmax(int count, int width, float* x);

// argmax_a Q(s, a) over the allowed actions for each lane of a block; ties go to the first action.
// `masks` [rows, actions] belong to the rows of the block, or are null.
void greedy_actions(const float* q, int actions, int rows, const std::uint8_t* masks,
                    std::int32_t* chosen);

}  // namespace hotloop
