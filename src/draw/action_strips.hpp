// The actions of an episode as strip charts below a picture of its environment.
//
// One band per component of the action, each in its own colour, with the action bounds at the
// band's edges. Each step is a column, from left to right. If there are more steps than columns, a
// column shows the range of two, three, ... steps. So the size depends only on the environment's
// picture, and there are only a few colours.
#pragma once

#include <hotloop/env.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace hotloop {

inline constexpr int kStripHeight = 8;  // of a band, including the line above it

// The colour of component i of an action.
std::array<std::uint8_t, 3> strip_colour(int i);

// `actions` [steps, spec.action_size], oldest first; values are clipped to the bounds. Returns the
// picture unchanged if actions are discrete.
Picture with_action_strips(Picture world, const EnvSpec& spec, std::span<const float> actions);

}  // namespace hotloop
