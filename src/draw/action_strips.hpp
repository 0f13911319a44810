// The actions of an episode as strip charts below a picture of its world.
//
// One band per number of the action, in a colour of its own, its bounds at the band's upper and lower
// edge: a column per step from left to right, or, once there are more steps than columns, per two, three,
// ... steps, from the least to the most of them. So the size depends on the world alone, and all colours
// are of a fixed few.
#pragma once

#include <hotloop/env.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace hotloop {

inline constexpr int kStripHeight = 8;  // of a band, the line above it included

// The colour of number i of an action.
std::array<std::uint8_t, 3> strip_colour(int i);

// `actions` [steps, spec.action_size], oldest first; values beyond the bounds are drawn at them. The
// picture itself for worlds whose actions are not a box.
Picture with_action_strips(Picture world, const EnvSpec& spec, std::span<const float> actions);

}  // namespace hotloop
