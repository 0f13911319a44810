// What the outputs of a policy network mean, one block of lanes at a time; every formula closed.
//
//   categorical  outputs z [A]: p = softmax(z) over the allowed actions
//                log p(a);   H = -sum p log p;   KL(old | new) = sum p_old (log p_old - log p_new)
//   gaussian     outputs [m | s], [2 A]: u ~ N(m, e^2s), each dimension by itself
//                log p(u) = -sum ((u - m) / e^s)^2 / 2 + s + log(2 pi) / 2
//                H = sum s + (1 + log 2 pi) / 2
//                KL(old | new) = sum s_new - s_old - 1/2
//                                + (e^2s_old + (m_old - m_new)^2) / (2 e^2s_new)
//
// The environment is given a squashed u: u itself is what is stored and valued, so that the ratio
// of two policies needs no derivative of the squashing.
#pragma once

#include <hotloop/env.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "net/lanes.hpp"

namespace hotloop {

enum class PolicyKind { categorical, gaussian };

// How a raw number becomes an action within its bounds: smoothly, by the hyperbolic tangent where the
// bounds are symmetric and else by the logistic function; or cut off.
enum class Squash { smooth, clip };
inline constexpr std::array<std::string_view, 2> kSquashNames = {"smooth", "clip"};

struct PolicyHead {
  PolicyKind kind = PolicyKind::categorical;
  int actions = 1;  // to choose from, or dimensions
  Squash squash = Squash::smooth;
  std::array<float, kMaxActionSize> low{}, high{};  // of the dimensions

  bool is_box() const { return kind == PolicyKind::gaussian; }
  int outputs() const { return is_box() ? 2 * actions : actions; }
  int raw_size() const { return is_box() ? actions : 1; }  // floats of a stored action
};

// Means are kept within [-kMeanBound, kMeanBound] where they are squashed, and log stds within
// these; beyond, they have no gradient.
inline constexpr float kMeanBound = 10;
inline constexpr float kMinLogStd = -10, kMaxLogStd = 5;

// Lanes of a block, as the functions below take them.
struct PolicyLanes {
  const float* outputs;  // [head.outputs()][kLanes]
  int width;             // lanes in use, a multiple of kLaneStep
  // [rows][actions] of the lanes, or null; a lane's row at mask + mask_at[lane] * actions, or in order
  const std::uint8_t* mask = nullptr;
  const std::int32_t* mask_at = nullptr;
  int rows = kLanes;  // lanes that have one
};

// In place: outputs become what distributions are computed from, [head.outputs()][kLanes]: logarithms
// of probabilities (masked ones -1e30), or clamped means and log stds.
void distribution(const PolicyHead& head, const PolicyLanes& lanes, float* d);

// Of the raw actions, [raw_size][kLanes] (categories as floats), under the distribution.
void log_probability(const PolicyHead& head, const float* d, int width, const float* raw, float* p);
void entropy(const PolicyHead& head, const float* d, int width, float* h);
// KL(old | d) of each lane, both distributions.
void divergence(const PolicyHead& head, const float* old, const float* d, int width, float* kl);

// dL/d outputs from dL/d log p(raw) and dL/d H of each lane.
void policy_gradient(const PolicyHead& head, const PolicyLanes& lanes, const float* d,
                     const float* raw, const float* h, const float* d_log_probability,
                     const float* d_entropy, float* d_outputs);

// A raw action for lane `lane` from the distribution, with random numbers of `rng`; [raw_size] apart by
// kLanes.
void sample(const PolicyHead& head, const float* d, int lane, Rng& rng, float* raw);

// What the environment is given for raw values [actions], `stride` apart.
void squash(const PolicyHead& head, const float* raw, int stride, float* action);

}  // namespace hotloop
