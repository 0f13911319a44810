// The policy that network outputs describe, one block of lanes at a time, all in closed form.
//
//   categorical  outputs z [A]: p = softmax(z) over the allowed actions
//                log p(a);   H = -sum p log p;   KL(old | new) = sum p_old (log p_old - log p_new)
//   gaussian     outputs [m | s], [2 A]: u ~ N(m, e^2s), dimensions independent
//                log p(u) = -sum ((u - m) / e^s)^2 / 2 + s + log(2 pi) / 2
//                H = sum s + (1 + log 2 pi) / 2
//                KL(old | new) = sum s_new - s_old - 1/2
//                                + (e^2s_old + (m_old - m_new)^2) / (2 e^2s_new)
//
// The environment receives the squashed u. Stored actions and log p(u) use u before squashing, so
// the ratio of two policies does not need the derivative of the squashing.
#pragma once

#include <hotloop/env.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "net/lanes.hpp"

namespace hotloop {

enum class PolicyKind { categorical, gaussian };

// How u is mapped into the action bounds. smooth: tanh for symmetric bounds, otherwise the logistic
// function; clip: clamped.
enum class Squash { smooth, clip };
inline constexpr std::array<std::string_view, 2> kSquashNames = {"smooth", "clip"};

struct PolicyHead {
  PolicyKind kind = PolicyKind::categorical;
  int actions = 1;  // discrete actions, or dimensions
  Squash squash = Squash::smooth;
  std::array<float, kMaxActionSize> low{}, high{};  // bounds of each dimension

  bool is_continuous() const { return kind == PolicyKind::gaussian; }
  int outputs() const { return is_continuous() ? 2 * actions : actions; }
  int raw_size() const { return is_continuous() ? actions : 1; }  // floats per stored action
};

// Means are clamped to [-kMeanBound, kMeanBound] if squashing is smooth, log stds to [kMinLogStd,
// kMaxLogStd]. Outside these bounds their gradient is 0.
inline constexpr float kMeanBound = 10;
inline constexpr float kMinLogStd = -10, kMaxLogStd = 5;

// A block of lanes: the input of the functions below.
struct PolicyLanes {
  const float* outputs;  // [head.outputs()][kLanes]
  int width;             // lanes in use, a multiple of kLaneStep
  // [rows][actions] or null. The row of a lane is mask_at[lane], or the lane if mask_at is null.
  const std::uint8_t* mask = nullptr;
  const std::int32_t* mask_at = nullptr;
  int rows = kLanes;  // lanes that hold data
};

// d [head.outputs()][kLanes]: log probabilities (-1e30 for masked actions), or clamped means and
// log stds.
void distribution(const PolicyHead& head, const PolicyLanes& lanes, float* d);

// log p of the raw actions [raw_size][kLanes] (categories as floats) under the distribution d.
void log_probability(const PolicyHead& head, const float* d, int width, const float* raw, float* p);
void entropy(const PolicyHead& head, const float* d, int width, float* h);
// KL(old | d) of each lane.
void divergence(const PolicyHead& head, const float* old, const float* d, int width, float* kl);

// dL/d outputs from dL/d log p(raw) and dL/d H of each lane.
void policy_gradient(const PolicyHead& head, const PolicyLanes& lanes, const float* d,
                     const float* raw, const float* h, const float* d_log_probability,
                     const float* d_entropy, float* d_outputs);

// Samples a raw action for one lane of the distribution: raw_size numbers, kLanes apart.
void sample(const PolicyHead& head, const float* d, int lane, Rng& rng, float* raw);

// Maps raw values [actions], `stride` apart, into the action bounds.
void squash(const PolicyHead& head, const float* raw, int stride, float* action);

}  // namespace hotloop
