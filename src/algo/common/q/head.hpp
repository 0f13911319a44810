// What the outputs of a Q-network mean, one block of lanes at a time.
//
// A block of outputs is [actions * atoms][kLanes]; output a * atoms + k belongs to action a. With
// one atom it is Q(s, a) itself. For C51 the atoms are logits over the returns z_k, evenly spaced
// from v_min to v_max; for quantiles they are the returns at tau_k = (k + 1/2) / atoms.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "net/lanes.hpp"

namespace hotloop {

// What the network says about an action: its value; a distribution over fixed returns (C51,
// Bellemare et al. 2017); quantiles of the return (QR-DQN, Dabney et al. 2018).
enum class HeadKind { scalar, c51, quantile };
inline constexpr std::array<std::string_view, 3> kHeadNames = {"scalar", "c51", "quantile"};

struct HeadOptions {
  HeadKind kind = HeadKind::scalar;
  int atoms = 51;                    // of the heads c51 and quantile
  double v_min = -100, v_max = 100;  // c51: the fixed returns reach from here to there
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

// In place on x [count][kLanes]: each lane becomes its softmax.
void softmax(int count, int width, float* x);

// argmax_a Q(s, a) over the allowed actions, the first of equals, for each lane of a block.
// `masks` are the rows of the block, [rows, actions], or null.
void greedy_actions(const float* q, int actions, int rows, const std::uint8_t* masks,
                    std::int32_t* chosen);

}  // namespace hotloop
